"""Banks in files: continued to the bit, or refused."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import classfilter as cf
from bank_filters import every_filter, same, same_states
from saved_files import sql
from streams import random_stream


@every_filter
def test_saved_pickled_and_continued(make: Any, tmp_path: Path) -> None:
    bank, restored = cf.Bank(make(4), 20), cf.Bank(make(4), 0)
    bank.update(*random_stream(4, 20, 1))
    bank.save(tmp_path / "bank.db")
    restored.load(tmp_path / "bank.db")
    pickled = pickle.loads(pickle.dumps(bank))
    later = random_stream(4, 20, 2)
    P = bank.update(*later)
    assert same(restored.update(*later), P)
    assert same(pickled.update(*later), P)
    pickled.reset()
    assert same_states(pickled, [make(4)] * 20)


@every_filter
@pytest.mark.parametrize(
    ("states", "place"),
    [
        (lambda good: good[:, :1], "a state is cut off"),
        (lambda good: np.hstack([good, good]), "a state is too long"),
        (lambda good: np.where(np.arange(4)[:, None] == 2, np.nan, good), "stream 2"),
        (lambda good: -1 - good, "stream 0"),
    ],
)
def test_a_damaged_file_changes_nothing(make: Any, states: Any, place: str, tmp_path: Path) -> None:
    bank, path = cf.Bank(make(3), 4), tmp_path / "bank.db"
    bank.update(*random_stream(3, 4, 1))
    before = [bank.filter(n) for n in range(4)]
    bank.save(path)
    for n, numbers in enumerate(states(bank._states)):
        [[state]] = sql(path, "SELECT state FROM streams WHERE name = ?", n)
        changed = state[:16] + numbers.tobytes()
        sql(path, "UPDATE streams SET state = ? WHERE name = ?", changed, n)
    with pytest.raises(ValueError, match=place):
        bank.load(path)
    assert same_states(bank, before)


def test_a_save_writes_what_changed(tmp_path: Path) -> None:
    bank, path = cf.Bank(cf.DirichletFilter(3), 9), tmp_path / "bank.db"
    bank.save(path)
    sql(path, "UPDATE streams SET time = 7")
    bank.update([[0.2, 0.2, 0.6]] * 2, rows=[3, 5])
    bank.save(path)
    untouched = sql(path, "SELECT name FROM streams WHERE time = 7")
    assert [n for (n,) in untouched] == [0, 1, 2, 4, 6, 7, 8]
    again = cf.Bank(cf.DirichletFilter(3), 0)
    again.load(path)
    assert same_states(again, [bank.filter(n) for n in range(9)])
    bank.drop([3])
    bank.add(2)
    bank.save(path)
    again.load(path)
    assert same_states(again, [bank.filter(n) for n in range(10)])
