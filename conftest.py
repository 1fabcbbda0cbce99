"""Two suites: a quick one for everybody; with --all the slow, emulated and trained tests too."""

from __future__ import annotations

from pathlib import Path

import hypothesis
import pytest

ROOT = Path(__file__).parent
HEAVY = (
    "tests/experiments",
    "tests/examples",
    "tests/emulated",
    "tests/js",
    "tests/spark",
    "src/classfilter/spark/_processor.py",
    "docs/fleet.md",
    "experiments",
    "examples",
)
"""What needs PyTorch, ONNX, cross compilers, Node, emulators or Spark."""

# No test may depend on the clock: machines are slow, shared and noisy.
hypothesis.settings.register_profile("quick", deadline=None, max_examples=25)
hypothesis.settings.register_profile("thorough", deadline=None, max_examples=100)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all", action="store_true", help="run the slow and heavy tests too")
    parser.addoption(
        "--installed", action="store_true", help="the package must be an installed one"
    )


def pytest_configure(config: pytest.Config) -> None:
    hypothesis.settings.load_profile("thorough" if config.getoption("--all") else "quick")
    if config.getoption("--installed"):
        import classfilter

        if Path(classfilter.__file__).is_relative_to(ROOT):
            raise pytest.UsageError(f"{classfilter.__file__} is not an installed package")
    config.addinivalue_line("markers", "slow: seconds for one more proof; run with --all")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    if collection_path == ROOT / "src/classfilter/__init__.py":
        return True  # its classes' examples are in tests/test_docstrings.py
    heavy = any(collection_path.is_relative_to(ROOT / folder) for folder in HEAVY)
    return True if heavy and not config.getoption("--all") else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--all"):
        return
    items[:] = [item for item in items if not item.get_closest_marker("slow")]


def pytest_report_header(config: pytest.Config) -> str:
    if config.getoption("--all"):
        return "all tests"
    return "left out: slow tests, experiments, examples, emulators, Spark; make test-all runs them"
