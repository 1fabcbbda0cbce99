"""kill -9 of the driver and of workers: after a restart nothing is lost, nothing comes twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import classfilter as cf
import live_query
from fleet_frames import CLASSES, assert_same_bits, by_row, expected, fleet, split, write_parts

KILLED_AT = [
    "checkpoint/offsets/1",  # a micro-batch is planned
    "checkpoint/state/0/*/3.*",  # its states are written
    "out/_spark_metadata/4",  # its results are written, but it is not done
    "checkpoint/commits/5",  # it is done
]
"""Files at whose appearance the driver is killed; wherever it is by then, all must be well."""


def start(folder: Path, master: str = "local[2]") -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, live_query.__file__, str(folder), master],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def kill_driver_at(folder: Path, pattern: str) -> None:
    driver = start(folder)
    while not list(folder.glob(pattern)):
        assert driver.poll() is None, f"the query ended before {pattern}"
        time.sleep(0.01)
    os.killpg(driver.pid, signal.SIGKILL)
    assert driver.wait() == -signal.SIGKILL


def test_killed_drivers_and_workers(spark: Any, tmp_path: Path) -> None:
    df = fleet(40, 800)
    write_parts(split(df, 8), tmp_path / "in")
    for pattern in KILLED_AT:
        kill_driver_at(tmp_path, pattern)
    (tmp_path / "die").touch()
    assert start(tmp_path).wait() > 0  # the query fails with its worker
    assert not (tmp_path / "die").exists()
    assert not (tmp_path / "checkpoint/commits/7").exists()
    (tmp_path / "die").touch()
    assert start(tmp_path, "local[2,3]").wait() == 0  # another worker takes over
    assert not (tmp_path / "die").exists()
    out = by_row(spark.read.parquet(str(tmp_path / "out")))
    assert out["status"].to_list() == ["ok"] * len(df)
    wanted = expected(df, cf.EmaFilter(CLASSES, live_query.GAMMA))
    assert_same_bits(out.drop("status", "error"), wanted)
