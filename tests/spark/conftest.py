"""One Spark session for all tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from fleet import session


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    started = session()
    yield started
    started.stop()
