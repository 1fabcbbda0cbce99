"""Random rows of a few streams, with jumps, ties, late rows and restarts: as the rules say."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from entry_points import disagreement
from hostile_rows import DAY, MISSING, MS, NOW, PREDICTIONS, SPAN, Case, Expire, Restart, Row, Step

# Some clocks are wrong, in milliseconds.
pytestmark = pytest.mark.filterwarnings("ignore::classfilter.inputs.OddRowsWarning")
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
    filter_ = draw(st.sampled_from(["dirichlet", "single"]))
    return Case("random", tuple(steps), limits, filter_, rows_a_call=draw(st.integers(2, 6)))


SILENT = Case("", (Row("a", NOW, None, MISSING), Row("a", NOW + 61, None, PREDICTIONS[0])),
              {"expire_after": SPAN})  # fmt: skip


@pytest.mark.parametrize("name", LIVE)
@given(hostile_cases())
@example(SILENT)
def test_as_the_rules_and_plain_filters(name: str, case: Case) -> None:
    assert disagreement(name, case) is None


@pytest.mark.parametrize("name", ["Tracker.update", "stream --line-number"])
@given(hostile_cases())
def test_a_restart_after_each_row_changes_nothing(name: str, case: Case) -> None:
    steps = [step for step in case.steps if not isinstance(step, Restart)]
    restarts = tuple(chain.from_iterable((step, Restart()) for step in steps))
    assert disagreement(name, replace(case, steps=restarts)) is None
