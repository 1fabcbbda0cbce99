"""kill -9 of the driver and of workers: after a restart nothing is lost, nothing comes twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import classfilter as cf
import live_query
from fleet_frames import (
    BETA,
    CHANNEL,
    CLASSES,
    ORDER,
    assert_same_bits,
    by_row,
    expected,
    fleet,
    split,
    write_parts,
)

KILLED_AT = [
    "checkpoint/offsets/1",  # a micro-batch is planned
    "checkpoint/state/0/*/3.*",  # its states are written
    "out/_spark_metadata/4",  # its results are written, but it is not done
    "checkpoint/commits/5",  # it is done
]
"""Files at whose appearance the driver is killed; wherever it is by then, all must be well."""


def start(folder: Path, what: str, master: str = "local[2]") -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, live_query.__file__, str(folder), master, what],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def kill_driver_at(folder: Path, what: str, pattern: str) -> None:
    driver = start(folder, what)
    while not list(folder.glob(pattern)):
        assert driver.poll() is None, f"the query ended before {pattern}"
        time.sleep(0.01)
    os.killpg(driver.pid, signal.SIGKILL)
    assert driver.wait() == -signal.SIGKILL


def kill_drivers_and_workers(folder: Path, what: str, points: list[str]) -> None:
    """Run a query to its end, with drivers and workers that are killed on the way."""
    for pattern in points:
        kill_driver_at(folder, what, pattern)
    (folder / "die").touch()
    assert start(folder, what).wait() > 0  # the query fails with its worker
    assert not (folder / "die").exists()
    assert not (folder / "checkpoint/commits/7").exists()
    (folder / "die").touch()
    assert start(folder, what, "local[2,3]").wait() == 0  # another worker takes over
    assert not (folder / "die").exists()


def test_killed_drivers_and_workers(spark: Any, tmp_path: Path) -> None:
    df = fleet(40, 800)
    write_parts(split(df, 8), tmp_path / "in")
    kill_drivers_and_workers(tmp_path, "rows", KILLED_AT)
    out = by_row(spark.read.parquet(str(tmp_path / "out")))
    assert out["status"].to_list() == ["ok"] * len(df)
    wanted = expected(df, cf.EmaFilter(CLASSES, live_query.GAMMA))
    assert_same_bits(out.drop("status", "error"), wanted)


@pytest.mark.slow
def test_no_event_is_lost_and_none_comes_twice(spark: Any, tmp_path: Path) -> None:
    df = fleet(10, 600).unique(["stream", "time"], keep="first").sort("row")
    # Rows of another stream that let the watermark pass the end of all others.
    clock = df[:1].with_columns(stream=pl.lit("clock"))
    after = [df["time"].to_numpy().max() + live_query.EXPIRE_AFTER + at for at in (100.0, 200.0)]
    later = [clock.with_columns(time=pl.lit(at)) for at in after]
    write_parts([*split(df, 6), *later], tmp_path / "in")
    kill_drivers_and_workers(tmp_path, "events", KILLED_AT[1:3])
    out = pl.DataFrame(spark.read.parquet(str(tmp_path / "out")).toArrow())
    assert out["status"].unique().to_list() == ["ok"]
    found = out.filter(pl.col("stream") != "clock").drop("status", "error")
    f = cf.EmaFilter(CLASSES, live_query.GAMMA)
    options: dict[str, Any] = {"beta": BETA, "channel": CHANNEL}
    wanted = cf.events(df.sort(ORDER), f, live_query.RULE, **options)
    order = ["stream", "start", "class"]
    assert len(wanted) > 50
    assert_same_bits(found.sort(order), wanted.sort(order))
