"""What a report embeds: the rows of some streams, and the settings that its sliders start from."""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._predictions import DEFAULT_RELIABILITY
from .._validation import class_order
from ..chain._chain import Chain
from ..data._recording import Recording
from ..embedded._json import to_json
from ..filters._dirichlet import DirichletFilter
from ..filters._sticky import StickyFilter
from ..tuning._folds import median_step

NamedRecordings = list[tuple[str, Recording]]
"""Recordings, by the names of their streams."""
FIRST_DATE = 3e8
"""Numbers from here on are taken for UNIX seconds: 1979."""


def first_rows(streams: NamedRecordings, limit: int) -> NamedRecordings:
    """Return the first streams, until there are as many rows.

    Of one that is too long, the beginning, so that its filter starts as it does on all of it.
    """
    chosen: NamedRecordings = []
    for name, rec in streams:
        if limit > 0 and len(rec):
            chosen.append((name, rec if len(rec) <= limit else rec.part(slice(0, limit))))
            limit -= len(chosen[-1][1])
    return chosen


def playable(tuned: Chain) -> Chain:
    """Return settings that run in the browser: the tuned ones, or else those of its smoother.

    A simple rule without a smoother, as from a file, gives its place to a Dirichlet filter.
    """
    for candidate in (tuned, tuned.smoother):
        if type(candidate.filter()) in (DirichletFilter, StickyFilter):
            return candidate
    return tuned.with_filter(DirichletFilter(tuned.classes, estimate="mean"))


def page_data(streams: NamedRecordings, tuned: Chain) -> dict[str, Any]:
    """Return what the page's script reads; names are values in it, never keys.

    Parameters
    ----------
    streams : NamedRecordings
        With all their sources among the chain's.
    tuned : Chain
        As `playable` returns it.
    """
    filter_ = tuned.filter()
    first = streams[0][1]
    columns = class_order(filter_, first.classes)
    place_of = np.argsort(columns)
    sources = list(tuned.beta)  # type: ignore[arg-type]
    return {
        "classes": [first.classes[k] for k in columns],
        "sources": sources,
        "reliability": DEFAULT_RELIABILITY,
        "zone": _zone(first),
        "step": median_step([rec for _, rec in streams]),
        "configs": [to_json(Chain(filter_, beta=tuned.beta, channel=tuned.channel))],
        "streams": [
            {
                "name": name,
                "config": 0,
                "time": packed(rec.time, np.float64),
                "source": packed([sources.index(source) for source in rec.source], np.uint16),
                "probs": packed(rec.probs[:, columns], np.float64),
                "hard": packed(rec.hard, np.uint8),
                "label": packed(_labels(rec, place_of), np.int16),
            }
            for name, rec in streams
        ],
    }


def label_page_data(streams: NamedRecordings, tuned: Chain) -> dict[str, Any]:
    """Return the same of several labels at once: each is a stream of two classes, off and on."""
    lanes = [
        page_data([(f"{name}: {label}", rec.lane(label))], playable(tuned.lane(label)))
        | {"label": i}
        for name, rec in streams
        for i, label in enumerate(rec.classes)
    ]
    configs = {lane["label"]: lane["configs"][0] for lane in lanes}
    return lanes[0] | {
        "classes": ["off", "on"],
        "step": median_step([rec for _, rec in streams]),
        "configs": [configs[i] for i in sorted(configs)],
        "streams": [lane["streams"][0] | {"config": lane["label"]} for lane in lanes],
    }


def _zone(rec: Recording) -> str | None:
    """Return the zone in which the page shows times; "" for dates without one, None for numbers."""
    kind = rec._time_kind
    if kind.kind == "date":
        return kind.zone_name() or ""
    return "UTC" if kind.is_number and rec.time[0] >= FIRST_DATE else None


def _labels(rec: Recording, place_of: NDArray[Any]) -> NDArray[Any]:
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
