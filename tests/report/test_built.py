"""The script and the style of the report are those of the sources: run make js after a change."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WEB = ROOT / "src/classfilter/report"
BUILT = ["classfilter.js", "classfilter.css"]
REMEDY = (
    "it is older than its sources: run make js (in Debian: clang lld nodejs npm), and commit it"
)


def digest_of_sources() -> str:
    """Return what js/build.mjs computes: names and texts of its sources, one after the other."""
    folders = [
        ("js/c", "*.[ch]"),
        ("js/src", "*.js"),
        ("js/page", "*.js"),
        ("js/page", "*.css"),
        ("src/classfilter/csrc", "*.[ch]"),
    ]
    paths = [path for folder, pattern in folders for path in (ROOT / folder).glob(pattern)]
    texts = {
        path.relative_to(ROOT).as_posix(): path.read_text("utf-8")  # any line ends become \n
        for path in [ROOT / "js/build.mjs", *paths]
    }
    joined = "".join(f"{name}\n{texts[name]}\n" for name in sorted(texts))
    return hashlib.sha256(joined.encode()).hexdigest()


def banner(name: str) -> str:
    return (WEB / name).read_text("utf-8").partition("*/")[0]


@pytest.mark.parametrize("name", BUILT)
def test_built_from_these_sources(name: str) -> None:
    assert f"Sources: {digest_of_sources()}\n" in banner(name), REMEDY


@pytest.mark.parametrize("name", BUILT)
@pytest.mark.parametrize("package", ["uplot", "papaparse"])
def test_packages_are_of_their_version_and_carry_their_licence(name: str, package: str) -> None:
    pinned = json.loads((ROOT / "js/package.json").read_text())["devDependencies"][package]
    licence = banner(name).partition(f"\n{package} {pinned}\n")[2]
    assert "Copyright (c)" in licence, REMEDY
    assert "shall be included" in licence


def test_the_page_stays_small() -> None:
    assert sum((WEB / name).stat().st_size for name in BUILT) < 320_000
