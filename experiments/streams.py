"""Streams of a weak and a strong classifier, both at every step, in one file of NumPy's.

``NAME.npz`` holds ``y`` (T,), the true class or -1, and ``weak`` and ``strong`` (T, K), the
predictions for people that the classifiers had not seen; rows of whole numbers or floats, which are
divided by their sum. The streams come one after the other, ``lengths`` has their numbers of rows.
Optional are ``step``, the seconds from row to row (5), or ``time`` (T,); ``classes``, ``names`` of
the streams, and ``fold``, which models predicted for each.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:  # the training does without
    from classfilter import Rows

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
STEP = 5.0
"""Seconds, where a file has none."""
NEEDED = ("y", "weak", "strong", "lengths")


@dataclass(frozen=True, eq=False)
class Stream:
    """What both classifiers predict for one person at every step.

    Attributes
    ----------
    name : str
        Of the person.
    time : ndarray (T,)
        Seconds.
    label : ndarray of int (T,)
        The true class, -1 where unknown.
    weak, strong : ndarray (T, K)
        The predicted probabilities.
    classes : tuple of str
        The K classes.
    fold : int
        Which models predicted.
    """

    name: str
    time: Floats
    label: Ints
    weak: Floats
    strong: Floats
    classes: tuple[str, ...]
    fold: int = 0

    def rows(self, every: int = 12, hard: bool = False) -> Rows:
        """Apply the paper's policy: strong instead of weak at each `every`-th step.

        If `hard`, only the most probable class of each row is kept.
        """
        strong = np.arange(len(self.time)) % every == 0
        probs = np.where(strong[:, None], self.strong, self.weak)
        return self._rows(np.where(strong, "strong", "weak"), probs, hard)

    def alone(self, source: str, hard: bool = False) -> Rows:
        """Return the predictions of one classifier at every step."""
        return self._rows(source, getattr(self, source), hard)

    def _rows(self, source: Any, probs: Floats, hard: bool) -> Rows:
        from classfilter import rows

        said = probs.argmax(axis=1) if hard else probs
        return rows(
            time=self.time, source=source, probs=said, classes=self.classes, label=self.label
        )


def write(path: Path, streams: Sequence[Stream]) -> None:
    """Write streams of one set."""
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(
        path,
        time=np.concatenate([s.time for s in streams]),
        y=np.concatenate([s.label for s in streams]).astype(np.int8),
        weak=_whole(np.concatenate([s.weak for s in streams])),
        strong=_whole(np.concatenate([s.strong for s in streams])),
        lengths=np.array([len(s.time) for s in streams]),
        classes=np.array(streams[0].classes),
        names=np.array([s.name for s in streams]),
        fold=np.array([s.fold for s in streams]),
    )


def read(path: Path) -> list[Stream]:
    """Read the streams of one file; what is wrong with it is said by its name."""
    with np.load(path, allow_pickle=False) as file:
        columns = {key: file[key] for key in file.files}
    missing = [key for key in NEEDED if key not in columns]
    if missing:
        _reject(path, f"no {', '.join(missing)}; a file of streams has {', '.join(NEEDED)}")
    y, lengths = columns["y"].astype(np.intp), columns["lengths"]
    T, count = len(y), len(lengths)
    if lengths.sum() != T:
        _reject(path, f"lengths with the sum {lengths.sum()}, and y with {T} rows")
    both = [_shares(path, source, columns[source], T) for source in ("weak", "strong")]
    K = both[0].shape[1]
    if both[1].shape[1] != K:
        _reject(path, f"{K} columns in weak and {both[1].shape[1]} in strong")
    if T and not -1 <= y.min() <= y.max() < K:
        _reject(path, f"y from {y.min()} to {y.max()}; it must be -1 or a column, 0 to {K - 1}")
    step = float(columns.get("step", STEP))
    time = columns.get("time", np.concatenate([step * np.arange(n) for n in lengths]))
    classes = tuple(str(c) for c in columns.get("classes", range(K)))
    names = columns.get("names", [f"{i:03}" for i in range(count)])
    fold = columns.get("fold", [0] * count)
    ends = np.cumsum(lengths)[:-1]
    parts = zip(*(np.split(column, ends) for column in (time, y, *both)), strict=True)
    return [
        Stream(str(names[i]), t.astype(float), label, weak, strong, classes, int(fold[i]))
        for i, (t, label, weak, strong) in enumerate(parts)
    ]


def read_all(paths: Iterable[Path]) -> dict[str, list[Stream]]:
    """Read files, and all ``.npz`` of folders; by the names of the sets."""
    files: list[Path] = []
    for path in paths:
        files += sorted(path.glob("*.npz")) if path.is_dir() else [path]
    if not files:
        raise SystemExit(f"{', '.join(map(str, paths))}: no file ends in .npz")
    return {path.stem.removesuffix("_streams"): read(path) for path in files}


def _shares(path: Path, source: str, rows: NDArray[Any], T: int) -> Floats:
    """Return rows of probabilities."""
    if rows.ndim != 2 or len(rows) != T:
        _reject(path, f"{source} of the shape {rows.shape}; y has {T} rows")
    total = rows.sum(axis=1, keepdims=True, dtype=np.float64)
    bad = ~((rows >= 0).all(axis=1) & np.isfinite(total[:, 0]) & (total[:, 0] > 0))
    if bad.any():
        row = int(bad.argmax())
        _reject(path, f"no probabilities in {source}, row {row}: {rows[row].tolist()}")
    shares: Floats = rows / total
    return shares


def _whole(P: Floats) -> NDArray[np.uint16]:
    """Round probabilities to 16 bits."""
    return np.rint(65535 * P).astype(np.uint16)


def _reject(path: Path, what: str) -> NoReturn:
    raise SystemExit(f"{path}: it has {what}")
