"""The result of `compare`: the best rows, the table, the order of recordings, and errors."""

from __future__ import annotations

import numpy as np
import pytest

import classfilter as cf
from classfilter import Comparison, Rows, compare
from classfilter.compare import Measure, Row
from compare_oracle import by_hand, changed, clean, measures, perfect, raw, values
from example_tables import KINDS, column, names_of

NAN = float("nan")


def row(name: str, *values: float, smoothed: bool = False, half: float = 0.01) -> Row:
    keys = ("accuracy", "log_loss", "switches", "delay")
    intervals = {key: Measure(x, x - half, x + half) for key, x in zip(keys, values, strict=True)}
    return Row(name, smoothed, intervals)


def comparison(*rows: Row) -> Comparison:
    return Comparison(list(rows), 3, 120, "strong", 7.25)


TABLE = comparison(
    row("Raw", 0.5, 1.0, 100, 0.0),
    row("Tuned", 0.875, 0.25, 8, 12),
    row("Mine", 0.875, 0.5, 9, 0.0),
    row("Back", 0.8, 0.125, 6, 3, smoothed=True),
    row("Far back", 0.75, 0.0625, 6, NAN, smoothed=True, half=0.1),
)


def test_the_best_of_each_kind() -> None:
    assert TABLE.best("accuracy") == "Tuned"
    assert TABLE.best("accuracy", smoothed=True) == "Back"
    assert TABLE.best("log_loss") == "Tuned"
    assert TABLE.best("log_loss", smoothed=True) == "Far back"
    assert TABLE.best("switches") is None  # neither many nor few are good
    assert TABLE.best("delay") is None  # a flickering estimate is fast by chance
    assert comparison(row("Raw", 0.5, 1.0, 100, 0.0)).best("accuracy", smoothed=True) is None
    assert (
        comparison(row("Raw", 0.5, NAN, 100, 2), row("Mine", 0.5, 1.0, 9, 2)).best("log_loss")
        == "Mine"
    )
    with pytest.raises(ValueError, match="measure"):
        TABLE.best("f1")


def test_cells_mark_the_best_and_its_equals() -> None:
    assert TABLE.cells("accuracy") == [
        ("50.0 ± 1.0", False),
        ("87.5 ± 1.0", True),
        ("87.5 ± 1.0", True),
        ("80.0 ± 1.0", True),
        ("75.0 ± 10.0", False),
    ]
    assert TABLE.cells("delay")[-1] == ("nan", False)
    assert [best for _, best in TABLE.cells("switches")] == [False] * 5
    # as good as the best smoother, but no smoother
    other = comparison(row("Raw", 0.8, 1, 1, 1), row("Mine", 0.9, 1, 1, 1), *TABLE.rows[3:])
    assert [best for _, best in other.cells("accuracy")] == [False, True, True, False]


def test_the_text() -> None:
    expected = """
               accuracy                    switches    delay
                    (%)      log-loss      per hour      (s)
Raw          50.0 ± 1.0   1.00 ± 0.01   100.0 ± 0.0    0 ± 0
Tuned       [87.5 ± 1.0] [0.25 ± 0.01]    8.0 ± 0.0   12 ± 0
Mine        [87.5 ± 1.0]  0.50 ± 0.01     9.0 ± 0.0    0 ± 0
Back *      [80.0 ± 1.0]  0.12 ± 0.01     6.0 ± 0.0    3 ± 0
Far back *  75.0 ± 10.0  [0.06 ± 0.10]    6.0 ± 0.1      nan

3 streams, 120 steps; reference: strong. ± is half of a 95 % interval. *
smoothed: uses later rows too.
The true class switches 7.2 times per hour."""
    assert str(TABLE) == expected[1:]
    assert repr(TABLE).startswith("Comparison(streams=3, steps=120, ")
    styled = TABLE.text(lambda cell: f"\x1b[1m {cell} \x1b[0m")
    plain = styled.replace("\x1b[1m", "").replace("\x1b[0m", "")
    lines = zip(plain.splitlines(), expected[1:].splitlines(), strict=True)
    assert all(a.rstrip() == b.replace("[", " ").replace("]", " ").rstrip() for a, b in lines)
    assert "\x1b[1m 87.5 ± 1.0 \x1b[0m" in styled


@pytest.mark.parametrize("kind", KINDS)
def test_as_a_table(kind: str) -> None:
    df = TABLE.to_table(kind)
    assert names_of(df) == [
        "method", "smoothed",
        "accuracy", "accuracy_low", "accuracy_high", "log_loss", "log_loss_low", "log_loss_high",
        "switches", "switches_low", "switches_high", "delay", "delay_low", "delay_high",
    ]  # fmt: skip
    assert isinstance(df, KINDS[kind] if kind != "pyarrow" else type(KINDS[kind]({"a": [1]})))
    assert column(df, "method") == ["Raw", "Tuned", "Mine", "Back", "Far back"]
    assert column(df, "smoothed") == [0, 0, 0, 1, 1]
    assert column(df, "accuracy_low") == [0.49, 0.865, 0.865, 0.79, 0.65]
    assert column(df, "log_loss_high") == [1.01, 0.26, 0.51, 0.135, 0.1625]


# --- probabilities of other methods ---------------------------------------------------------


def part(rec: Rows, rows: slice) -> Rows:
    assert rec.label is not None
    return cf.rows(
        time=rec.time[rows],
        source=rec.source_names[rows],
        probs=rec.probs[rows],
        classes=rec.classes,
        label=rec.label[rows],
    )


def test_one_recording_is_cut_in_two() -> None:
    rec = clean(3, 2.0)
    got = compare(rec, "strong", extra={"Mine": perfect}, seed=1)
    assert (got.streams, got.steps) == (1, 1440)
    assert "\n1 stream, 1440 steps;" in str(got)
    strong = np.flatnonzero(rec.of_source("strong"))
    middle = int(strong[len(strong) // 2])
    both = [part(rec, slice(0, middle)), part(rec, slice(middle, None))]
    again = compare(both, "strong", extra={"Mine": perfect}, seed=1)
    assert got.rows == again.rows
    assert values(got, "Raw") == pytest.approx(by_hand(both, list(map(raw, both))), rel=1e-9)
    assert measures(got, "Mine")["accuracy"].value == 1.0


@pytest.mark.parametrize("place", [2, pytest.param(0, marks=pytest.mark.slow)])
def test_one_of_several_recordings_has_the_reference(place: int) -> None:
    """The others may have its times; they are not measured."""
    rec = clean(3, 2.0)
    weak = [changed(clean(seed, 2.0), source="weak") for seed in (4, 5)]
    recs = [*weak[:place], rec, *weak[place:]]
    got = compare(recs, "strong", extra={"Mine": perfect})
    assert measures(got, "Mine")["accuracy"].value == 1.0
    assert (got.streams, got.steps) == (1, 1440)


def test_probabilities_may_be_lists_and_of_smoothers() -> None:
    recs = [clean(0), clean(1)]
    got = compare(recs, "strong", extra={"Mine, smoothed": lambda rec: perfect(rec).tolist()})
    assert got.rows[-1].name == "Mine, smoothed"
    assert got.best("accuracy", smoothed=True) == "Mine, smoothed"
    assert got.best("accuracy") != "Mine, smoothed"


# --- what must not matter, and errors -------------------------------------------------------


@pytest.mark.slow
def test_the_seed() -> None:
    recs = [part(clean(seed), slice(0, 180)) for seed in range(6)]
    first, again, other = (compare(recs, "strong", seed=seed) for seed in (1, 1, 2))
    assert first == again
    for name in [row.name for row in first.rows]:
        assert values(first, name) == values(other, name)
    assert first != other


def test_progress() -> None:
    shares: list[float] = []
    compare([clean(0), clean(1)], "strong", progress=shares.append)
    assert shares == sorted(set(shares))
    assert 0 < shares[0] < 0.1
    assert shares[-1] == 1.0


def test_one_source() -> None:
    recs = [changed(clean(seed), source="weak") for seed in (0, 1)]
    got = compare(recs)
    assert got.reference == "weak"
    assert not any("channel" in row.name for row in got.rows)
    names = [row.name for row in got.rows]
    assert not {"Hold", "Multiple"} & set(names)  # no source is better than another
    assert {"Raw", "Ema", "Single", "Tuned", "Tuned, smoothed"} <= set(names)
    rows = [tuple(row.measures.values()) for row in got.rows]
    assert len({str(row) for row in rows}) == len(rows)


def test_a_narrow_table_leaves_out_intervals_and_then_measures() -> None:
    wide = str(TABLE).partition("\n\n")[0]
    assert max(map(len, wide.splitlines())) == 60
    assert TABLE.text(width=61).startswith(wide)
    narrow = TABLE.text(width=60)
    assert "±" not in narrow
    assert "log-loss" in narrow
    for width in (45, 40, 33):
        assert max(map(len, TABLE.text(width=width).splitlines())) <= width
    assert "log-loss" not in TABLE.text(width=40)
    assert "log-loss" not in TABLE.text(width=33)
    assert all(f" {title}" in TABLE.text(width=1) for title in ("accuracy", "switches"))


def test_the_text_has_eight_columns_at_most() -> None:
    keys = ("accuracy", "macro_f1", "log_loss", "calibration_error", "brier", "switches", "delay")
    measures = {key: Measure(0.5, NAN, NAN) for key in (*keys, "events", "event_f1")}
    text = comparison(Row("Raw", False, measures)).text(width=500)
    assert "Brier" not in text
    assert "calibration" not in text
    assert len(text.splitlines()[3].split()) == 8


def test_few_predictions_give_a_warning() -> None:
    recs = [part(clean(seed), slice(0, 20 * 12)) for seed in (0, 1)]
    with pytest.warns(UserWarning, match="tuning needs"):
        got = compare(recs, "strong")
    assert values(got, "Raw") == pytest.approx(by_hand(recs, list(map(raw, recs))), rel=1e-9)
