"""Files of settings: they are restored to the bit, and only a whole file loads."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import classfilter as cf
from config_cases import VALID, WEIGHTS, filters
from saved_files import file_of, loaded


def same(a: Any, b: Any) -> bool:
    """Whether two filters have the same classes and settings, to the bit and the type."""
    if type(a) is not type(b) or a.classes != b.classes:
        return False
    if [type(name) for name in a.classes] != [type(name) for name in b.classes]:
        return False
    for key, value in a._options.items():
        x, y = np.asarray(value), np.asarray(b._options[key])
        if x.tobytes() != y.tobytes() if x.dtype.kind == "f" else value != b._options[key]:
            return False
    return True


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(f=filters(), beta=WEIGHTS)
def test_round_trip(f: cf.DirichletFilter, beta: dict[str, float], tmp_path: Path) -> None:
    path = tmp_path / "walk.json"
    cf.Pipeline.of(f, beta=beta).save(path)
    restored = cf.load(path)
    assert same(restored.filter, f)
    assert restored.beta == (beta or 1.0)
    assert restored.sources == list(beta)
    rows = np.random.default_rng(0).dirichlet(np.ones(len(f.classes)), 5)
    assert restored.filter.run(rows, 0.5).tobytes() == f.run(rows, 0.5).tobytes()


def test_every_option_is_written(tmp_path: Path) -> None:
    path = tmp_path / "walk.json"
    cf.Pipeline.of(
        cf.DirichletFilter(
            [3, "sit still"],
            half_life=1.0,
            estimate="mean",
            floor=1e-9,
            anchor=2,
            prior=[1.0, 0.1],
            prior_weight=np.float64(3.0),
            max_concentration=400,
            bounded=False,
            dtype="float32",
        ),
        beta={"weak": 0.1, "über strong": 1},
    ).save(path)
    assert path.read_text(encoding="utf-8").splitlines() == [
        "{",
        ' "classes": [3, "sit still"],',
        ' "filter": "dirichlet",',
        ' "options": {',
        '  "gamma": 0.5,',
        '  "estimate": "mean",',
        '  "floor": 1e-09,',
        '  "anchor": 2,',
        '  "prior": [1.0, 0.10000000149011612],',
        '  "prior_weight": 3.0,',
        '  "max_concentration": 400,',
        '  "tolerance": 0.0,',
        '  "bounded": false,',
        '  "temperature": 1.0,',
        '  "dtype": "float32"',
        " },",
        ' "beta": {',
        '  "weak": 0.1,',
        '  "über strong": 1.0',
        " }",
        "}",
    ]


TURNING = [[0.9, 0.1], [0.3, 0.7]]
WHOLE = [
    cf.Pipeline(
        cf.StickyFilter(["a", "ü"], transitions=TURNING),
        beta={"weak": 0.1, "strong": 1.0},
        channel={"weak": cf.Channel([[3, 1], [1, 1]])},
        policy=cf.policy.Adaptive(0.1),
        rule=cf.EventRule({"a": 1.0, "ü": 2.5}, ignore="a"),
        smoother=cf.Pipeline(cf.DirichletFilter(["a", "ü"]), rule=cf.EventRule("1min")),
    ),
    cf.Pipeline(
        cf.MultiLabelFilter(
            ["a", "b"], {"a": cf.StickyFilter(2, transitions=TURNING), "b": cf.DirichletFilter(2)}
        )
    ),
]


@pytest.mark.parametrize("pipe", WHOLE)
def test_a_file_that_is_cut_off_does_not_load(pipe: cf.Pipeline, tmp_path: Path) -> None:
    path = tmp_path / "walk.json"
    pipe.save(path)
    content = path.read_bytes()
    assert cf.load(path).content == pipe.content
    for size in range(len(content)):
        path.write_bytes(content[:size])
        with pytest.raises(ValueError, match=r"walk\.json: "):
            cf.load(path)


@pytest.mark.parametrize("pipe", WHOLE)
def test_every_key_that_is_there_twice_or_unknown_is_named(pipe: cf.Pipeline) -> None:
    """Each object of a file, with one more key."""
    text = file_of(pipe)
    places = [match.end() for match in re.finditer(r"\{", text)]
    assert len(places) > 5
    for at in places:
        first = json.JSONDecoder().raw_decode(text[at:].lstrip())[0]
        several_sources = text[:at].endswith('"beta": {')
        for key in [first] if several_sources else [first, "no such key"]:
            with pytest.raises(ValueError, match=re.escape(key)):
                loaded(f"{text[:at]}{json.dumps(key)}: 0.5, {text[at:]}")


def test_options_that_need_each_other(tmp_path: Path) -> None:
    prior = [2.0 * cf.DirichletFilter(2).max_concentration, 1.0]
    f = cf.DirichletFilter(2, prior=prior, max_concentration=2 * prior[0])
    cf.Pipeline(f).save(tmp_path / "walk.json")
    assert same(cf.load(tmp_path / "walk.json").filter, f)


def test_settings_are_saved_and_the_state_is_not(tmp_path: Path) -> None:
    f = cf.DirichletFilter(["walk", "sit"], prior=[2.0, 1.0])
    f.run([[0.0, 1.0]] * 9)
    before = f.alpha
    cf.Pipeline(f).save(tmp_path / "walk.json")
    assert cf.load(tmp_path / "walk.json").filter.state.alpha.tolist() == [2.0, 1.0]
    assert f.alpha.tobytes() == before.tobytes()


def test_written_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "walk.json"
    content = VALID | {"options": {"half_life": 6, "dtype": "float32"}, "beta": {"weak": 1}}
    path.write_bytes(
        b"\xef\xbb\xbf" + json.dumps(content, indent=4).encode()
    )  # a byte order mark, as some editors write
    restored = cf.load(str(path))
    f = cf.DirichletFilter(["walk", "sit"], half_life=6, dtype="float32")
    assert same(restored.filter, f)
    assert restored.beta == {"weak": 1.0}
    path.write_text(json.dumps(VALID))
    restored = cf.load(path)
    assert same(restored.filter, cf.DirichletFilter(["walk", "sit"]))
    assert restored.beta == 1.0
    path.write_text(json.dumps(VALID | {"beta": 0.5}))
    assert cf.load(path).beta == 0.5


def test_numpy_numbers_as_classes(tmp_path: Path) -> None:
    classes: Any = np.arange(3)
    cf.Pipeline(cf.DirichletFilter(classes)).save(tmp_path / "walk.json")
    assert cf.load(tmp_path / "walk.json").classes == (0, 1, 2)


def test_periodic_policies_leave_out_what_is_not_set() -> None:
    text = file_of(cf.Pipeline(cf.StickyFilter(2), policy=cf.policy.Periodic(seconds=60.0)))
    policy = {"kind": "periodic", "seconds": 60.0, "strong": "strong", "weak": "weak"}
    assert json.loads(text)["policy"] == policy


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_rates_have_the_transitions(dtype: str) -> None:
    matrix = [[0.9, 0.08, 0.02], [0.05, 0.9, 0.05], [0.1, 0.1, 0.8]]
    filter_ = cf.StickyFilter(3, transitions=matrix, interval=2.0, dtype=dtype)
    prepared = json.loads(file_of(cf.Pipeline(filter_)))["prepared"]
    series = term = np.eye(3)
    for n in range(1, 30):
        term = term @ np.array(prepared["rates"]) * 2.0 / n
        series = series + term
    assert np.abs(series - matrix).max() < (1e-6 if dtype == "float32" else 1e-12)
    assert ("modes" in prepared) == (dtype == "float64")


def test_rates_of_other_transitions_are_rejected() -> None:
    text = file_of(cf.Pipeline(cf.StickyFilter(2, transitions=[[0.9, 0.1], [0.2, 0.8]])))
    loaded(text)
    with pytest.raises(ValueError, match="prepared"):
        loaded(text.replace("0.8", "0.85").replace("0.2", "0.15"))
