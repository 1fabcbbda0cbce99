"""The event rule of the core in single precision, built twice: with times as double, and in ticks.

Both are called as C code is, one row at a time in memory of a fixed size.
"""

from __future__ import annotations

import ctypes as c
import math
import shutil
import subprocess
import tempfile
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from classfilter import _core
from slow_events import AS_BY_DEFAULT, Numbers, Rule

CORE = Path(__file__).parents[1] / "src/classfilter/csrc"
COMPILER = next((name for name in ("gcc", "clang", "cc") if shutil.which(name)), None)
FOREVER = 2**63 - 1
REALS, BYTES = c.POINTER(c.c_float), c.POINTER(c.c_ubyte)


class Event(NamedTuple):
    """An event, its probability as bits."""

    label: int
    start: float
    end: float
    bits: int
    forced: int


def _structures(time: Any, mean: Any) -> tuple[Any, Any]:
    class Settings(c.Structure):
        _fields_ = [
            ("classes", c.c_size_t),
            ("log", c.c_int),
            ("floor", c.c_float),
            ("min_probability", c.c_float),
            ("enter", REALS),
            ("leave", REALS),
            ("bias", REALS),
            ("min_duration", c.POINTER(time)),
            ("ignore", BYTES),
            *((name, time) for name in _core.EVENT_TIMES),
        ]

    class Found(c.Structure):
        _fields_ = [
            *(("start", time), ("end", time), ("probability", mean)),
            *(("label", c.c_int32), ("forced", c.c_int32)),
        ]

    return Settings, Found


@cache
def library(ticks: bool, *flags: str) -> Any:
    """Return the compiled rule, which ends the process where it leaves what C defines."""
    assert COMPILER is not None
    folder = Path(tempfile.mkdtemp())
    ways = ["-DCF_SMALL", "-DCF_TICKS"] if ticks else []
    ways += ["-fsanitize=undefined", "-fsanitize-undefined-trap-on-error"]
    command = [COMPILER, "-std=c99", "-O1", "-ffp-contract=off", "-shared", "-fPIC", f"-I{CORE}"]
    sources = [str(CORE / "events_f32.c"), "-o", str(folder / "core.so")]
    subprocess.run([*command, *ways, *flags, *sources], check=True)
    loaded = c.CDLL(str(folder / "core.so"))
    loaded.cf_events_size_f32.restype = loaded.cf_events_starts_f32.restype = c.c_size_t
    shutil.rmtree(folder)
    return loaded


class Stream:
    """A stream of a rule whose times are whole numbers."""

    def __init__(self, rule: Rule, ticks: bool, nodes: int, slots: int, *flags: str) -> None:
        self.core, self.ticks = library(ticks, *flags), ticks
        self.time: Any = c.c_int64 if ticks else c.c_double
        Settings, self.Found = _structures(self.time, c.c_float if ticks else c.c_double)
        self.rule = Settings(rule.classes, rule.log, rule.floor)
        self.rule.min_probability = rule.min_probability
        for name in ("enter", "leave", "bias"):
            numbers = [float(np.float32(x)) for x in getattr(rule, name)]
            setattr(self.rule, name, (c.c_float * len(numbers))(*numbers))
        lengths = map(self._as_time, rule.min_duration)
        self.rule.min_duration = (self.time * rule.classes)(*lengths)
        self.rule.ignore = (c.c_ubyte * rule.classes)(*(int(x) for x in rule.ignore))
        for name in _core.EVENT_TIMES:
            number = getattr(rule, name, AS_BY_DEFAULT.get(name, 0.0))
            setattr(self.rule, name, self._as_time(number))
        self.prepared = self.core.cf_events_prepare_f32(c.byref(self.rule))
        slots = slots if max(rule.min_duration) > 0 else 0
        size = self.core.cf_events_size_f32(
            c.byref(self.rule), c.c_size_t(nodes), c.c_size_t(slots)
        )
        self.state, self.copy = ((c.c_uint64 * (size // 8))() for _ in range(2))
        self.found, self.count = (self.Found * (nodes + 2))(), c.c_size_t()
        started = self.core.cf_events_start_f32(
            c.byref(self.rule), self.state, c.c_size_t(nodes), c.c_size_t(slots)
        )
        assert started == 0

    def _as_time(self, number: float) -> Any:
        if self.ticks:
            return FOREVER if number == math.inf else int(number)
        return number

    def _call(self, name: str, *arguments: Any) -> int:
        function = getattr(self.core, f"cf_events_{name}_f32")
        return int(function(c.byref(self.rule), self.state, *arguments))

    def events(self) -> list[Event]:
        return [self._event(self.found[i]) for i in range(self.count.value)]

    def _event(self, found: Any) -> Event:
        bits = int(np.float32(found.probability).view(np.uint32))
        assert float(np.float32(found.probability)) == found.probability
        return Event(found.label, found.start, found.end, bits, found.forced)

    def update(self, time: int, row: Numbers, *, tick: bool = False) -> int:
        """Take a row, by the clock of 32 bits where asked; return the status."""
        probs = (c.c_float * len(row))(*row.tolist())
        name, now = ("tick", c.c_uint32(time)) if tick else ("update", self.time(time))
        return self._call(name, now, probs, self.found, c.byref(self.count))

    def finish(self) -> list[Event]:
        assert self._call("finish", self.found, c.byref(self.count)) == 0
        return self.events()

    def starts(self) -> list[Event]:
        """Return the starts that are final since the last call; `events` are as they were."""
        starts = (self.Found * (self.count.value + 1))()
        return [
            self._event(start)
            for start in starts[: self._call("starts", self.found, self.count, starts)]
        ]

    def current(self) -> tuple[Event, int] | None:
        open_, confirmed = c.c_int(), c.c_int()
        event = self.Found()
        places = [c.byref(event), c.byref(open_), c.byref(confirmed)]
        assert self._call("current", self.copy, *places) == 0
        return (self._event(event), confirmed.value) if open_.value else None

    def piece(self, i: int, n: int) -> Event | None:
        """Return piece n of the event number i that the last call found."""
        out = self.Found()
        found, number = c.byref(self.found[i]), c.c_size_t(n)
        some = self.core.cf_events_piece_f32(c.byref(self.rule), found, number, c.byref(out))
        return self._event(out) if some else None


def in_ticks(rule: Rule, per_unit: int) -> Rule:
    """Return a rule whose times are so many ticks for one of its units, all whole numbers."""
    names = ["enter", "leave", "max_gap", "max_delay", "max_duration", "merge_gap"]
    names += ["pad_before", "pad_after", "shift", "min_duration"]
    return replace(rule, **{name: getattr(rule, name) * per_unit for name in names})


def rounded(event: Event, rule: Rule) -> Event:
    """Return an event as ticks have it: where pads meet between two ticks, the earlier one."""
    both = rule.pad_before + rule.pad_after
    less_than_any = 0.5 / both if both else 0.0
    start, end = (math.floor(t + less_than_any) for t in (event.start, event.end))
    return event._replace(start=start, end=end)
