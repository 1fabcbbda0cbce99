"""What fuzzing calls with any bytes at all: a target raises only where the library is at fault."""

from __future__ import annotations

import io
import json
import pickle
import sqlite3
import tempfile
import warnings
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import numpy as np

import classfilter as cf
from classfilter.events import FORMATS
from classfilter.live import serve

warnings.simplefilter("ignore")  # of NumPy, for numbers that float32 does not have
CLASSES = ("a", "b", "c")
_folder = tempfile.TemporaryDirectory(prefix="fuzz")
FOLDER = Path(_folder.name)


class Bytes:
    """Numbers and choices from bytes; zeros after their end."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1] if self.at <= len(self.data) else 0

    def choice(self, items: Any) -> Any:
        return items[self.byte() % len(items)]

    def number(self) -> float:
        kind = self.byte()
        if kind < 180:
            return (self.byte() * 256 + self.byte()) / 65535
        if kind < 230:
            edges = [0.0, 1.0, -0.0, 5e-324, 1e-30, 1e308, -1.0, 2.0, np.nan, np.inf, 1e9, 1e-6]
            return float(edges[kind % len(edges)])
        return float(np.frombuffer(bytes(self.byte() for _ in range(8)), np.float64)[0])


def distributions(P: Any) -> None:
    assert np.isfinite(P).all()
    assert (P >= 0).all()
    assert (abs(P.sum(axis=-1) - 1) < 1e-4).all()


def settings(data: bytes) -> None:
    """Settings are refused with a message, or saved and read again as they are."""
    path = FOLDER / "settings.json"
    path.write_bytes(data)
    with suppress(ValueError):
        first = cf.load(path)
        first.save(path)
        text = path.read_bytes()
        cf.load(path).save(path)
        assert path.read_bytes() == text


def csv(data: bytes) -> None:
    """A table is refused with a message, or every row has its result."""
    path, out = FOLDER / "in.csv", FOLDER / "out.csv"
    path.write_bytes(data)
    with suppress(ValueError):
        rows = cf.filter_file(path, out, cf.DirichletFilter(CLASSES)).rows
        results = cf.read_table(out)
        assert len(results) == rows
        distributions(results.select("f_a", "f_b", "f_c").to_numpy().astype(np.float64))


def ndjson(data: bytes) -> None:
    """Each line has its result, or was rejected; whatever it holds, the next one is read."""
    with tempfile.TemporaryFile() as source, tempfile.TemporaryFile() as sink:
        source.write(data)
        source.seek(0)
        served = serve(
            lambda names: cf.Pipeline(
                cf.DirichletFilter(names), beta={"weak": 0.5, "default": 1.0}
            ),
            source=source.fileno(),
            sink=sink.fileno(),
            errors=io.StringIO(),
            max_streams=50,
        )
        sink.seek(0)
        lines = sink.readlines()
    assert len(lines) == served.filtered
    assert served.lines >= served.filtered + served.rejected + served.skipped  # some are empty
    for line in lines:
        row = json.loads(line)
        distributions(np.array([p for key, p in row.items() if key.startswith("f_")]))


def _cascade() -> cf.Cascade:
    sources = {"weak": lambda window: [0.7, 0.2, 0.1], "strong": lambda window: [0.6, 0.3, 0.1]}
    return cf.Cascade(cf.DirichletFilter(CLASSES), sources, policy=cf.policy.Adaptive(budget=0.2))


def checkpoint(data: bytes) -> None:
    """The file of a live loop, with one cell replaced: refused, or the loop goes on."""
    of, path, cascade = Bytes(data), _absent("loop.db"), _cascade()
    cascade.step([1.0])
    before = pickle.dumps(cascade.state)
    cascade.save(path)
    _replace_part(of, path)
    try:
        cascade.load(path)
    except ValueError:
        assert pickle.dumps(cascade.state) == before
    else:
        with suppress(ValueError):  # a time that goes back, say
            distributions(cascade.step([1.0]).probs)


def _absent(name: str) -> Path:
    """Return the path of a file that is not there: what the input before left in it is damaged."""
    for path in FOLDER.glob(f"{name}*"):
        path.unlink()
    return FOLDER / name


def _replace_part(of: Bytes, path: Path) -> None:
    """Replace one cell of a file, and maybe some of its bytes."""
    with closing(sqlite3.connect(path)) as db, db:
        table, column = of.choice([
            ("meta", "value"), ("meta", "name"), ("streams", "state"), ("streams", "name"),
            ("streams", "time"), ("streams", "number"),
        ])  # fmt: skip
        rows = db.execute(f"SELECT rowid, {column} FROM {table}").fetchall()
        row, value = of.choice(rows)
        if isinstance(value, bytes) and of.byte() < 200:
            at = of.byte() % len(value)
            value = value[:at] + np.float64(of.number()).tobytes() + value[at + 8 :]
        else:
            rest = of.data[of.at :]
            value = of.choice([rest, rest.decode("latin-1"), of.number(), of.byte(), None])
        with suppress(sqlite3.IntegrityError):
            db.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (value, row))


def bank(data: bytes) -> None:
    """The file of a bank, with one cell replaced: refused, or states to go on with."""
    of, path = Bytes(data), _absent("bank.db")
    f = of.choice([cf.DirichletFilter, cf.StickyFilter])(3, dtype=of.choice(["f8", "f4"]))
    streams = cf.Bank(f, 2)
    streams.save(path)
    _replace_part(of, path)
    with suppress(ValueError):
        streams.load(path)
        distributions(streams.update(np.full((len(streams), 3), 1 / 3)))


def tracker(data: bytes) -> None:
    """The file of a tracker, with one cell replaced: refused, or streams to go on with."""
    of, path = Bytes(data), _absent("tracker.db")
    f = of.choice([cf.DirichletFilter, cf.StickyFilter])(3, dtype=of.choice(["f8", "f4"]))
    streams = cf.Tracker(f, beta={"weak": 0.5, "default": 1.0}, max_streams=9)
    streams.update("ann", 0.0, "weak", [0.7, 0.2, 0.1])
    streams.save(path)
    _replace_part(of, path)
    with suppress(ValueError):
        loaded = cf.Tracker.load(path)
        distributions(loaded.update("new", 1e6, "weak", [0.7, 0.2, 0.1]))


def _row(of: Bytes, K: int) -> Any:
    kind = of.byte()
    if kind < 100:
        weights = np.array([1 + of.byte() for _ in range(K)], np.float64)
        return weights / weights.sum()
    if kind < 140:
        return np.eye(K)[of.byte() % K].tolist()
    if kind < 150:
        return [np.nan] * K
    cells = [of.number() for _ in range(of.choice([K, K, K, K - 1, K + 1, 0]))]
    odd = [None, "0.5", 1j, True, [0.5], 10**400, b"x", cells]
    if kind < 170 and cells:
        return [of.choice(odd), *cells[1:]]
    with np.errstate(over="ignore"):
        single = np.array(cells, "f4")
    return of.choice([cells, tuple(cells), np.array(cells), single[::-1]])


def api(data: bytes) -> None:
    """Calls of a filter: refused without a change, or the same by every way."""
    of = Bytes(data)
    K = 2 + of.byte() % 6
    options: dict[str, Any] = {"dtype": of.choice(["f8", "f4"]), "floor": 1e-3}
    kind = of.choice([cf.DirichletFilter, cf.StickyFilter])
    if kind is cf.DirichletFilter:
        options |= {"gamma": of.number(), "estimate": of.choice(["mode", "mean"])}
        options |= {"anchor": of.choice([0.0, of.number()]), "bounded": of.byte() < 200}
    else:
        options |= {"stay": of.number()}
    if of.byte() < 60:
        options["floor"] = of.number()
    try:
        f = kind(K, **options)
    except ValueError:
        return
    streams = cf.Bank(f, 2)
    while of.at < len(data):
        probs = _row(of, K)
        beta = of.choice([1.0, of.number(), 1, "x", None])
        dt = of.choice([1.0, of.number(), 0])
        before, other = pickle.dumps(f.state), pickle.loads(pickle.dumps(f))
        try:
            P = f.update(probs, beta, dt)
        except (TypeError, ValueError):
            assert pickle.dumps(f.state) == before
            continue
        distributions(P)
        assert other.run([probs], beta, dt)[0].tobytes() == P.tobytes()
        assert pickle.dumps(other.state) == pickle.dumps(f.copy().state) == pickle.dumps(f.state)
        assert streams.update([probs], beta, dt, rows=[1])[0].tobytes() == P.tobytes()
        assert f.label in range(K)


def event_files(data: bytes) -> None:
    """A file of events is refused with a message, or read; what was written is read equal."""
    of = Bytes(data)
    name = of.choice(sorted(name for name, kind in FORMATS.items() if kind.read))
    path, again = FOLDER / "in.events", FOLDER / "out.events"
    if of.byte() < 128:
        path.write_bytes(data[2:])
        with suppress(ValueError):
            _round_trip(cf.read_events(path, name, overlaps=True), name, again)
    else:
        _round_trip(_events(of), name, again)


def _events(of: Bytes) -> Any:
    found: list[cf.Event] = []
    time = of.choice([0.0, -5.0, 1.7e9, of.number()])
    dated = of.byte() < 60
    while of.at < len(of.data) and len(found) < 20:
        names = ["a", "b c", "", " a", "\t", "a,b", 'a"b', "a\nb", "\x00", "nan", "NA", "é", "-->"]
        names += [bytes(of.byte() for _ in range(3)).decode("latin-1"), "<NA>", "1", "&amp;", "\r"]
        start = time + abs(of.number())
        time = start + abs(of.number())
        probability = of.choice([None, of.number(), 0.5])
        stream = of.choice([None, "x", of.choice(names)])
        found.append(cf.Event(stream, of.choice(names), start, time, probability))
    return cf.Events(found, dates=dated)


def _round_trip(events: Any, name: str, path: Path) -> None:
    dates = name != "csv" and events.dates
    start = (
        {"start": cf.Events(events[:1], dates=True)[0].start if events else 0.0} if dates else {}
    )
    try:
        cf.write_events(events, path, name, overlaps=True, **start)
    except ValueError:
        return
    read = cf.read_events(path, name, overlaps=True, **start)
    told: list[Any] = [(str(e.label), e.start, e.end) for e in read]
    wanted: list[Any] = [(str(e.label), e.start, e.end) for e in events]
    if name == "csv" and events.dates:
        # A date before 1970 is the sum of a whole second and a part of one, rounded.
        told, wanted = (
            [(k, *(round(x, 9) if x < 0 else x for x in times)) for k, *times in some]
            for some in (told, wanted)
        )
    if name in ("tsv", "rttm") and any(e.start < 0 for e in events):
        # The end is the sum of a start and a duration, to 28 digits: not where the two cancel.
        told, wanted = ([(*e[:2], 0.0) for e in some] for some in (told, wanted))
    assert sorted(told) == sorted(wanted), (set(wanted) ^ set(told), path.read_bytes())
    if name == "csv":
        assert [e.probability for e in read] == [e.probability for e in events]
        assert [e.stream for e in read] == [
            None if e.stream is None else str(e.stream) for e in events
        ]


def labels(data: bytes) -> None:
    """Rows of several labels at once: refused without a change, or the same by every way."""
    of = Bytes(data)
    L = 1 + of.byte() % 4
    kind = of.choice([cf.DirichletFilter, cf.StickyFilter])
    f = cf.MultiLabelFilter(L, kind(2, dtype=of.choice(["f8", "f4"])))
    while of.at < len(data):
        row = of.choice([_row(of, L), [of.number() for _ in range(L)]])
        beta = of.choice([1.0, of.number(), [of.number() for _ in range(L)]])
        dt = of.choice([1.0, of.number(), 0])
        before, other = pickle.dumps(f.state), f.copy()
        try:
            with np.errstate(over="ignore"):  # of numbers that float32 does not have
                P = f.update(row, beta, dt)
        except (TypeError, ValueError):
            assert pickle.dumps(f.state) == before
            continue
        assert P.shape == (L,)
        assert ((P >= 0) & (P <= 1)).all()
        weights = beta if np.ndim(beta) == 0 else [beta]
        assert other.run([row], weights, dt)[0].tobytes() == P.tobytes()
        assert pickle.dumps(other.state) == pickle.dumps(f.state)


def event_lines(data: bytes) -> None:
    """Lines for events, in two runs with one state and one file: each event once, in order."""
    of = Bytes(data)
    rule = cf.EventRule(
        of.choice([0.0, 0.5, 2.0]),
        min_duration=of.choice([0.0, 1.0]),
        max_delay=of.choice([5.0, None]),
    )
    cut, lag = of.byte(), of.choice([None, None, 1, 3])
    lines = data[of.at :].splitlines(keepends=True)
    state, found = FOLDER / "lines.state", FOLDER / "lines.events"
    for path in (state, found):
        path.unlink(missing_ok=True)
    at = cut % (len(lines) + 1)
    for part in (lines[:at], lines[at:]):
        with tempfile.TemporaryFile() as source, tempfile.TemporaryFile() as sink:
            source.write(b"".join(part))
            source.seek(0)
            with suppress(ValueError):  # the second part may have other classes
                serve(
                    lambda names: cf.Pipeline(cf.DirichletFilter(names), rule=rule),
                    source=source.fileno(),
                    sink=sink.fileno(),
                    errors=io.StringIO(),
                    state=state,
                    events=found,
                    max_jump=of.choice([None, 100.0]),
                    lag=lag,
                )
    end: dict[Any, Any] = {}
    for number, line in enumerate(found.read_text().splitlines(), 1):
        event = json.loads(line)
        assert event["event"] == number
        assert 0 <= event["probability"] <= 1 + 1e-9
        if isinstance(event["start"], float):
            stream = event.get("stream")
            assert end.get(stream, -np.inf) <= event["start"] < event["end"]
            end[stream] = event["end"]


TARGETS: dict[str, Callable[[bytes], None]] = {
    target.__name__: target
    for target in (
        *(settings, csv, ndjson, checkpoint, bank, tracker, api),
        *(event_files, labels, event_lines),
    )
}
