"""The event rule, against a hidden Markov model's forward and Viterbi passes on the same rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from hmmlearn import _hmmc

import classfilter as cf
from classfilter import StickyFilter, _core

from .cases import example_stream
from .harness import Call, race, report


def event_rule(classes: int, single: bool = False, **options: Any) -> _core.EventRule:
    """Return a rule with a change cost of 20 s for all classes; rows are 5 s apart."""
    settings = cf.EventRule(20.0).numbers(tuple(map(str, range(classes))))
    return _core.EventRule(classes, single, **{**settings, **options})


def stream(T: int, K: int) -> None:
    """Time a whole stream in one call: filtered rows, as the rule gets them, and raw ones."""
    raw, strong = example_stream(T, K)
    rows = StickyFilter(K).run(raw, np.where(strong, 1.0, 0.1))
    times = 5.0 * np.arange(len(rows))
    start, stay = np.full(K, 1 / K), np.full((K, K), 0.01 / K) + 0.99 * np.eye(K)
    floored = np.maximum(rows, 1e-3)
    log_floored = np.log(floored)

    def ours(rule: _core.EventRule, probs: Any) -> Call:
        state = rule.start()
        return lambda: rule.run(state, times, probs)

    logs = np.log(start), np.log(stay)
    peers: dict[str, Call] = {
        "hmmlearn forward_scaling": lambda: _hmmc.forward_scaling(start, stay, floored),
        "hmmlearn viterbi": lambda: _hmmc.viterbi(*logs, log_floored),
    }
    own = {"run": ours(event_rule(K), rows)}
    more = {
        "run, max_delay 5 min": ours(event_rule(K, max_delay=300.0), rows),
        "run, float32": ours(event_rule(K, True), rows.astype(np.float32)),
        "run, raw rows": ours(event_rule(K), raw),
        "run, log p": ours(event_rule(K, log=True), rows),
        "run, min_duration 1 min": ours(event_rule(K, min_duration=np.full(K, 60.0)), rows),
    }
    best = race({**peers, **own, **more}, seconds=3.0)
    times_each = {name: seconds / len(rows) for name, seconds in best.items()}
    goals = dict.fromkeys(own, "<= 0.4; 50 ns") if K == 6 else {}
    report(f"The event rule, K = {K}, T = {T:,}, per row", times_each, goals)


def step(K: int) -> None:
    """Time one row from Python, with a new state each."""
    T = 1000
    rows, rule = list(example_stream(T, K)[0]), event_rule(K)

    def updates() -> None:
        state, update = rule.start(), rule.update
        for i, row in enumerate(rows):
            state, _ = update(state, 5.0 * i, row)

    each = {"update(ndarray)": race({"update": updates})["update"] / T}
    report(f"The event rule, one row, K = {K}", each, {"update(ndarray)": "0.4 µs"})


def main() -> None:
    for classes, rows in ((6, 20_000), (2, 20_000), (20, 5_000)):
        stream(rows, classes)
    step(6)


if __name__ == "__main__":
    main()
