"""The examples in the docstrings of public classes.

pytest looks for a docstring's examples in the module that its class names; public classes name the
package, so they are run here.
"""

from __future__ import annotations

import doctest

import pytest

import classfilter as cf

CLASSES = sorted(name for name in cf.__all__ if isinstance(getattr(cf, name), type))


@pytest.mark.parametrize("name", CLASSES)
def test_examples(name: str) -> None:
    cls = getattr(cf, name)
    names = {n: getattr(cf, n) for n in cf.__all__}
    runner = doctest.DocTestRunner()
    for test in doctest.DocTestFinder(exclude_empty=True).find(cls, name, globs=names):
        runner.run(test)
    assert runner.failures == 0


def test_examples_are_found() -> None:
    finder = doctest.DocTestFinder()
    with_examples = [
        name
        for name in CLASSES
        if any(test.examples for test in finder.find(getattr(cf, name), name))
    ]
    assert len(with_examples) >= 12
