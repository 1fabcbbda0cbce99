"""The package as others get it: packed, installed into an empty folder, used, and typed."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import classfilter as cf

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "js"
MOST_BYTES = 270_000

USE = """
import { DirichletFilter } from "classfilter";
const filter = new DirichletFilter(3, { gamma: 0.9 });
console.log(JSON.stringify(Array.from(filter.update([0.7, 0.2, 0.1], { beta: 0.3 }))));
"""

REQUIRE = """
const { DirichletFilter } = require("classfilter");
const filter = new DirichletFilter(3, { gamma: 0.9 });
console.log(JSON.stringify(Array.from(filter.update([0.7, 0.2, 0.1], { beta: 0.3 }))));
"""

BOTH = """
const required = require("classfilter");
import("classfilter").then((imported) => {
  const same = Object.keys(imported).sort().join() === Object.keys(required).sort().join();
  const tracker = new required.Tracker(new imported.DirichletFilter(["a", "b"]));
  tracker.update("ann", 0, null, [0.8, 0.2]);
  console.log(JSON.stringify([same, tracker.label("ann")]));
});
"""

WORKER = """
import { Worker } from "node:worker_threads";
new Worker(new URL("./use.mjs", import.meta.url));
"""

SURFACE = """
import * as package_ from "classfilter";
const isPublic = (name) => !name.startsWith("_");
const names = (object) => Object.getOwnPropertyNames(object).filter(isPublic);
const surface = Object.entries(package_).map(([name, value]) => {
  const own = value.prototype === undefined ? [] : names(value.prototype);
  const parent = own.length ? Object.getPrototypeOf(value.prototype) : Object.prototype;
  return [name, parent === Object.prototype ? own : [...own, ...names(parent)]];
});
console.log(JSON.stringify(Object.fromEntries(surface)));
"""


def command(*args: str, cwd: Path) -> str:
    process = subprocess.run(args, cwd=cwd, capture_output=True, text=True)
    assert process.returncode == 0, process.stdout + process.stderr
    return process.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder into which the packed package was installed, and nothing else."""
    folder = tmp_path_factory.mktemp("installed")
    command("npm", "pack", "--pack-destination", str(folder), cwd=PACKAGE)
    (archive,) = folder.glob("*.tgz")
    (folder / "package.json").write_text('{"type": "module"}')
    command("npm", "install", "--offline", "--no-audit", f"./{archive.name}", cwd=folder)
    return folder


def test_installed(installed: Path) -> None:
    assert [path.name for path in (installed / "node_modules").glob("[!.]*")] == ["classfilter"]
    (installed / "use.mjs").write_text(USE)
    (installed / "worker.mjs").write_text(WORKER)
    expected = cf.DirichletFilter(3, gamma=0.9).update([0.7, 0.2, 0.1], beta=0.3).tolist()
    (installed / "require.cjs").write_text(REQUIRE)
    for script in ("use.mjs", "worker.mjs", "require.cjs"):
        assert json.loads(command("node", script, cwd=installed)) == expected


def test_what_is_required_is_what_is_imported(installed: Path) -> None:
    (installed / "both.cjs").write_text(BOTH)
    assert json.loads(command("node", "both.cjs", cwd=installed)) == [True, "a"]


def test_files_and_size(installed: Path) -> None:
    package = installed / "node_modules/classfilter"
    files = {str(path.relative_to(package)): path for path in package.rglob("*") if path.is_file()}
    others = {"LICENSE", "README.md", "package.json", "classfilter.d.ts"}
    built = {f"dist/classfilter.{suffix}" for suffix in ("cjs", "d.cts", "mjs")}
    assert set(files) == {*others, *built}
    assert files["dist/classfilter.mjs"].stat().st_size < MOST_BYTES


def test_the_version_is_that_of_python() -> None:
    assert json.loads((PACKAGE / "package.json").read_text())["version"] == cf.__version__


def test_types_name_what_there_is(installed: Path) -> None:
    (installed / "surface.mjs").write_text(SURFACE)
    surface = json.loads(command("node", "surface.mjs", cwd=installed))
    text = (PACKAGE / "classfilter.d.ts").read_text()
    bodies = dict(re.findall(r"^export class (\w+).*?\{\n(.*?)^\}", text, re.DOTALL | re.MULTILINE))
    (shared,) = re.findall(r"^interface Filter<.*?\{\n(.*?)^\}", text, re.DOTALL | re.MULTILINE)
    for name in re.findall(r"^export interface (\w+) extends Filter<", text, re.MULTILINE):
        bodies[name] += shared
    assert {*bodies, *re.findall(r"^export function (\w+)", text, re.MULTILINE)} == set(surface)
    for name, body in bodies.items():
        declared = set(re.findall(r"^  (?:readonly )?(\w+)\??[:(<]", body, re.MULTILINE))
        assert set(surface[name]) <= declared, name


def test_types_compile(installed: Path) -> None:
    if not (PACKAGE / "node_modules").exists():
        pytest.skip("there is no TypeScript; make js/node_modules installs it")
    tsc = str(PACKAGE / "node_modules/.bin/tsc")
    options = ("--noEmit", "--strict", "--target", "es2022", "--module", "nodenext")
    for name in ("usage.mts", "usage.cts"):  # a module, and a script that requires
        shutil.copy(ROOT / "tests/js/usage.ts", installed / name)
        command(tsc, *options, name, cwd=installed)


@pytest.mark.parametrize("page", ["js/README.md", "docs/javascript.md"])
def test_pages(page: str, installed: Path) -> None:
    """Blocks that import what they use print what their comments say."""
    blocks = re.findall(r"```js\n(import.*?)```", (ROOT / page).read_text(), re.DOTALL)
    printing = [block for block in blocks if "console.log" in block]
    assert any("popEvents" in block for block in printing)
    for block in printing:
        expected = re.findall(r"^console\.log.*// (.*)$", block, re.MULTILINE)
        (installed / "page.mjs").write_text(block)
        assert command("node", "page.mjs", cwd=installed).splitlines() == expected
