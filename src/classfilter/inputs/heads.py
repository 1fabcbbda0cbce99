"""Heads: what a row is about. Exclusive classes are one head, each of several labels is one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, compress, pairwise
from typing import Any, Self

import numpy as np

from ..errors import ArgumentError
from ..support.types import Array, Bools, Classes, Floats, Ints
from ..support.validation import Factorized, factorize, text_names


@dataclass(frozen=True)
class Heads:
    """The layout of rows: H heads, head h of K_h classes, and the C columns that people see.

    A *label* is a head of two classes, off and on, that shows one column, on. Any other head shows
    all of its classes.

    Parameters
    ----------
    names : tuple of str
        The heads.
    columns : tuple of tuples
        The names of the columns that each head shows.
    sizes : tuple of int
        K_h, the number of classes of each head.

    Attributes
    ----------
    shown : tuple
        The names of all columns, those of one head after the other.
    is_exclusive : bool
        Whether there is one head, which shows all of its classes.
    labels : list of int
        The heads that are labels.
    spans : list of slice
        The columns of each head.
    fewest : int
        The least number of columns: one label is enough, but not one class.
    results : list of str
        The columns of results: probabilities, the class of each head, and the labels that are on.

    Examples
    --------
    >>> heads = Heads(("robin", "activity"), (("robin",), ("walk", "sit", "run")), (2, 3))
    >>> heads.shown
    ('robin', 'walk', 'sit', 'run')
    >>> heads.stacked(np.array([0.25, 0.5, 0.4, 0.1])).tolist()
    [[0.75, 0.25, 0.0], [0.5, 0.4, 0.1]]
    """

    names: tuple[str, ...]
    columns: tuple[tuple[Any, ...], ...]
    sizes: tuple[int, ...]
    shown: tuple[Any, ...] = field(init=False, repr=False, compare=False)
    is_exclusive: bool = field(init=False, repr=False, compare=False)
    labels: list[int] = field(init=False, repr=False, compare=False)
    spans: list[slice] = field(init=False, repr=False, compare=False)
    fewest: int = field(init=False, repr=False, compare=False)
    results: list[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        shown = tuple(name for columns in self.columns for name in columns)
        ends = list(accumulate(map(len, self.columns), initial=0))
        is_exclusive = len(self.names) == 1 and len(shown) == self.sizes[0]
        labels = [h for h, columns in enumerate(self.columns) if len(columns) < self.sizes[h]]
        decisions = [name for h, name in enumerate(self.names) if h not in labels]
        vars(self).update(
            shown=shown,
            is_exclusive=is_exclusive,
            labels=labels,
            spans=[slice(first, end) for first, end in pairwise(ends)],
            fewest=2 if is_exclusive else 1,
            results=[*(f"f_{name}" for name in shown), *decisions, *["labels"] * bool(labels)],
        )

    @classmethod
    def exclusive(cls, classes: Iterable[Any]) -> Self:
        """Return the one head of classes that exclude each other."""
        names = tuple(classes)
        return cls(("class",), (names,), (len(names),))

    @classmethod
    def of_labels(cls, labels: Iterable[Any]) -> Self:
        """Return a head for each of several labels."""
        names = tuple(labels)
        return cls(tuple(map(str, names)), tuple((name,) for name in names), (2,) * len(names))

    @classmethod
    def of_classes(cls, heads: Mapping[Any, Classes | None]) -> Self:
        """Return heads of several classes each, or None for a label.

        The columns of a head are ``"head:class"``.
        """
        columns, sizes = [], []
        for head, classes in heads.items():
            shown: tuple[str, ...] = (str(head),)
            if classes is not None:
                shown = tuple(f"{head}:{name}" for name in text_names(classes))
            columns.append(shown)
            sizes.append(max(len(shown), 2))
        return cls(tuple(map(str, heads)), tuple(columns), tuple(sizes))

    @property
    def width(self) -> int:
        """K, the largest number of classes of a head."""
        return max(self.sizes)

    def stacked(self, columns: Array) -> Array:
        """Return columns (..., C) as heads (..., H, K): labels as off and on; padding is 0."""
        if self.is_exclusive:
            return columns[..., None, :]
        stack: Array = np.zeros((*columns.shape[:-1], len(self.names), self.width), columns.dtype)
        heads, classes = self._places
        stack[..., heads, classes] = columns
        stack[..., self.labels, 0] = 1 - stack[..., self.labels, 1]
        return stack

    def flat(self, stack: Array) -> Array:
        """Return the columns (..., C) of heads (..., H, K)."""
        if self.is_exclusive:
            return stack[..., 0, :]
        heads, classes = self._places
        columns: Array = stack[..., heads, classes]
        return columns

    def certain(self, classes: Ints) -> Floats:
        """Return the class of each head, (T, H), as columns of 0 and 1; NaN where it is -1.

        Of one head, (T,) is enough.
        """
        classes = classes.reshape(len(classes), len(self.names))
        stack = np.zeros((*classes.shape, self.width))
        np.put_along_axis(stack, np.maximum(classes, 0)[..., None], 1.0, axis=2)
        stack[classes < 0] = np.nan
        return self.flat(stack)

    def for_filter(self, stack: Array) -> Array:
        """Return rows of heads, (T, H, K), as `run` of a filter takes them: (T, K) of one head."""
        return stack[:, 0] if self.is_exclusive else stack

    @cached_property
    def _places(self) -> tuple[Ints, Ints]:
        """The head and the class of each column."""
        places = [
            (h, k)
            for h, shown in enumerate(self.columns)
            for k in range(self.sizes[h] - len(shown), self.sizes[h])
        ]
        heads, classes = np.array(places, np.intp).T
        return heads, classes

    @property
    def noun(self) -> str:
        """What the columns are."""
        return "classes" if self.is_exclusive else "labels"

    @property
    def relation(self) -> str:
        """How the columns go together, as a sentence about them goes on."""
        return "exclude each other" if self.is_exclusive else "may be true at once"

    @property
    def kind(self) -> Heads:
        """These heads before their columns are known; those of several classes know them."""
        if self.is_exclusive:
            return EXCLUSIVE
        return LABELS if len(self.labels) == len(self.names) else self

    def like(self, columns: Iterable[Any]) -> Self:
        """Return heads of this kind whose columns have these names, as a table has them."""
        names = tuple(columns)
        if self.is_exclusive:
            return self.exclusive(names)
        if len(self.labels) == len(self.names):
            return self.of_labels(names)
        if set(names) != set(self.shown):
            must = f"the heads have {list(self.shown)}"
            raise ArgumentError("classes", list(names), problem="names the columns {}", must=must)
        return self

    def order_in(self, classes: Sequence[Any]) -> Ints:
        """Return the place of each of these columns in a table that has such classes.

        Where these are only numbered, they are those of the table, in its order.
        """
        if self.shown == tuple(classes):
            return np.arange(len(classes), dtype=np.intp)
        if set(self.shown) == set(classes):
            places = {name: place for place, name in enumerate(classes)}
            return np.array([places[name] for name in self.shown], dtype=np.intp)
        if list(self.shown) == [str(k) for k in range(len(classes))]:
            return np.arange(len(classes), dtype=np.intp)
        raise ValueError(
            f"the data has the classes {list(classes)}, but the filter has {list(self.shown)}; "
            "make the filter with the same names"
        )

    def place(self, name: Any) -> int:
        """Return the number of a head, or raise."""
        if self.is_exclusive:
            raise ArgumentError("label", name, must="the classes exclude each other")
        if str(name) not in self.names:
            raise ArgumentError("label", name, must=f"the labels are {list(self.names)}")
        return self.names.index(str(name))

    def classes_of(self, head: int) -> tuple[str, ...]:
        """Return the classes of a head; those of a label are not robin, robin."""
        shown = tuple(map(str, self.columns[head]))
        return (f"not {shown[0]}", *shown) if head in self.labels else shown

    @property
    def layout(self) -> list[str] | dict[str, list[str] | None]:
        """What they are made of: the labels, or the classes of each head, None of a label."""
        if len(self.labels) == len(self.names):
            return list(self.names)
        return {
            name: None if h in self.labels else [one.removeprefix(f"{name}:") for one in shown]
            for h, (name, shown) in enumerate(zip(self.names, self.columns, strict=True))
        }

    def decide(self, columns: Array) -> list[Factorized]:
        """Return the class of each head and the labels that are on, as text, from (C, T)."""
        heads = [h for h in range(len(self.names)) if h not in self.labels]
        decisions = []
        for h in heads:
            head_name = "" if self.is_exclusive else f"{self.names[h]}:"
            names = [str(name).removeprefix(head_name) for name in self.columns[h]]
            decisions.append(Factorized(most_probable(columns[self.spans[h]]), names))
        if self.labels:
            places = [self.spans[h].start for h in self.labels]
            decisions.append(labels_on(columns[places] > 0.5, [str(self.shown[i]) for i in places]))
        return decisions

    def decided(self, row: Array) -> list[str]:
        """Return what `decide` returns, of one row of results, (C,)."""
        return [str(one.categories[one.codes[0]]) for one in self.decide(row[:, None])]


EXCLUSIVE = Heads.exclusive(())
LABELS = Heads.of_labels(())
"""Kinds of heads, whose columns are not known yet."""


def heads_of(classes: Classes | Mapping[Any, Classes | None] | None, scores: str) -> Heads:
    """Return the heads of classes as people give them, or a kind of heads where they do not.

    They are names or their number; or, of several heads, a mapping of each to its classes.
    """
    if isinstance(classes, Mapping):
        return Heads.of_classes(classes)
    kind = LABELS if scores.startswith("independent") else EXCLUSIVE
    return kind if classes is None else kind.like(text_names(classes, kind.fewest))


def labels_on(on: Bools, labels: Sequence[str]) -> Factorized:
    """Return the labels that are on, (L, T), as a column of text.

    Examples
    --------
    >>> labels_on(np.array([[True, False], [True, False]]), ["robin", "wren"])
    Factorized(codes=array([0, 1]), categories=['robin,wren', ''])
    """
    packed = np.packbits(on.T, axis=1)
    size, whole = packed.shape[1], packed.tobytes()
    rows = factorize([whole[i : i + size] for i in range(0, len(whole), size)])
    bits = [np.unpackbits(np.frombuffer(row, np.uint8)) for row in rows.categories]
    return Factorized(rows.codes, [",".join(compress(labels, row)) for row in bits])


def most_probable(columns: Array) -> Array:
    """Return the class of the largest probability of each column, (K, T); of several, the first."""
    largest, label = columns[0], np.zeros(columns.shape[1], np.min_scalar_type(len(columns)))
    for k, p in enumerate(columns[1:], 1):
        label = np.maximum(label, (p > largest) * label.dtype.type(k))
        largest = np.maximum(largest, p)
    return label
