"""Configuration files: settings are restored to the bit, and the files are plain TOML."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings

import classfilter as cf
from config_cases import VALID, WEIGHTS, filters


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
    path = tmp_path / "walk.toml"
    cf.Pipeline.of(f, beta=beta).save(path)
    restored = cf.load(path)
    assert same(restored.filter, f)
    assert restored.beta == (beta or 1.0)
    assert restored.sources == list(beta)
    rows = np.random.default_rng(0).dirichlet(np.ones(len(f.classes)), 5)
    assert restored.filter.run(rows, 0.5).tobytes() == f.run(rows, 0.5).tobytes()


def test_every_option_is_written(tmp_path: Path) -> None:
    path = tmp_path / "walk.toml"
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
        'classes = [3, "sit still"]',
        'filter = "dirichlet"',
        "",
        "[options]",
        "gamma = 0.5",
        'estimate = "mean"',
        "floor = 1e-09",
        "anchor = 2",
        "prior = [1.0, 0.10000000149011612]",
        "prior_weight = 3.0",
        "max_concentration = 400",
        "tolerance = 0.0",
        "bounded = false",
        "temperature = 1.0",
        'dtype = "float32"',
        "",
        "[beta]",
        "weak = 0.1",
        '"über strong" = 1.0',
    ]


def test_options_that_need_each_other(tmp_path: Path) -> None:
    prior = [2.0 * cf.DirichletFilter(2).max_concentration, 1.0]
    f = cf.DirichletFilter(2, prior=prior, max_concentration=2 * prior[0])
    cf.Pipeline(f).save(tmp_path / "walk.toml")
    assert same(cf.load(tmp_path / "walk.toml").filter, f)


def test_settings_are_saved_and_the_state_is_not(tmp_path: Path) -> None:
    f = cf.DirichletFilter(["walk", "sit"], prior=[2.0, 1.0])
    f.run([[0.0, 1.0]] * 9)
    before = f.alpha
    cf.Pipeline(f).save(tmp_path / "walk.toml")
    assert cf.load(tmp_path / "walk.toml").filter.state.alpha.tolist() == [2.0, 1.0]
    assert f.alpha.tobytes() == before.tobytes()


def test_written_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "walk.toml"
    text = VALID + '# six\r\n[options]\nhalf_life = 6\ndtype = "float32"\n[beta]\nweak = 1\n'
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())  # a byte order mark, as some editors write
    restored = cf.load(str(path))
    f = cf.DirichletFilter(["walk", "sit"], half_life=6, dtype="float32")
    assert same(restored.filter, f)
    assert restored.beta == {"weak": 1.0}
    path.write_text(VALID)
    restored = cf.load(path)
    assert same(restored.filter, cf.DirichletFilter(["walk", "sit"]))
    assert restored.beta == 1.0
    path.write_text(VALID + "beta = 0.5")
    assert cf.load(path).beta == 0.5


def test_numpy_numbers_as_classes(tmp_path: Path) -> None:
    classes: Any = np.arange(3)
    cf.Pipeline(cf.DirichletFilter(classes)).save(tmp_path / "walk.toml")
    assert cf.load(tmp_path / "walk.toml").classes == (0, 1, 2)
