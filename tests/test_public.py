"""The public names: complete, listed, typed, and with paths that stay."""

from __future__ import annotations

import ast
import pickle
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import classfilter as cf
from classfilter.filters import KINDS, baselines

PACKAGE = Path(cf.__file__).parent


def test_dir_lists_every_public_name() -> None:
    assert set(cf.__all__) <= set(dir(cf))
    code = "import classfilter as cf; print(sorted(set(cf.__all__) - set(dir(cf))))"
    fresh = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert fresh.stdout.strip() == "[]"


@pytest.mark.parametrize("name", ["", ".metrics", ".plot", ".policy", ".sklearn", ".spark"])
def test_completion_shows_public_names_only(name: str) -> None:
    module = import_module(f"classfilter{name}")
    assert dir(module) == sorted(module.__all__)
    own = {
        key
        for key, value in vars(module).items()
        if getattr(value, "__module__", "") == module.__name__
        and hasattr(value, "__qualname__")
        and not key.startswith("_")
    }
    assert own <= set(module.__all__)
    assert all(hasattr(module, key) for key in module.__all__)


def test_the_stub_has_the_same_names() -> None:
    stub = ast.parse((PACKAGE / "__init__.pyi").read_text())
    names = {
        alias.asname
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname
    }
    listed = next(ast.literal_eval(x.value) for x in stub.body if isinstance(x, ast.Assign))
    assert names == set(listed)
    assert sorted([*listed, *baselines.__all__]) == cf.__all__
    filters = {kind.__name__ for kind in KINDS.values()}
    assert filters < set(cf.__all__)
    assert {*vars(cf)["_HOME"], *vars(cf)["_MODULES"], "__version__"} == {*cf.__all__} - filters


@pytest.mark.parametrize("name", sorted(cf.__all__))
def test_a_class_names_its_public_path(name: str) -> None:
    value = getattr(cf, name)
    if isinstance(value, type):
        assert (value.__module__, value.__qualname__) == ("classfilter", name)


def test_importing_loads_nothing_but_the_version() -> None:
    code = (
        "import sys, classfilter; "
        "print([m for m in sys.modules if m.startswith('classfilter.')], 'numpy' in sys.modules)"
    )
    fresh = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert fresh.stdout.strip() == "['classfilter._version'] False"


def pickled() -> list[object]:
    rec = cf.rows(
        time=[0, 1], source="weak", probs=[[0.9, 0.1], [0.4, 0.6]], classes=["rest", "move"]
    )
    filters = [cf.DirichletFilter(2), cf.StickyFilter(2), cf.EmaFilter(2), cf.HoldFilter(2)]
    states = [f.state for f in filters]
    more = [rec, cf.Channel(np.eye(2) + 1), cf.policy.Adaptive(), cf.policy.Periodic()]
    pipe = cf.Pipeline(cf.DirichletFilter(2), beta={"weak": 0.1})
    return [*filters, *states, *more, pipe]


@pytest.mark.parametrize("value", pickled(), ids=lambda value: type(value).__name__)
def test_pickles_name_no_private_module(value: object) -> None:
    data = pickle.dumps(value, protocol=4)
    assert b"classfilter" in data
    assert b"._" not in data.replace(b"numpy._", b"").replace(b"numpy.core._", b"")
    assert type(pickle.loads(data)) is type(value)
