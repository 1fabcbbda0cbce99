"""The states of live streams: bytes, late and duplicate rows, expiry; without Spark's engine."""

from __future__ import annotations

import struct
from collections import defaultdict
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import classfilter as cf
from classfilter.engine import StreamRow, format_for, pack, unpack
from classfilter.spark.processor import RowProcessor
from classfilter.spark.schema import FrameFormat
from fleet_frames import BETA, CHANNEL, CLASSES, RESULTS, fleet
from micro_batches import Store, Watermark, checked_columns, run_batch

FILTERS: list[Any] = [
    cf.DirichletFilter(CLASSES, half_life=20.0),
    cf.DirichletFilter(CLASSES[::-1], half_life=20.0, estimate="mean", dtype=np.float32),
    cf.VoteFilter(CLASSES, 3),
]
DIGEST = b"settings"
CHECKED = checked_columns(fleet(1, 1))


class Query:
    """Micro-batches through a processor, with a watermark and timers, as Spark runs them."""

    def __init__(
        self,
        filter: Any,  # noqa: A002
        expire_after: float | None = None,
        beta: Any = BETA,
    ) -> None:
        table = format_for(filter)
        layout = table.layout(fleet(1, 1).columns)
        self.form = FrameFormat(
            table, layout, cf.Pipeline(filter, beta=beta, channel=CHANNEL), "quarantine"
        )
        self.expire_after, self.store, self.newest = expire_after, Store(), 0.0
        self.names = [*fleet(1, 1).columns, *RESULTS, "status", "error"]

    def run(self, df: pl.DataFrame, seed: int = 0) -> pl.DataFrame:
        """Run one micro-batch; its rows come in any order."""
        processor = RowProcessor(self.form, CHECKED, self.names, self.expire_after)
        watermark = Watermark(int(self.newest * 1000))
        results, ended = run_batch(processor, self.form, self.store, watermark, df, seed)
        assert not ended
        if self.expire_after is not None:
            self.newest = max(self.newest, float(np.max(df["time"].to_numpy())))
        kinds: dict[str, Any] = {**df.schema, **dict.fromkeys(RESULTS[:3], pl.Float64)}
        kinds |= dict.fromkeys([*RESULTS[3:], "status", "error"], pl.String)
        out = pl.DataFrame([tuple(row) for row in results], schema=kinds, orient="row")
        assert out["row"].sort().to_list() == df["row"].sort().to_list()
        return out


def pieces(ok: pl.DataFrame, expire_after: float | None) -> list[pl.DataFrame]:
    """The rows of each stream, cut where it was silent for too long."""
    cut = []
    for stream in ok.partition_by("stream"):
        dt = np.diff(stream["time"].to_numpy())
        ends = np.flatnonzero(dt > (np.inf if expire_after is None else expire_after)) + 1
        cut += [stream[i:j] for i, j in zip([0, *ends], [*ends, len(stream)], strict=True)]
    return cut


@pytest.mark.filterwarnings("ignore:the table has no prediction")
@given(
    filter=st.sampled_from(FILTERS),
    seed=st.integers(0, 2**32 - 1),
    expire_after=st.sampled_from([None, 1.0, 5.0]),
    sizes=st.lists(st.integers(1, 25), min_size=1, max_size=6),
    moved=st.lists(st.integers(0, 59), max_size=10),
)
def test_every_filtered_row_is_as_in_a_table(
    filter: Any,  # noqa: A002
    seed: int,
    expire_after: float | None,
    sizes: list[int],
    moved: list[int],
) -> None:
    """Micro-batches of any size; some rows come too late, some twice."""
    df = fleet(4, 60, seed)
    again = df[[row for row in moved if row % 2]].with_columns(pl.col("row") + 1000)
    late = [row for row in moved if not row % 2]
    df = pl.concat([df.filter(~pl.col("row").is_in(late)), again, df[sorted(set(late))]])
    query, out, start = Query(filter, expire_after), [], 0
    for size in [*sizes, len(df)]:
        if start < len(df):
            out.append(query.run(df[start : start + size], seed))
            start += size
    everything = pl.concat(out)
    ok = everything.filter(status="ok")
    assert len(ok) + len(everything.filter(pl.col("status") != "ok", pl.col("error").is_not_null(),
                                           pl.col("class").is_null())) == len(df)  # fmt: skip
    for piece in pieces(ok, expire_after):
        wanted = cf.filter_table(piece[df.columns], filter, beta=BETA, channel=CHANNEL)
        for name in RESULTS[:3]:
            assert piece[name].to_numpy().tobytes() == (
                wanted[name].cast(pl.Float64).to_numpy().tobytes()
            )
        assert piece["class"].to_list() == wanted["class"].to_list()
    # Late and duplicate rows, by hand: what each stream had before.
    last: dict[str, float] = {}
    had: dict[str, set[Any]] = defaultdict(set)
    for part in out:
        before = dict(last)
        for row in part.iter_rows(named=True):
            name, at = row["stream"], row["time"]
            cells = (at, row["source"], row["p_walk"], row["p_sit"], row["p_sleep"])
            if row["status"] == "ok":
                assert at >= last.get(name, -np.inf)
                assert cells not in had[name]
                last[name] = at
                had[name].add(cells)
            elif row["status"] == "duplicate":
                assert cells in had[name]
                assert at == last[name]
            elif "watermark" in row["error"]:
                assert expire_after is not None
            else:
                assert at < before[name]  # within a micro-batch, no row is late


def row(number: int, at: float, stream: str = "ann", walk: float = 0.5) -> dict[str, Any]:
    p = {"p_walk": walk, "p_sit": 0.9 - walk, "p_sleep": 0.1}
    return {"row": number, "time": at, "stream": stream, "source": "weak", **p}


def table(*rows: dict[str, Any]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), schema=fleet(1, 1).schema)


def statuses(out: pl.DataFrame) -> list[str]:
    return out.sort("row")["status"].to_list()


def test_late_and_duplicate_rows_change_nothing() -> None:
    query = Query(FILTERS[0])
    assert statuses(query.run(table(row(0, 5.0), row(1, 10.0)))) == ["ok", "ok"]
    before = dict(query.store.values)
    late, same = query.run(table(row(2, 7.0), row(3, 10.0))).sort("row").rows(named=True)
    assert late["error"] == "time 7.0 is before 10.0, that of the stream's last row"
    assert same["error"] == "the stream has the same prediction at time 10.0"
    assert (late["status"], same["status"]) == ("late", "duplicate")
    assert query.store.values == before
    other = row(4, 10.0, walk=0.25)  # at the same time, but not the same
    assert statuses(query.run(table(other, other | {"row": 5}))) in (
        ["ok", "duplicate"],
        ["duplicate", "ok"],
    )
    assert query.store.values != before
    assert statuses(query.run(table(row(6, 10.0)))) == ["duplicate"]  # the first of them


def test_invalid_rows_come_out_beside_the_others() -> None:
    wrong = row(1, 6.0) | {"p_walk": -1.0}
    nameless = row(2, 7.0) | {"stream": None}
    out = Query(FILTERS[0]).run(table(row(0, 5.0), wrong, nameless, row(3, 8.0))).sort("row")
    assert statuses(out) == ["ok", "invalid", "invalid", "ok"]
    assert "class 'walk', is -1.0" in out["error"][1]


def test_silent_streams_expire() -> None:
    query = Query(FILTERS[0], expire_after=60.0)
    query.run(table(row(0, 0.0), row(1, 10.0, "bob")))
    query.run(table(row(2, 50.0, "bob")))
    query.run(table(row(3, 61.0, "bob")))
    assert len(query.store.values) == 2
    query.run(table(row(4, 70.0, "bob")))  # now the watermark is 61
    assert set(query.store.values) == {("bob",)}
    assert query.store.timers == {(70_001, ("bob",))}
    query.run(table(row(5, 80.0, "bob")))
    assert query.store.timers == {(70_001, ("bob",))}  # later rows set no timer
    out = query.run(table(row(6, 20.0), row(7, 90.0, "bob"), row(8, 81.0)))
    assert statuses(out) == ["late", "ok", "ok"]
    assert "time 20.0 is before 80.0, the watermark" in out.sort("row")["error"][0]
    assert query.store.timers == {(150_001, ("bob",)), (141_001, ("ann",))}
    again = out.filter(pl.col("row") == 8)
    fresh = cf.filter_table(again[fleet(1, 1).columns], FILTERS[0], beta=BETA, channel=CHANNEL)
    assert again[RESULTS].equals(fresh[RESULTS])


def test_a_state_is_bytes_that_know_their_settings() -> None:
    state = StreamRow(1.5, (3, -7), np.array([1.0, 2.0, 0.1]))
    data = pack(state, DIGEST)
    assert data == struct.pack("<B8sdHqqddd", 1, DIGEST, 1.5, 2, 3, -7, 1.0, 2.0, 0.1)
    time, ties, numbers, later = unpack(data, DIGEST, np.zeros(3), "ann")
    assert (time, ties, numbers.tolist(), later) == (1.5, (3, -7), [1.0, 2.0, 0.1], b"")
    more = pack(state._replace(later=b"rule"), DIGEST)
    assert more == data + b"rule"
    assert unpack(more, DIGEST, np.zeros(3), "ann", later=True).later == b"rule"
    with pytest.raises(ValueError, match="is damaged: it has 59 bytes, not more than 59"):
        unpack(data, DIGEST, np.zeros(3), "ann", later=True)
    single = StreamRow(1.5, (), np.array([0.1, 0.2], np.float32))
    assert unpack(pack(single, DIGEST), DIGEST, single.numbers, "ann").numbers.dtype == np.float32
    many = StreamRow(0.0, tuple(range(10_000)), np.zeros(1))
    newest = unpack(pack(many, DIGEST), DIGEST, np.zeros(1), "ann").ties
    assert newest == many.ties[-len(newest) :]
    assert 100 < len(newest) < 10_000


def test_a_query_goes_on_with_the_same_settings_only() -> None:
    query, other = Query(FILTERS[0]), Query(FILTERS[0], beta=BETA | {"weak": 1.0})
    query.run(table(row(0, 0.0)))
    other.store = query.store
    with pytest.raises(ValueError, match=r"stream 'ann' was written with other settings .* beta"):
        other.run(table(row(1, 5.0)))


def test_a_label_counts_where_there_are_no_probabilities() -> None:
    """It tells rows apart, too: they are no duplicates."""
    form = Query(FILTERS[0]).form
    columns = [*fleet(1, 1).columns, "prediction", "confidence"]
    form = form._replace(layout=form.table.layout(columns))
    assert form.prediction == ["p_walk", "p_sit", "p_sleep", "prediction", "confidence"]
