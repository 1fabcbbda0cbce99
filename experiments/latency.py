"""How soon an alarm comes: ``python -m experiments.latency FILE CLASS --event-duration 5min``.

It tunes without labels, and decides the events of the file with several rules, row by row. An alarm
is the start of an event of the class, in the row by which `Tracker.pop_starts` returns it; it is
false if its event overlaps no true one. A true event is found if an event overlaps it. The last two
columns are medians over the true events that were found: the time from the true onset to the alarm,
and to the row by which `Tracker.pop_events` returns the whole event.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

import classfilter as cf
from classfilter.engine import known_events

COSTS = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0)
"""Of a change, times that of `tune`."""
COLUMNS = (
    "change_cost", "leave_cost", "max_delay",
    "alarms", "found", "false alarms", "until the alarm", "until the whole event",
)  # fmt: skip


def overlap(event: cf.Event, other: cf.Event) -> bool:
    """Return whether two events of one stream share some time."""
    assert event.end is not None
    assert other.end is not None
    return event.stream == other.stream and event.start < other.end and other.start < event.end


def cells(rows: cf.Rows, pipe: cf.Pipeline, true: list[cf.Event], label: str) -> list[str]:
    """Return a row of the table: what the rule of a pipeline does."""
    known = [one for one in known_events(rows, pipe) if one.event.label == label]
    alarms, whole = [], []
    for onset in true:
        own = [one for one in known if overlap(one.event, onset)]
        if own:
            alarms.append(min(one.start_known for one in own) - onset.start)
            whole.append(min(one.end_known for one in own) - onset.start)
    false = sum(not any(overlap(one.event, onset) for onset in true) for one in known)
    rule = pipe.rule
    assert rule is not None
    return [
        f"{rule.change_cost:.3g}",
        f"{rule.leave_cost:.3g}",
        "" if rule.max_delay is None else f"{rule.max_delay:g}",
        str(len(known)),
        f"{len(alarms)} of {len(true)}",
        str(false),
        *(f"{np.median(times):.0f} s" if times else "" for times in (alarms, whole)),
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", help="predictions with labels")
    parser.add_argument("label", metavar="class", help="what alarms are for")
    parser.add_argument("--event-duration", help="how long an event usually lasts")
    parser.add_argument("--max-delay", type=float, nargs="*", default=[5.0, 10.0])
    given = parser.parse_args(arguments)
    rows = cf.rows(given.file)
    pipe = cf.tune(rows, event_duration=given.event_duration)
    assert pipe.rule is not None
    cost = pipe.rule.change_cost
    rules = [replace(pipe.rule, change_cost=cost * factor) for factor in COSTS]
    rules.append(replace(pipe.rule, change_cost=cost / 2, leave_cost=cost / 2))
    rules += [replace(pipe.rule, max_delay=delay) for delay in given.max_delay]
    true = [event for event in cf.label_events(rows) if event.label == given.label]
    print("| " + " | ".join(COLUMNS) + " |")
    print("|---" * len(COLUMNS) + "|")
    for rule in rules:
        row = cells(rows, replace(pipe, rule=rule), true, given.label)
        print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main()
