"""Configuration files: settings are restored to the bit, and the files are plain TOML."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import classfilter as cf
from classfilter.pipeline.toml import KINDS
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
    cf.Chain.of(f, beta=beta).save(path)
    restored = cf.load(path)
    assert same(restored.filter(), f)
    assert restored.beta == (beta or 1.0)
    assert restored.sources == list(beta)
    rows = np.random.default_rng(0).dirichlet(np.ones(len(f.classes)), 5)
    assert restored.filter().run(rows, 0.5).tobytes() == f.run(rows, 0.5).tobytes()


def test_every_option_is_written(tmp_path: Path) -> None:
    path = tmp_path / "walk.toml"
    cf.Chain.of(
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
    cf.Chain(f).save(tmp_path / "walk.toml")
    assert same(cf.load(tmp_path / "walk.toml").filter(), f)


def test_settings_are_saved_and_the_state_is_not(tmp_path: Path) -> None:
    f = cf.DirichletFilter(["walk", "sit"], prior=[2.0, 1.0])
    f.run([[0.0, 1.0]] * 9)
    before = f.alpha
    cf.Chain(f).save(tmp_path / "walk.toml")
    assert cf.load(tmp_path / "walk.toml").filter().state.alpha.tolist() == [2.0, 1.0]
    assert f.alpha.tobytes() == before.tobytes()


def test_written_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "walk.toml"
    text = VALID + '# six\r\n[options]\nhalf_life = 6\ndtype = "float32"\n[beta]\nweak = 1\n'
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())  # a byte order mark, as some editors write
    restored = cf.load(str(path))
    f = cf.DirichletFilter(["walk", "sit"], half_life=6, dtype="float32")
    assert same(restored.filter(), f)
    assert restored.beta == {"weak": 1.0}
    path.write_text(VALID)
    restored = cf.load(path)
    assert same(restored.filter(), cf.DirichletFilter(["walk", "sit"]))
    assert restored.beta == 1.0
    path.write_text(VALID + "beta = 0.5")
    assert cf.load(path).beta == 0.5


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('filter = "dirichlet"', 'classes is missing; give their names: classes = \\["walk"'),
        ('classes = "walk"\nfilter = "dirichlet"', "classes is 'walk'; it must be a list of text"),
        ("classes = [1.5, 2]", r"classes is \[1\.5, 2\]; .* text or whole numbers"),
        ("classes = [true, false]", r"classes is \[True, False\]"),
        ('classes = []\nfilter = "dirichlet"', "at least two are needed"),
        ('classes = ["a", "a"]\nfilter = "dirichlet"', "'a' more than once"),
        ('classes = ["a", "b"]', "filter is None; it must be one of dirichlet"),
        ('classes = ["a", "b"]\nfilter = "kalman"', "filter is 'kalman'; it must be one of"),
        ('classes = ["a", "b"]\nfilter = ["a"]', r"filter is \['a'\]; it must be one of"),
        (VALID + "gama = 0.9", r"unknown key gama; there are classes, scores, filter, \[options\]"),
        (VALID + "options = 3", r"options is 3; it must be a section, \[options\]"),
        (VALID + "beta = true", r"beta is True; it must be a section, \[beta\]"),
        (VALID + "beta = 1.5", r"beta is 1\.5; it must be a number in \[0, 1\]"),
        (VALID + "[options]\ngama = 0.9", "unknown option gama; dirichlet has gamma, half_life"),
        (VALID + '[options]\nclasses = "a"', "unknown option classes; dirichlet has gamma"),
        (VALID + '[options]\ngamma = "0.9"', "option gamma is '0.9'; .* number, without quotes"),
        (VALID + "[options]\ngamma = true", "option gamma is True; it must be a number"),
        (VALID + "[options]\ngamma = [0.9]", "gamma|float"),
        (VALID + "[options]\ngamma = 1.5", r"gamma is 1.5; it must lie in \[0, 1\]"),
        (VALID + "[options]\nestimate = 1", 'option estimate is 1; it must be text, in "quotes"'),
        (VALID + '[options]\nestimate = "median"', "estimate is 'median'; it must be"),
        (VALID + '[options]\ndtype = "floaty"', "floaty"),
        (VALID + '[options]\nprior = [1.0, "1.0"]', r"option prior is \[1\.0, '1\.0'\]; .* number"),
        (VALID + "[options]\nprior = [1.0]", "prior has shape"),
        (VALID + "[beta]\nweak = 1.5", r"beta\.weak is 1\.5; it must be a number in \[0, 1\]"),
        (VALID + '[beta]\nweak = "1"', r"beta\.weak is '1'"),
        (VALID + "[beta]\nweak = true", r"beta\.weak is True"),
        ("classes = [", "Invalid|Unexpected|Unclosed"),
        ("classes = " + "[" * 3000 + "]" * 3000, "its lists are nested too deeply"),
        (VALID + f"[options]\nprior = {'[' * 90}1{']' * 90}", r"option prior is \[\[\[.*a number"),
        (
            VALID + "[options]\nprior = [[1, 2], [3]]",
            "option prior is .* be equally long",
        ),
        (VALID + "[options]\nprior = [1, [2]]", "option prior is .* be equally long"),
        (VALID + f"[options]\ngamma = {'9' * 400}", "a number in it is too large"),
    ],
)
def test_errors_name_the_file_the_key_and_the_remedy(
    text: str, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "walk.toml"
    path.write_text(text)
    with pytest.raises(ValueError, match=rf"walk\.toml: .*({message})"):
        cf.load(path)


def test_a_file_that_is_not_text(tmp_path: Path) -> None:
    path = tmp_path / "walk.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match=r"walk\.toml: .*utf-8"):
        cf.load(path)
    with pytest.raises(FileNotFoundError, match=r"nowhere\.toml"):
        cf.load(tmp_path / "nowhere.toml")


@pytest.mark.parametrize(
    ("f", "beta", "error", "message"),
    [
        (cf.DirichletFilter([("a",), "b"]), None, ValueError, r"classes has \['a'\]; only text"),
        (cf.DirichletFilter([True, False]), None, ValueError, "classes has True; only text"),
        (cf.DirichletFilter([1.5, 2]), None, ValueError, r"classes has 1\.5"),
        (cf.DirichletFilter(2), {"weak": 2}, ValueError, r"beta\['weak'\] is 2; .* in \[0, 1\]"),
        (cf.DirichletFilter(["\ud800", "b"]), None, ValueError, "surrogates"),
        (object(), None, TypeError, "filter is <object .*; give a filter, or a chain"),
    ],
)
def test_what_cannot_be_saved(
    f: Any, beta: Any, error: type[Exception], message: str, tmp_path: Path
) -> None:
    path = tmp_path / "walk.toml"
    path.write_text("old")
    with pytest.raises(error, match=message):
        cf.Chain.of(f, beta=beta).save(path)
    assert path.read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 1


def test_another_kind_needs_a_name_and_an_entry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class SlowFilter(cf.DirichletFilter):
        pass

    Slow: Any = SlowFilter
    with pytest.raises(TypeError, match="a SlowFilter cannot be saved"):
        cf.Chain(Slow(2)).save(tmp_path / "walk.toml")
    monkeypatch.setattr(Slow, "_kind", "slow")
    monkeypatch.setitem(KINDS, "slow", SlowFilter)
    cf.Chain(Slow(2, 0.5)).save(tmp_path / "walk.toml")
    assert same(cf.load(tmp_path / "walk.toml").filter(), Slow(2, 0.5))


def test_numpy_numbers_as_classes(tmp_path: Path) -> None:
    classes: Any = np.arange(3)
    cf.Chain(cf.DirichletFilter(classes)).save(tmp_path / "walk.toml")
    assert cf.load(tmp_path / "walk.toml").classes == (0, 1, 2)
