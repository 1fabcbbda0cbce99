"""JSON as ActivityNet has it."""

from __future__ import annotations

import json
from typing import Any

from ..dates import date_text
from ..list import Events
from .checks import Format


def write_json(events: Events) -> str:
    """Return JSON as ActivityNet has it: label, score and segment of each event, by stream.

    Dates are text in ISO 8601. The stream None is the key ``""``.
    """
    results: dict[str, list[dict[str, Any]]] = {}
    for e in events:
        assert e.end is not None
        times = [float(e.start), float(e.end)]
        item: dict[str, Any] = {"label": e.label}
        if e.probability is not None:
            item["score"] = float(e.probability)
        item["segment"] = [date_text(x, events.zone) for x in times] if events.dates else times
        results.setdefault("" if e.stream is None else str(e.stream), []).append(item)
    return json.dumps({"results": results}, indent=1, ensure_ascii=False) + "\n"


FORMAT = Format("json", "JSON as ActivityNet has it", (".json",), write_json, seconds=False)
