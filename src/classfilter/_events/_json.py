"""Events in JSON as ActivityNet has them: the label, score and segment of each, by stream."""

from __future__ import annotations

import json
from typing import Any

from .._errors import ArgumentError, RowError
from ._dates import date_text
from ._list import Events, from_cells
from ._rows import ended, stream_text


def write_json(events: Events) -> str:
    """Return JSON; dates are text in ISO 8601. The stream None is the key ``""``."""
    results: dict[str, list[dict[str, Any]]] = {}
    for e in events:
        times = [float(e.start), float(ended(e))]
        item: dict[str, Any] = {"label": e.label}
        if e.probability is not None:
            item["score"] = float(e.probability)
        item["segment"] = [date_text(x, events.zone) for x in times] if events.dates else times
        results.setdefault(stream_text(e.stream) or "", []).append(item)
    return json.dumps({"results": results}, indent=1, ensure_ascii=False) + "\n"


def read_json(text: str) -> tuple[Events, None]:
    """Return the events of JSON; keys that it does not need pass."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ArgumentError("the file", str(error), "is not JSON: {}") from None
    results = data.get("results") if isinstance(data, dict) else None
    if not isinstance(results, dict):
        rule = 'it must be {"results": {stream: [{"label": ..., "segment": [start, end]}]}}'
        raise ArgumentError("the file", type(results).__name__, "has no object results", rule)
    rows, places = [], []
    for stream, items in results.items():
        for i, item in enumerate(items if isinstance(items, list) else [items]):
            segment = item.get("segment") if isinstance(item, dict) else None
            if not isinstance(segment, list) or len(segment) != 2 or "label" not in item:
                rule = "it must have a label and a segment, [start, end]"
                raise RowError(f"results[{stream!r}]", item, rule=rule, row=i)
            start, end = segment
            score = item.get("score")
            cells = {"stream": stream, "class": item["label"], "start": start, "end": end}
            rows.append(cells | {"probability": score})
            places.append((stream, i))
    try:
        return from_cells(rows), None
    except RowError as error:
        stream, i = places[error.row or 0]
        where = error.argument.removeprefix("column ")
        raise error.replaced(argument=f"{where} of results[{stream!r}]", row=i) from None
