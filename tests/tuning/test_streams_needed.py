"""How many streams would settle a comparison."""

from __future__ import annotations

import numpy as np
import pytest

import classfilter as cf
from classfilter.tuning import Rival, prepare
from classfilter.tuning.candidates import RULES, rule
from classfilter.tuning.objective import Gain
from classfilter.tuning.streams_needed import about, unsettled


def test_as_many_streams_settle_it_in_about_half_of_the_cases() -> None:
    """Then the gain is two standard errors on average, whatever the streams were measured on."""
    rng = np.random.default_rng(0)
    for streams, gain, scatter in ((8, 0.03, 0.1), (5, 0.2, 0.9), (40, 0.1, 0.5)):
        rival = Rival.of("Hold", Gain(gain, scatter / np.sqrt(streams)), streams)
        count = round(rival.streams_needed)
        draws = gain + scatter * rng.standard_normal((2000, count))
        errors = draws.std(axis=1, ddof=1) / np.sqrt(count)
        clear = np.mean(draws.mean(axis=1) > 2 * errors)
        assert clear == pytest.approx(0.5, abs=0.06)


def test_rivals() -> None:
    clear, even = Rival.of("Hold", Gain(0.3, 0.1), 9), Rival.of("Hold", Gain(0.0, 0.1), 9)
    assert clear.clear
    assert clear.streams_needed == pytest.approx(4.0)
    assert not even.clear
    assert even.streams_needed == np.inf
    assert Rival.of("Hold", Gain(-0.1, 0.1), 9).streams_needed == pytest.approx(36.0)


def test_words() -> None:
    hold, mean = Rival("Hold", 0.1, 0.08, 20.5), Rival("Mean", 0.2, 0.01, 1.0)
    other = Rival("the best Dirichlet filter", -0.1, 0.2, 999.0)
    assert unsettled([mean, hold, other], RULES, 8) == (
        "Whether it is better than Hold, these 8 streams do not settle; it would take 25 or more "
        "like these."
    )
    assert unsettled([mean, other], RULES, 8) == ""
    assert unsettled([other], RULES, 8) == ""
    alone = unsettled([hold._replace(streams_needed=np.inf)], RULES, 1)
    assert alone.endswith(
        "this stream does not settle; it would take more than a thousand like it."
    )
    assert [about(x) for x in (1.2, 10.0, 10.1, 99.0, 100.0, 801.0, 1000.0, 1001.0)] == [
        "2 or more",
        "10 or more",
        "12 or more",
        "100 or more",
        "100 or more",
        "1000 or more",
        "1000 or more",
        "more than a thousand",
    ]


def test_the_error_is_over_whole_streams() -> None:
    days = [cf.simulate(hours=0.4, seed=20 + i).rows() for i in range(3)]
    prepared = prepare(days, "strong", min_predictions=2)
    assert prepared is not None
    objective, rows = prepared.objective, prepared.rows
    a, b = (rule(name, rows.sources, rows.step) for name in ("hold", "raw"))
    difference = np.subtract(*(objective.criteria[-1].of(objective.runner.run(c)) for c in (a, b)))
    parts = [difference[rows.stream == i] for i in range(3)]  # all rows are judged
    mean = difference.mean()
    scatter = 1.5 * sum((part - mean).sum() ** 2 for part in parts)
    whole, by_part = np.sqrt(scatter) / difference.size, objective.gains(a, b)[-1].error
    gain, error = objective.gain_over_streams(a, b)
    assert gain == pytest.approx(mean)
    assert error == pytest.approx(whole)
    assert by_part < 0.8 * whole
    one = prepare(days[:1], "strong", min_predictions=2)
    assert one is not None
    assert one.objective.gain_over_streams(a, b) == one.objective.gains(a, b)[-1]
