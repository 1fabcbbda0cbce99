"""The examples in the docstrings of public classes.

pytest looks for a docstring's examples in the module that its class names; public classes name the
package, so they are run here.
"""

from __future__ import annotations

import doctest

import pytest

import classfilter as cf

CLASSES = {name: getattr(cf, name) for name in cf.__all__ if isinstance(getattr(cf, name), type)}
CLASSES["FilteredClassifier"] = cf.sklearn.FilteredClassifier


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_examples(name: str) -> None:
    names = {n: getattr(cf, n) for n in cf.__all__}
    runner = doctest.DocTestRunner()
    for test in doctest.DocTestFinder(exclude_empty=True).find(CLASSES[name], name, globs=names):
        runner.run(test)
    assert runner.failures == 0


def test_examples_are_found() -> None:
    finder = doctest.DocTestFinder()
    with_examples = [
        name
        for name, cls in CLASSES.items()
        if any(test.examples for test in finder.find(cls, name))
    ]
    assert len(with_examples) >= 12
