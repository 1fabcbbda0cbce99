"""The corpus of the fuzzers, and a few changes of it: what they once found stays mended."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from .python import changed
from .targets import TARGETS

CORPUS = Path(__file__).parent / "corpus"


@pytest.mark.parametrize("target", TARGETS)
def test_the_corpus_holds(target: str) -> None:
    rng = random.Random(target)
    corpus = [path.read_bytes() for path in sorted((CORPUS / target).iterdir())]
    assert corpus
    for data in corpus:
        TARGETS[target](data)
    for _ in range(10):
        TARGETS[target](changed(rng.choice(corpus), corpus, rng))
