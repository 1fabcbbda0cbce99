"""Exported firmware as WebAssembly, in Node: the bits that Python gives, those of events too."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from classfilter.embedded import export
from firmware_configs import STEP, all_configs

TOOLS = ("clang", "wasm-ld", "node")
GONE = [name for name in TOOLS if shutil.which(name) is None]
pytestmark = pytest.mark.skipif(bool(GONE), reason=f"not installed: {', '.join(GONE)}")
RUN = """
const bytes = require("fs").readFileSync(process.argv[1]);
WebAssembly.instantiate(bytes).then(({ instance: { exports } }) =>
  process.exit(exports.cf_selftest(0) & 255));
"""


@pytest.mark.parametrize(
    "kind", ["events", "events-slow", "events-uncertain", "labels-events", "heads-moving"]
)
def test_the_same_bits_in_webassembly(kind: str, tmp_path: Path) -> None:
    export(all_configs()[kind], tmp_path, step=STEP)
    flags = ["--target=wasm32", "-std=c99", "-Oz", "-mbulk-memory", "-nostdlib", "-ffreestanding"]
    flags += ["-Wl,--no-entry,--export=cf_selftest", f"-I{tmp_path / 'src'}"]
    sources = [str(tmp_path / "src" / name) for name in ("classfilter.c", "cf_selftest.c")]
    subprocess.run(["clang", *flags, *sources, "-o", str(tmp_path / "a.wasm")], check=True)
    done = subprocess.run(["node", "-e", RUN, str(tmp_path / "a.wasm")], check=False)
    assert done.returncode == 0
