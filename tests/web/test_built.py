"""The core and the charts of the report are those of the sources: run make js after a change."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WEB = ROOT / "src/classfilter/web"
REMEDY = "it is older than its sources: run make js (in Debian: clang lld nodejs), and commit it"


def digest_of_sources() -> str:
    """Return what js/build.mjs computes: names and texts of its sources, one after the other."""
    folders = [("js/c", "*.[ch]"), ("js/src", "*.js"), ("src/classfilter/csrc", "*.[ch]")]
    paths = [path for folder, pattern in folders for path in (ROOT / folder).glob(pattern)]
    texts = {
        path.relative_to(ROOT).as_posix(): path.read_text("utf-8")  # any line ends become \n
        for path in [ROOT / "js/build.mjs", *paths]
    }
    joined = "".join(f"{name}\n{texts[name]}\n" for name in sorted(texts))
    return hashlib.sha256(joined.encode()).hexdigest()


def test_built_from_these_sources() -> None:
    assert json.loads((WEB / "built.json").read_text())["sources"] == digest_of_sources(), REMEDY


@pytest.mark.parametrize("name", ["classfilter.wasm", "classfilter.js", "uplot.js", "uplot.css"])
def test_built_in_one_go(name: str) -> None:
    content = (WEB / name).read_bytes()
    if not name.endswith(".wasm"):
        content = content.replace(b"\r\n", b"\n")
    expected = json.loads((WEB / "built.json").read_text())[name]
    assert hashlib.sha256(content).hexdigest() == expected, REMEDY


def test_the_charts_are_of_the_version_that_is_asked_for() -> None:
    pinned = json.loads((ROOT / "js/package.json").read_text())["devDependencies"]["uplot"]
    assert json.loads((WEB / "built.json").read_text())["uplot"] == pinned, REMEDY


@pytest.mark.parametrize("name", ["uplot.js", "uplot.css"])
def test_the_charts_carry_their_licence(name: str) -> None:
    banner = (WEB / name).read_text("utf-8").partition("*/")[0]
    assert "MIT License" in banner
    assert "Copyright (c)" in banner
    assert "shall be included" in banner


def test_there_is_one_core() -> None:
    assert (WEB / "classfilter.wasm").stat().st_size < 115_000
    copy = ROOT / "js/dist/classfilter.wasm"
    same = not copy.exists() or copy.read_bytes() == (WEB / "classfilter.wasm").read_bytes()
    assert same, "js/dist is older than the core: run make js"
