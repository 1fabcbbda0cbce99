"""Settings as JSON say what the TOML file says, and what Python prepared."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import numpy as np
import pytest

import classfilter as cf
from classfilter.embedded import to_json
from classfilter.policy import Adaptive, Periodic
from conftest import Run

CHAIN = [[0.9, 0.08, 0.02], [0.05, 0.9, 0.05], [0.1, 0.1, 0.8]]


def test_the_file_has_the_sections_of_toml(run: Run) -> None:
    filter_ = cf.DirichletFilter(["a", "ü", 'quote"'], 0.97, anchor=0.5, dtype="float32")
    channel = {"weak": cf.Channel([[8, 1, 1], [1, 7, 2], [2, 2, 6]], [0.2, 0.5, 0.3])}
    policy = Adaptive(budget=2.0, cost={"weak": 1.0, "strong": 40.0})
    beta = {"weak": 0.1, "strong": 1.0}
    cf.Pipeline.of(filter_, beta=beta, channel=channel, policy=policy).save("walk.toml")
    assert run("export", "walk.toml", "--json", "-o", "walk.json")[0] == 0
    written = json.loads(Path("walk.json").read_text())
    assert written == tomllib.loads(Path("walk.toml").read_text())


def test_periodic_policies_leave_out_what_is_not_set() -> None:
    text = to_json(cf.Pipeline(cf.StickyFilter(2), policy=Periodic(seconds=60.0)))
    policy = {"kind": "periodic", "seconds": 60.0, "strong": "strong", "weak": "weak"}
    assert json.loads(text)["policy"] == policy


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_rates_have_the_transitions(dtype: str) -> None:
    filter_ = cf.StickyFilter(3, transitions=CHAIN, interval=2.0, dtype=dtype)
    prepared = json.loads(to_json(cf.Pipeline(filter_)))["prepared"]
    series = term = np.eye(3)
    for n in range(1, 30):
        term = term @ np.array(prepared["rates"]) * 2.0 / n
        series = series + term
    assert np.abs(series - CHAIN).max() < (1e-6 if dtype == "float32" else 1e-12)
    assert ("modes" in prepared) == (dtype == "float64")
