"""Banks in files: continued to the bit, or refused."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import classfilter as cf
from bank_filters import every_filter, same, same_states
from saved_files import replace_parts
from streams import random_stream


@every_filter
def test_saved_pickled_and_continued(make: Any, tmp_path: Path) -> None:
    bank, restored = cf.Bank(make(4), 20), cf.Bank(make(4), 0)
    bank.update(*random_stream(4, 20, 1))
    bank.save(tmp_path / "bank.npz")
    restored.load(tmp_path / "bank.npz")
    pickled = pickle.loads(pickle.dumps(bank))
    later = random_stream(4, 20, 2)
    P = bank.update(*later)
    assert same(restored.update(*later), P)
    assert same(pickled.update(*later), P)
    pickled.reset()
    assert same_states(pickled, [make(4)] * 20)


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (cf.DirichletFilter(3), r"with classes \['a', 'b', 'c'\], but here it is \[0"),
        (cf.StickyFilter(["a", "b", "c"]), r"with filter 'dirichlet', but .* 'sticky'"),
        (cf.DirichletFilter(["a", "b", "c"], 0.95), r"gamma 0.9, but .* it is 0.95"),
        (cf.DirichletFilter(["a", "b", "c"], dtype="float32"), "dtype 'float64', but here it is"),
    ],
)
def test_a_bank_of_other_settings_is_refused(other: Any, message: str, tmp_path: Path) -> None:
    cf.Bank(cf.DirichletFilter(["a", "b", "c"]), 5).save(tmp_path / "bank.npz")
    assert [p.name for p in tmp_path.iterdir()] == ["bank.npz"]
    with pytest.raises(ValueError, match=message):
        cf.Bank(other, 1).load(tmp_path / "bank.npz")


def test_a_failed_save_leaves_the_old_file(tmp_path: Path, monkeypatch: Any) -> None:
    bank = cf.Bank(cf.DirichletFilter(2), 3)
    bank.save(tmp_path / "bank.npz")
    before = (tmp_path / "bank.npz").read_bytes()

    def full(*_: Any, **__: Any) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(np, "savez", full)
    with pytest.raises(OSError, match="no space"):
        bank.save(tmp_path / "bank.npz")
    assert (tmp_path / "bank.npz").read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 1


@every_filter
@pytest.mark.parametrize(
    ("states", "message"),
    [
        (lambda good: good[:, :1], r"has states of shape \(4, 1\); a stream of the bank has"),
        (lambda good: good[0], "has states of shape"),
        (lambda good: np.where(np.arange(4)[:, None] == 2, np.nan, good), "damaged: .* stream 2:"),
        (lambda good: -1 - good, "damaged: the state of stream 0:"),
    ],
)
def test_a_damaged_file_changes_nothing(
    make: Any, states: Any, message: str, tmp_path: Path
) -> None:
    bank = cf.Bank(make(3), 4)
    bank.update(*random_stream(3, 4, 1))
    before = [bank.filter(n) for n in range(4)]
    bank.save(tmp_path / "bank.npz")
    replace_parts(tmp_path / "bank.npz", states=states(bank._states))
    with pytest.raises(ValueError, match=message):
        bank.load(tmp_path / "bank.npz")
    assert same_states(bank, before)
