"""What tune says that its choice does, counted again by plain loops, one row after the other."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

import classfilter as cf
from classfilter import Pipeline, Rows
from classfilter.tuning import Candidate, Effect, tune
from classfilter.tuning.explanation import describe, name_of
from classfilter.tuning.rows import JoinedRows, concatenate
from tuning_days import changed, day, days, messy, tuned_short


def classes_by_loop(pipe: cf.Pipeline, rec: Rows) -> tuple[list[int], list[int]]:
    """Return the class of the last prediction and the filtered one after each row, -1 before."""
    filter_, time = pipe.filter, None
    raw: list[int] = []
    filtered: list[int] = []
    for t, source, p in zip(rec.time.tolist(), rec.source_names.tolist(), rec.probs, strict=True):
        channel, dt = pipe.channel[source], 0.0 if time is None else t - time
        missing = math.isnan(p[0])
        filter_.update(
            p if missing or channel is None else channel.apply(p),
            pipe.beta[source],
            dt,
        )
        raw.append((raw[-1] if raw else -1) if missing else max(range(p.size), key=lambda k: p[k]))
        filtered.append(int(np.argmax(filter_.probs)) if raw[-1] >= 0 else -1)
        time = t
    return raw, filtered


def count_by_loop(time: list[float], classes: list[int]) -> tuple[int, float]:
    """Count changes between neighbours; the last row of a time counts, a long gap does not."""
    rows: dict[float, int] = {}
    for t, k in zip(time, classes, strict=True):
        rows[t] = k
    times = list(rows)
    steps = [b - a for a, b in pairwise(times)]
    longest = 10 * float(np.median(steps)) if steps else 0.0
    changes, spent = 0, 0.0
    for a, b in pairwise(times):
        if rows[a] >= 0 and rows[b] >= 0 and b - a <= longest:
            spent += b - a
            changes += rows[a] != rows[b]
    return changes, spent


def test_the_first_line_has_what_a_loop_counts() -> None:
    """On irregular rows of two sources, with missing ones, equal times and a long gap."""
    recs = [messy(seed, 2.0) for seed in range(2)]
    nan = np.full(6, np.nan)
    late = np.where(np.arange(len(recs[0])) < 400, 0.0, 5000.0)
    probs = np.where(np.arange(len(recs[0]))[:, None] < 3, nan, recs[0].probs)
    recs[0] = changed(recs[0], time=recs[0].time + late, probs=probs)
    tuned = tune(recs, "sticky", "strong")
    before = after = rows = 0
    spent = 0.0
    for rec in recs:
        raw, filtered = classes_by_loop(tuned, rec)
        before += count_by_loop(rec.time.tolist(), raw)[0]
        changes, time = count_by_loop(rec.time.tolist(), filtered)
        after, spent = after + changes, spent + time
        rows += sum(k >= 0 for k in raw)
    effect, candidate = tuned.tuning.effect, tuned.tuning.candidate
    assert effect is not None
    assert candidate is not None
    assert (effect.changes_before, effect.changes_after, effect.rows) == (before, after, rows)
    assert effect.time == pytest.approx(spent, rel=1e-12)
    assert spent < sum(rec.time[-1] - rec.time[0] for rec in recs) - 5000
    assert tuned.tuning.explain().splitlines()[0] == (
        f"{name_of(candidate, 'strong', True)} changes class "
        f"{3600 * after / spent:.2g} times an hour instead of {3600 * before / spent:.0f}, over 2 "
        f"streams and {spent / 3600:.1f} h."
    )
    assert "Times are read as seconds." in tuned.tuning.explain()


def test_thinned_recordings_are_counted_as_they_will_be() -> None:
    both = [day(seed, 2.0).rows(every=None) for seed in range(2)]
    thin = [day(seed, 2.0).rows(every=6) for seed in range(2)]
    dense, sparse = tune(both, "sticky", "strong", every=6), tune(thin, "sticky", "strong")
    assert dense.tuning.effect == sparse.tuning.effect


def joined(recs: list[Rows]) -> JoinedRows:
    return concatenate(recs, "strong")


def delays_by_loop(pipe: Pipeline, rec: Rows) -> list[tuple[int, int, float]]:
    """Return the classes of each change of the smoothed class, and how late the filtered one is."""
    _, filtered = classes_by_loop(pipe, rec)
    smoothed = pipe.smooth(rec).argmax(axis=1).tolist()
    time, found = rec.time.tolist(), []
    for i in range(1, len(time)):
        if smoothed[i] == smoothed[i - 1] or time[i] - time[i - 1] > 10 * rec.step:
            continue
        late, j = math.inf, i
        while j < len(time) and smoothed[j] == smoothed[i]:
            if filtered[j] == smoothed[i]:
                late = time[j] - time[i]
                break
            j += 1
        found.append((smoothed[i - 1], smoothed[i], late))
    return found


@pytest.mark.parametrize("kind", ["sticky", pytest.param("dirichlet", marks=pytest.mark.slow)])
def test_the_delay_is_that_of_a_loop(kind: str) -> None:
    """From a change of the smoothed class until the filtered class follows."""
    recs = days(range(2), 2.0)
    gap = np.where(np.arange(len(recs[0])) < 400, 0.0, 5000.0)
    recs[0] = changed(recs[0], time=recs[0].time + gap)
    tuned = tune(recs, kind, "strong")  # type: ignore[arg-type]
    effect, found = tuned.tuning.effect, [one for rec in recs for one in delays_by_loop(tuned, rec)]
    assert effect is not None
    late = sorted(delay for *_, delay in found)
    assert effect.delay == late[len(late) // 2] > 0
    assert effect.delay_rows == effect.delay / 5
    sentence = f"it follows after about {effect.delay:.0f} s ({effect.delay_rows:.0f} row"
    assert sentence in tuned.tuning.explain().splitlines()[1]
    for one in effect.delays:
        pair = tuned.classes.index(one.before), tuned.classes.index(one.after)
        late = sorted(delay for *classes, delay in found if tuple(classes) == pair)
        assert (one.delay, one.changes) == (late[len(late) // 2], len(late))
    assert sum(one.changes for one in effect.delays) == len(found)
    assert [one.delay for one in effect.delays] == sorted(
        (one.delay for one in effect.delays), reverse=True
    )


def test_a_delay_is_that_of_labels() -> None:
    """It said 0 s of seizures that the filter followed 12 s late: rare, and seldom seen."""
    recs = []
    for seed in range(6):
        rng, truth = np.random.default_rng(seed), np.zeros(3600, np.intp)
        for start in rng.choice(np.arange(60, 3500, 120), 12, replace=False):
            truth[start : start + 40] = 1
        right = rng.random(3600) < np.where(truth == 1, 0.7, 0.95)
        said = np.where(right, truth, 1 - truth)
        recs.append(cf.rows(time=np.arange(3600.0), probs=said, classes=["rest", "fit"]))
        recs[-1] = changed(recs[-1], label=truth)
    tuned = tune(recs, max_switches_per_hour=40)
    starts: list[int] = []
    ends: list[int] = []
    for rec in recs:
        filtered, truth = tuned.run(rec).argmax(axis=1), np.asarray(rec.label)
        for i in np.flatnonzero(np.diff(truth)) + 1:
            late = int((filtered[i:] == truth[i]).argmax())
            (starts if truth[i] else ends).append(late)
    effect = tuned.tuning.effect
    assert effect is not None
    said_of = {one.after: one.delay for one in effect.delays}
    assert said_of["fit"] == pytest.approx(np.median(starts), abs=4)
    assert said_of["rest"] == pytest.approx(np.median(ends), abs=4)


@pytest.mark.parametrize(
    ("candidate", "effect", "lines"),
    [
        (
            Candidate("stay", (("s", 0.5),), 40.0),
            Effect(470, 22, 7200.0, 1440, 15.0, 3, True),
            [
                "A sticky filter with a dwell of 80 s changes class 11 times an hour instead "
                "of 235, over 2 streams and 2.0 h.",
                "Once the predictions change class, it follows after about 15 s (3 rows).",
                "Weights: s 0.5.",
            ],
        ),
        (
            Candidate("raw", (("s", 1.0),)),
            Effect(470, 470, 7200.0, 1440, 0.0, 0, True),
            [
                "Nothing gained: the last prediction is already best. It changes class 235 times "
                "an hour, over 2 streams and 2.0 h.",
            ],
        ),
        (
            Candidate("ema", (("s", 1.0),), 3600.0),
            Effect(12, 3, 5 * 86400.0, 120, 3600.0, 1, True),
            [
                "An exponential moving average with a half-life of 3600 s changes class 0.6 times "
                "a day instead of 2.4, over 2 streams and 120 h.",
                "Once the predictions change class, it follows after about 60 min (1 row).",
            ],
        ),
        (
            Candidate("mean", (("s", 1.0),)),
            Effect(100, 0, 60.0, 1000, math.nan, math.nan, False),
            [
                "The mean of the last five predictions never changes class, instead of 100 times "
                "in 1000 rows, over 2 streams and 1000 rows.",
            ],
        ),
        (
            Candidate("transitions", (("s", 1.0),), rate=0.25),
            Effect(100, 9, 3600.0, 1000, 0.0, 0, True),
            [
                "A sticky filter with estimated transitions, slowed down 4 times, changes class 9 "
                "times an hour instead of 100, over 2 streams and 60 min.",
                "Once the predictions change class, it follows at once.",
                "Weights: s 1.",
            ],
        ),
        (
            Candidate("hold", (("s", 1.0),)),
            None,
            ["A simple rule, to hold the last prediction of 'strong'."],
        ),
    ],
)
def test_the_sentences(candidate: Candidate, effect: Effect | None, lines: list[str]) -> None:
    sticky = cf.StickyFilter(2, dwell=80.0)
    assert describe(candidate, joined(days([0, 1], 2.0)), effect, filter=sticky) == lines


@pytest.mark.filterwarnings("ignore::classfilter.inputs.OddRowsWarning")
def test_times_that_cannot_be_seconds() -> None:
    recs = [changed(rec, time=1.7e12 + 1000 * rec.time) for rec in days([0, 1], 2.0)]
    tuned, seconds = tune(recs, "sticky", "strong"), tuned_short("sticky").tuning.effect
    assert tuned.tuning.effect is not None
    assert seconds is not None
    assert tuned.tuning.effect[:2] == seconds[:2]
    rates = [1000 * n / tuned.tuning.effect.rows for n in tuned.tuning.effect[:2]]
    line = f"changes class {rates[1]:.2g} times in 1000 rows instead of {rates[0]:.0f}, over 2 str"
    assert line in tuned.tuning.explain().splitlines()[0]
    assert (
        f"it follows after {seconds.delay_rows:.0f} rows." in tuned.tuning.explain().splitlines()[1]
    )
    assert tuned.tuning.explain().endswith("Times do not look like seconds.")
