"""The picture of live and offline events in docs/events.md: ``python -m examples.live_events``.

A stream of ``examples/one_classifier.csv`` goes through a tracker row by row. The picture has its
raw classes, the events that `cf.events` finds in the whole table, what the tracker said at the
time, the events that it confirmed, and how long after its end it confirmed each.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import classfilter as cf
from examples import first

PICTURE = first.ROOT / "docs/live_events.png"
STREAM, MINUTES = "bob", slice(12, 28)
"""What the picture shows: a stretch with short events."""


class Live(NamedTuple):
    """What a tracker says of one stream: its events, when each was known, and what was current."""

    events: cf.Events
    known: list[float]
    current: list[int]
    """The class of each row, -1 where there is none."""


def live_events(rec: cf.Rows, pipe: cf.Pipeline, stream: str) -> Live:
    """Give the rows of a stream to a tracker one by one; at the end, the stream is over."""
    tracker = cf.Tracker(pipe, events=True)
    live = Live(cf.Events([]), [], [])

    def take(time: float) -> None:
        events = tracker.pop_events()
        live.events.extend(events)
        live.known.extend([time] * len(events))

    for time, source, probs in zip(
        rec.time.tolist(), rec.source_names.tolist(), rec.probs, strict=True
    ):
        tracker.update(stream, time, source, probs)
        take(time)
        current: Any = tracker.current(stream)
        live.current.append(-1 if current is None else rec.classes.index(current.label))
    tracker.drop([stream])
    take(float(rec.time[-1]))
    return live


def draw(table: Path, path: Path) -> None:
    """Tune on all streams, and draw one of them offline and live."""
    recordings = cf.rows(cf.read_table(table)).by_stream()
    tuned = cf.tune(recordings, event_duration=first.DURATION)
    rec = recordings[STREAM]
    live = live_events(rec, tuned, STREAM)
    part = slice(MINUTES.start * 12, MINUTES.stop * 12)
    lanes: dict[str, Any] = {
        "Classifier": rec.probs[part],
        "Offline": cf.events({STREAM: rec}, tuned),
        "Live, provisional": live.current[part],
        "Live, confirmed": live.events,
    }
    figure = cf.plot.timeline(rec.time[part], None, lanes, rec.classes)
    figure.set_size_inches(9.0, 1.2 + 0.4 * (len(lanes) + 2))
    (axes,) = figure.axes
    levels = [len(lanes), len(lanes) + 0.6]
    for i, (event, known) in enumerate(zip(live.events, live.known, strict=True)):
        assert event.end is not None
        if MINUTES.start < event.end / 60 and known / 60 < MINUTES.stop:
            x, y = (event.end / 60, known / 60), levels[i % 2]
            axes.plot([x[0], *x], [len(lanes) - 0.6, y, y], color="black", lw=1)
            axes.plot(x[1], y, "o", color="black", ms=5)
            axes.text(x[1], y - 0.1, f"{known - event.end:.0f} s", ha="right", fontsize=9)
    axes.set_ylim(levels[1] + 0.3, -0.5)
    axes.set_yticks([*range(len(lanes)), sum(levels) / 2], [*lanes, "Confirmed after"])
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    draw(first.ONE, PICTURE)
    print(PICTURE.relative_to(first.ROOT))
