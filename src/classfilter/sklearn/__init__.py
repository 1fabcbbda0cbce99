"""scikit-learn: a classifier whose predictions are filtered along their streams.

scikit-learn is imported when `FilteredClassifier` is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..support.imports import import_optional

if TYPE_CHECKING:
    from .classifier import FilteredClassifier

__all__ = ["FilteredClassifier"]


def __getattr__(name: str) -> Any:
    """Load the class and keep it."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import_optional("sklearn", extra="sklearn")
    from . import classifier

    value = globals()[name] = getattr(classifier, name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
