"""The table of a tuned pipeline: each line is a fact that the pipeline has."""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

import classfilter as cf
from classfilter.tuning import TuningRecord
from tuning_days import days, tuned_short

RECS = days([0, 1], 2.0)


@lru_cache
def tuned(**options: Any) -> cf.Pipeline:
    return cf.tune(RECS, "sticky", "strong", **options)


def lines(pipe: cf.Pipeline) -> dict[str, str]:
    """Return the lines by their titles; a line that goes on is one."""
    _, blank, *rest = str(pipe).splitlines()
    assert blank == ""
    joined = re.sub(r"\n +", " ", "\n".join(rest))
    return dict(re.split(r"  +", line, maxsplit=1) for line in joined.splitlines())


def test_the_table() -> None:
    pipe = tuned(event_duration="15min")
    table, effect, events = lines(pipe), pipe.tuning.effect, pipe.tuning.event_effect
    assert effect is not None
    assert events is not None
    hours = effect.time / 3600
    first = f"2 streams, {hours:.1f} h, 2,880 predictions (times read as seconds)"
    assert str(pipe).splitlines()[0] == first
    assert all(len(line) <= 80 for line in str(pipe).splitlines())
    before, after = (n / hours for n in (effect.changes_before, effect.changes_after))
    late = f"{effect.delay:.0f} s behind a change"
    assert table["Switches"] == f"{before:.0f} -> {after:.2g} per hour, {late}"
    hours = events.time / 3600
    live, half, double = (f"{n / hours:.2g}" for n in (events.live, events.half, events.double))
    assert table["Events (15 min)"] == (
        f"{live} per hour, confirmed about {events.delay / 60:.3g} min after they end "
        f"half the duration: {half} per hour; double: {double}"
    )
    strong = pipe.beta["strong"]
    assert table["Weights"].startswith(f"strong {strong:.2g}, weak 0")
    clear = [rival.name for rival in pipe.tuning.rivals if rival.clear and rival.gain > 0]
    assert table["Better than"].startswith("; ".join(clear))
    unclear = [rival.name for rival in pipe.tuning.rivals if not rival.clear]
    assert table.get("About equal to", "") == "; ".join(unclear)


def test_the_lines_say_how_the_choice_was_made() -> None:
    assert "Chosen" not in lines(tuned())
    assert "Events (suggested)" in lines(tuned())
    table = lines(tuned(labels=True))
    assert table["Chosen"] == "using the labels"
    assert re.search(r"F1@50 \d\d\.\d%$", table["Events (by labels)"])
    durations = dict.fromkeys(RECS[0].classes, "15min")
    each = cf.tune(RECS, "sticky", "strong", event_duration=durations)
    assert "Events (by class)" in lines(each)
    assert lines(cf.tune(RECS, "sticky", "strong", every=24))["Reference"] == (
        "strong, at one step in 24"
    )
    half_life = tuned_short("dirichlet").tuning.candidate.half_life
    assert lines(tuned_short("dirichlet"))["Filter"] == f"Dirichlet, half-life {half_life:.3g} s"


def test_without_seconds_nothing_is_said_in_them() -> None:
    slow = [
        cf.rows(time=rec.time * 2e6, source=rec.source_names, probs=rec.probs, classes=rec.classes)
        for rec in RECS
    ]
    pipe = cf.tune(slow, "sticky", "strong")
    assert str(pipe).startswith("2 streams, 2,880 predictions (times do not look like seconds)\n")
    assert re.match(r"[\d.]+ -> [\d.]+ in 1000 rows, \d+ rows behind", lines(pipe)["Switches"])
    assert not re.search(r"\d s\b|min|hour", str(pipe))


def test_too_little_to_tune_on() -> None:
    with pytest.warns(UserWarning, match="tuning needs"):
        pipe = cf.tune([days([0], 2.0)[0].take(slice(0, 200))], reference="strong")
    assert str(pipe).splitlines()[0] == "Filter   last prediction of 'strong'"
    alone = cf.Pipeline(cf.DirichletFilter(2), tuning=TuningRecord("strong"))
    assert str(alone) == f"Filter  {alone.filter!r}"


@pytest.mark.parametrize("K", [2, 5])
def test_the_dwell_is_the_mean_time_in_a_class(K: int) -> None:
    """Simulated in small steps with the transitions of the filter itself."""
    rng = np.random.default_rng(K)
    prior = rng.dirichlet(np.full(K, 20.0))
    redrawn = cf.StickyFilter(K, stay=0.5 ** (1 / 50), prior=prior)
    matrix = redrawn._transitions(20.0)
    for f in (redrawn, cf.StickyFilter(K, transitions=matrix, interval=20.0)):
        step = f.transitions  # of one time unit
        left = 1 - np.diag(step)
        mean = 1 / left - 0.5  # of a change somewhere within the last unit
        np.testing.assert_allclose(f._dwell, mean, rtol=0.01)
    assert math.isclose(redrawn._dwell.min(), 50 / math.log(2) / (1 - prior.min()), rel_tol=1e-9)
