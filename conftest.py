"""Two suites: a quick one for everybody; --rest is what it leaves out, --all is both."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from covering import covering

ROOT = Path(__file__).parent
HEAVY = (
    "tests/experiments",
    "tests/examples",
    "tests/emulated",
    "tests/js",
    "tests/spark",
    "src/classfilter/spark/processor.py",
    "docs/fleet.md",
    "docs/tuning.md",
    "docs/errata.md",
    "docs/numerics.md",
    "docs/fields",
    "experiments",
    "examples",
)
"""What needs PyTorch, ONNX, cross compilers, Node, emulators, Spark or the packages of a field, and
pages that take long."""

# Before NumPy is imported: on small matrices, more threads only wait for each other, at full load.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# No test may depend on the clock: machines are slow, shared and noisy. In CI, where the variable is
# set, none depends on chance either; elsewhere, each run draws other examples.
HOW: Any = {"deadline": None, "derandomize": "CI" in os.environ}
hypothesis.settings.register_profile("quick", max_examples=8, **HOW)
hypothesis.settings.register_profile("thorough", max_examples=100, **HOW)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all", action="store_true", help="run the slow and heavy tests too")
    parser.addoption(
        "--rest",
        action="store_true",
        help="run what the quick suite leaves out, and property tests with more examples",
    )
    parser.addoption(
        "--installed", action="store_true", help="the package must be an installed one"
    )


def pytest_configure(config: pytest.Config) -> None:
    hypothesis.settings.load_profile("thorough" if _thorough(config) else "quick")
    if config.getoption("--installed"):
        import classfilter

        if Path(classfilter.__file__).is_relative_to(ROOT):
            raise pytest.UsageError(f"{classfilter.__file__} is not an installed package")
    config.addinivalue_line("markers", "slow: seconds for one more proof; run with --all or --rest")
    config.addinivalue_line(
        "markers",
        "covering(strength): a grid of cases; the quick suite runs only so many that each value "
        "of each parameter is there (1), or each pair of values (2)",
    )


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    if collection_path == ROOT / "src/classfilter/__init__.py":
        return True  # its classes' examples are in tests/test_docstrings.py
    return True if _heavy(collection_path) and not _thorough(config) else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--all"):
        return
    quick = _quick(items)
    chosen = quick
    if config.getoption("--rest"):
        chosen = {item for item in items if item not in quick or _has_more_examples(item)}
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = [item for item in items if item in chosen]


def pytest_report_header(config: pytest.Config) -> str:
    if config.getoption("--all"):
        return "all tests"
    if config.getoption("--rest"):
        return "left out: what make test runs"
    return (
        "left out: slow tests, most cases of grids, experiments, examples, Spark: "
        "see make test-rest"
    )


def _thorough(config: pytest.Config) -> bool:
    return bool(config.getoption("--all") or config.getoption("--rest"))


@cache
def _heavy(path: Path) -> bool:
    return any(path.is_relative_to(ROOT / folder) for folder in HEAVY)


def _has_more_examples(item: pytest.Item) -> bool:
    return getattr(getattr(item, "obj", None), "is_hypothesis_test", False)


def _quick(items: list[pytest.Item]) -> set[pytest.Item]:
    quick = [i for i in items if not (i.get_closest_marker("slow") or _heavy(i.path))]
    grids: dict[tuple[object, str], list[pytest.Function]] = {}
    for item in quick:
        if isinstance(item, pytest.Function) and item.get_closest_marker("covering"):
            grids.setdefault((item.parent, item.originalname), []).append(item)
    left_out: set[pytest.Item] = set()
    for cases in grids.values():
        marker = cases[0].get_closest_marker("covering")
        values = [{name: id(v) for name, v in case.callspec.params.items()} for case in cases]
        kept = covering(values, *marker.args)
        left_out.update(case for i, case in enumerate(cases) if i not in kept)
    return set(quick) - left_out
