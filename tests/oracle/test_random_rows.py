"""Random rows of a few streams, with jumps, ties, late rows and restarts: as the rules say."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from differences import part
from entry_points import ENTRY_POINTS, same
from expected_rows import expected
from hostile_rows import DAY, MISSING, MS, NOW, PREDICTIONS, SPAN, Case, Expire, Restart, Row, Step

STEPS = (0.0, 0.0, 1.0, 5.0, 30.0, SPAN, SPAN + 0.25, 200.0, DAY, 3 * DAY)
ERRORS = (0.0, 0.0, 0.0, 0.0, -5.0, -200.0, 2 * DAY, MS - NOW)
LIVE = ("Tracker.update", "Tracker.update_many", "stream", "stream --state", "stream --line-number")


@st.composite
def hostile_cases(draw: st.DrawFn) -> Case:
    """Return rows by a clock that goes on, of streams whose own clocks are wrong now and then."""
    limits: dict[str, Any] = draw(
        st.fixed_dictionaries(
            {},
            optional={
                "expire_after": st.just(SPAN),
                "max_streams": st.integers(1, 4),
                "max_jump": st.just(DAY),
            },
        )
    )
    now, steps = NOW, list[Step]()
    for _ in range(draw(st.integers(0, 25))):
        now += draw(st.sampled_from(STEPS))
        kind = draw(st.integers(0, 9))
        if kind == 0:
            steps.append(Restart())
        elif kind == 1 and "expire_after" in limits:
            steps.append(Expire(now + draw(st.sampled_from(ERRORS))))
        else:
            source = draw(st.sampled_from(["weak", "strong", None, "other"]))
            probs = draw(st.sampled_from([*PREDICTIONS, MISSING]))
            at = now + draw(st.sampled_from(ERRORS))
            steps.append(Row(draw(st.sampled_from("abcd")), at, source, probs))
    return Case("random", tuple(steps), limits, draw(st.sampled_from(["dirichlet", "single"])))


def agree(name: str, case: Case, calls: int) -> None:
    """Compare an entry point with the rules, on the part of the case that it gets."""
    run, differences = ENTRY_POINTS[name]
    applies = part(case, differences)
    if applies.calls > 1:
        applies = replace(applies, calls=calls)
    with TemporaryDirectory() as folder:
        same(run(applies, Path(folder)), expected(applies))


SILENT = Case("", (Row("a", NOW, None, MISSING), Row("a", NOW + 61, None, PREDICTIONS[0])),
              {"expire_after": SPAN})  # fmt: skip


@pytest.mark.parametrize("name", LIVE)
@given(hostile_cases(), st.integers(2, 6))
@example(SILENT, 2)
def test_as_the_rules_and_plain_filters(name: str, case: Case, calls: int) -> None:
    agree(name, case, calls)


@pytest.mark.parametrize("name", ["Tracker.update", "stream --line-number"])
@given(hostile_cases())
def test_a_restart_after_each_row_changes_nothing(name: str, case: Case) -> None:
    steps = [step for step in case.steps if not isinstance(step, Restart)]
    agree(name, replace(case, steps=tuple(chain.from_iterable((s, Restart()) for s in steps))), 1)
