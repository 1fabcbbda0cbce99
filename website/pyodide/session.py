"""What runs in Pyodide: code as if typed at a prompt, and lanes of what it leaves behind."""

from __future__ import annotations

import ast
import json
import sys
import traceback
from typing import Any

import numpy as np

import classfilter as cf

Span = tuple[float, float, str]


def run(code: str) -> str:
    """Run `code`, with the value of each expression printed, and return lanes to draw, as JSON."""
    names: dict[str, Any] = {"__name__": "__main__"}
    try:
        for statement in ast.parse(code, "<code>").body:
            exec(compile(ast.Interactive([statement]), "<code>", "single"), names)
    except BaseException as error:
        frames = error.__traceback__
        while frames and frames.tb_frame.f_code.co_filename != "<code>":
            frames = frames.tb_next
        traceback.print_exception(type(error), error, frames, file=sys.stdout)
    return json.dumps(lanes(names))


def lanes(names: dict[str, Any]) -> dict[str, Any]:
    """Return a lane for each array of probabilities and for each stream of each list of events."""
    found: list[tuple[str, list[Span]]] = []
    seen: set[int] = set()
    for name, value in names.items():
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, np.ndarray) and _are_probabilities(value):
            found.append((name, _runs(value, _times(names, len(value)), _classes(names, value))))
        elif isinstance(value, list) and value and isinstance(value[0], cf.Event):
            for stream in dict.fromkeys(event.stream for event in value):
                spans = [(e.start, e.end, str(e.label)) for e in value if e.stream == stream]
                found.append((name if stream is None else f"{name}, {stream}", spans))
    spans = [span for _, lane in found for span in lane]
    labels = {label for _, _, label in spans}
    return {
        "classes": [*(c for c in _named(names) if c in labels), *sorted(labels - {*_named(names)})],
        "start": min((start for start, _, _ in spans), default=0.0),
        "end": max((end for _, end, _ in spans), default=0.0),
        "lanes": [{"name": name, "spans": lane} for name, lane in found],
    }


def _are_probabilities(value: np.ndarray) -> bool:
    if value.ndim != 2 or len(value) < 2 or value.shape[1] < 2 or value.dtype.kind != "f":
        return False
    seen = value[~np.isnan(value).all(axis=1)]
    return bool(np.all(seen >= 0.0) and np.all(np.abs(seen.sum(axis=1) - 1.0) < 0.05))


def _times(names: dict[str, Any], rows: int) -> list[float]:
    times = np.asarray(names.get("times", ()))
    if times.shape != (rows,) or times.dtype.kind not in "iuf":
        times = np.arange(rows)
    return [*map(float, times), float(times[-1] + np.median(np.diff(times)))]


def _named(names: dict[str, Any]) -> list[str]:
    classes = names.get("classes", ())
    return [str(c) for c in classes] if isinstance(classes, list | tuple) else []


def _classes(names: dict[str, Any], value: np.ndarray) -> list[str]:
    classes = _named(names)
    K = value.shape[1]
    return classes if len(classes) == K else [f"class {i}" for i in range(K)]


def _runs(probs: np.ndarray, times: list[float], classes: list[str]) -> list[Span]:
    best = np.nan_to_num(probs, nan=-1.0).argmax(axis=1)
    starts = np.flatnonzero(np.diff(best, prepend=-1))
    ends = [*starts[1:], len(best)]
    return [(times[i], times[j], classes[best[i]]) for i, j in zip(starts, ends, strict=True)]
