"""What a report embeds: the rows of some streams, and the settings that its sliders start from."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..filters import DirichletFilter, StickyFilter
from ..inputs import DEFAULT_RELIABILITY, Rows
from ..pipeline import Pipeline
from ..tuning import step_of

NamedRecordings = list[tuple[str, Rows]]
"""Recordings, by the names of their streams."""
ALL_ROWS = "all rows"
"""The name of a stream that has none."""
FIRST_DATE = 3e8
"""Numbers from here on are taken for UNIX seconds: 1979."""


def first_rows(streams: NamedRecordings, limit: int, most: int | None = None) -> NamedRecordings:
    """Return the first streams, until there are as many rows, or as many streams.

    Of one that is too long, the beginning, so that its filter starts as it does on all of it.
    """
    chosen: NamedRecordings = []
    for name, rec in streams:
        if limit > 0 and len(rec) and (most is None or len(chosen) < most):
            chosen.append((name, rec if len(rec) <= limit else rec.take(slice(0, limit))))
            limit -= len(chosen[-1][1])
    return chosen


def playable(tuned: Pipeline) -> Pipeline:
    """Return settings that run in the browser: the tuned ones, or else those of its smoother.

    A simple rule without a smoother, as from a file, gives its place to a Dirichlet filter.
    """
    for candidate in (tuned, tuned.smoothing):
        if type(candidate.filter) in (DirichletFilter, StickyFilter):
            return candidate
    return replace(tuned, filter=DirichletFilter(tuned.classes, estimate="mean"))


def page_data(streams: NamedRecordings, tuned: Pipeline) -> dict[str, Any]:
    """Return what the page's script reads; the sources of the streams are among the pipeline's."""
    played = _played(tuned)
    first = streams[0][1]
    columns = played.heads.order_in(first.classes)
    place_of = np.argsort(columns)
    sources = list(played.beta)
    return {
        "classes": [first.classes[k] for k in columns],
        "sources": sources,
        "reliability": DEFAULT_RELIABILITY,
        "independent": False,
        **_time_kind([rec for _, rec in streams]),
        "step": step_of([rec for _, rec in streams]),
        "configs": [played.content],
        "streams": [
            {
                "name": name,
                "stream": None if name == ALL_ROWS else name,
                "config": 0,
                "time": packed(rec.time, np.float64),
                "source": packed([sources.index(source) for source in rec.source_names], np.uint16),
                "probs": packed(rec.probs[:, columns], np.float64),
                "hard": packed(rec.one_hot, np.uint8),
                "label": packed(_labels(rec, place_of), np.int16),
            }
            for name, rec in streams
        ],
    }


def label_page_data(streams: NamedRecordings, tuned: Pipeline) -> dict[str, Any]:
    """Return the same of several labels at once: each is a stream of two classes, off and on."""
    recs = [rec for _, rec in streams]
    configs, of_streams = [], {}
    for i, label in enumerate(recs[0].heads.names):
        of_label = [(name, rec.head(label)) for name, rec in streams]
        data = page_data(of_label, tuned.head(label))
        configs += data["configs"]
        for j, stream in enumerate(data["streams"]):
            of_streams[j, i] = stream | {"name": f"{streams[j][0]}: {label}", "config": i}
    return data | {
        "classes": ["off", "on"],
        "independent": True,
        "step": step_of(recs),
        "configs": configs,
        "streams": [of_streams[place] for place in sorted(of_streams)],
    }


def _played(tuned: Pipeline) -> Pipeline:
    """Return the settings that the sliders start from: a playable filter, and the rest as tuned."""
    chosen = playable(tuned)
    # The rule of the smoother may be for smoothed rows.
    return replace(tuned, filter=chosen.filter, beta=chosen.beta, channel=chosen.channel)


def _time_kind(recs: Sequence[Rows]) -> dict[str, Any]:
    """Return whether times are dates, or numbers that look like UNIX seconds, and their zone.

    The zone is a name or an offset; "" for dates without one, None for other numbers.
    """
    kinds = [rec.time_kind for rec in recs]
    dates = all(kind.kind == "date" for kind in kinds)
    unix = all(
        kind.is_number and rec.time[0] >= FIRST_DATE for kind, rec in zip(kinds, recs, strict=True)
    )
    zone = "UTC" if unix else None
    if dates:
        zones = {kind.zone_name(offsets=True) or "" for kind in kinds}
        zone = zones.pop() if len(zones) == 1 else "UTC"
    return {"dates": dates, "unix": unix, "zone": zone}


def _labels(rec: Rows, place_of: NDArray[Any]) -> NDArray[Any]:
    """Return the labels in another order of classes, -1 where there are none."""
    if rec.label is None:
        return np.full(len(rec), -1)
    return np.where(rec.label >= 0, place_of[rec.label], -1)


def packed(values: Any, dtype: Any) -> str:
    """Return numbers, little-endian and compressed, as text."""
    array = np.ascontiguousarray(values, np.dtype(dtype).newbyteorder("<"))
    return base64.b64encode(zlib.compress(array.tobytes(), 6)).decode()


def as_script(data: object) -> str:
    """Return JSON that can stand in a script element: there is nothing in it that could end one."""
    text = json.dumps(data, allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
