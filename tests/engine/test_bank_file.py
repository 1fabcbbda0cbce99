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
    ("other", "setting"),
    [
        (cf.DirichletFilter(3), "classes"),
        (cf.StickyFilter(["a", "b", "c"]), "filter"),
        (cf.DirichletFilter(["a", "b", "c"], 0.95), "gamma"),
        (cf.DirichletFilter(["a", "b", "c"], dtype="float32"), "dtype"),
    ],
)
def test_a_bank_of_other_settings_is_refused(other: Any, setting: str, tmp_path: Path) -> None:
    cf.Bank(cf.DirichletFilter(["a", "b", "c"]), 5).save(tmp_path / "bank.npz")
    assert [p.name for p in tmp_path.iterdir()] == ["bank.npz"]
    with pytest.raises(ValueError, match=f"with {setting} "):
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
    ("states", "place"),
    [
        (lambda good: good[:, :1], "states of shape"),
        (lambda good: good[0], "states of shape"),
        (lambda good: np.where(np.arange(4)[:, None] == 2, np.nan, good), "stream 2"),
        (lambda good: -1 - good, "stream 0"),
    ],
)
def test_a_damaged_file_changes_nothing(make: Any, states: Any, place: str, tmp_path: Path) -> None:
    bank = cf.Bank(make(3), 4)
    bank.update(*random_stream(3, 4, 1))
    before = [bank.filter(n) for n in range(4)]
    bank.save(tmp_path / "bank.npz")
    replace_parts(tmp_path / "bank.npz", states=states(bank._states))
    with pytest.raises(ValueError, match=place):
        bank.load(tmp_path / "bank.npz")
    assert same_states(bank, before)
