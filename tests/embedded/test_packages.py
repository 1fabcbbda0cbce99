"""One folder for Arduino, PlatformIO, Zephyr and ESP-IDF: by their own tools where pip has them.

There is no tool of Arduino and none of Zephyr's tree among these, so that the rules of
library.properties and the fields of module.yml and sample.yaml stand here, as their documentation
has them. CMake runs the files of Zephyr and ESP-IDF for real, with stand-ins for their commands
(``stubs/``). tests/emulated/test_sketch.py builds the sketch.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest

import classfilter as cf
from classfilter.embedded import export
from firmware_configs import all_configs

ROOT = Path(__file__).parents[2]
STUBS = Path(__file__).parent / "stubs"
TOOLS = ROOT / ".venv/devices/bin"
KINDS = ("dirichlet-anchored", "labels-sticky")
CATEGORIES = (
    "Display", "Communication", "Signal Input/Output", "Sensors", "Device Control", "Timing",
    "Data Storage", "Data Processing", "Other",
)  # fmt: skip
MODULE_FIELDS: dict[str, Any] = {
    "name": str,
    "build": {"cmake": str, "kconfig": str, "depends": list, "settings": dict},
    "tests": list,
    "samples": list,
    "boards": list,
}
SAMPLE_FIELDS: dict[str, Any] = {
    "sample": {"name": str, "description": str},
    "tests": dict,
}
TEST_FIELDS: dict[str, Any] = {
    "tags": str,
    "integration_platforms": list,
    "harness": str,
    "harness_config": {"type": str, "regex": list},
}
needs_cmake = pytest.mark.skipif(shutil.which("cmake") is None, reason="cmake is not installed")


def command(*arguments: str | Path, cwd: Path | None = None, **environment: str) -> str:
    """Run a command that must succeed, and return its output."""
    done = subprocess.run(
        [str(argument) for argument in arguments],
        cwd=cwd,
        capture_output=True,
        env=os.environ | environment,
        check=False,
    )
    output = (done.stdout + done.stderr).decode()
    assert done.returncode == 0, output
    return output


def tool(name: str) -> Path:
    """Return a tool of requirements.txt."""
    if not (TOOLS / name).exists():
        pytest.skip(f"{name} is not installed; make test-rest does it, in .venv/devices")
    return TOOLS / name


@pytest.fixture(params=KINDS, scope="module")
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("firmware")
    export(all_configs()[request.param], folder)
    return folder


@pytest.fixture
def example(folder: Path, tmp_path: Path) -> str:
    """What the example prints on this machine."""
    shutil.copytree(folder, tmp_path / "example")
    command("make", "-s", "-C", tmp_path / "example", "example")
    return command(tmp_path / "example/example")


def check(given: Any, fields: Any) -> None:
    """Raise if there is a field that does not exist, or one of another type."""
    if isinstance(fields, type):
        assert isinstance(given, fields)
        return
    assert given.keys() <= fields.keys()
    for name in given:
        check(given[name], fields[name])


def test_every_package_has_the_name_the_version_and_the_licence(folder: Path) -> None:
    library = json.loads((folder / "library.json").read_text())
    assert (library["name"], library["version"]) == ("classfilter", cf.__version__)
    component = (folder / "idf_component.yml").read_text()
    for text in (f'version: "{cf.__version__}"', "license: MIT"):
        assert text in component.splitlines()
    for path in folder.rglob("*"):
        assert path.is_dir() or "@VERSION@" not in path.read_text(), path


def test_library_properties_keeps_the_rules_of_arduino(folder: Path) -> None:
    """Those of the library specification, revision 2.2."""
    lines = (folder / "library.properties").read_text().splitlines()
    fields = dict(line.split("=", 1) for line in lines)
    assert len(fields) == len(lines)
    required = "name version author maintainer sentence paragraph category url architectures"
    assert set(required.split()) <= fields.keys() <= {*required.split(), "includes"}
    assert all(fields.values())
    assert re.fullmatch(r"[A-Za-z][A-Za-z0-9 _.-]{0,62}", fields["name"])
    assert "arduino" not in fields["name"].lower()
    assert re.fullmatch(r"[0-9]+\.[0-9]+\.[0-9]+", fields["version"])
    assert fields["version"] == cf.__version__
    assert fields["category"] in CATEGORIES
    assert fields["architectures"] == "*"
    assert not fields["paragraph"].startswith(fields["sentence"]), "the sentence is put before it"
    assert re.fullmatch(r"https://\S+", fields["url"])
    assert [(folder / "src" / name).is_file() for name in fields["includes"].split(",")] == [True]
    sketches = list((folder / "examples").rglob("*.ino"))
    assert [path.stem for path in sketches] == [path.parent.name for path in sketches] == ["Steady"]
    assert not list((folder / "examples").rglob("*.c*")), "compiled with the sketch"


def test_every_source_below_src_is_a_unit_of_its_own(folder: Path) -> None:
    """Builders compile all of them."""
    units = {path.relative_to(folder).as_posix() for path in (folder / "src").rglob("*.c*")}
    assert units == {"src/classfilter.c", "src/cf_selftest.c", "src/core/status.c"}
    for path in (folder / "src").rglob("*.[ch]"):
        assert not re.search(r'#include ".*\.c"', path.read_text()), path


@pytest.mark.slow
def test_platformio_packs_it(folder: Path, tmp_path: Path) -> None:
    """It loads the list of licences from the network; here it is given one."""
    listed = "staticmethod(lambda: {'licenses': [{'licenseId': 'MIT'}]})"
    code = (
        "import sys; from platformio.package.manifest.schema import ManifestSchema as schema; "
        f"schema.load_spdx_licenses = {listed}; "
        "from platformio.__main__ import main; sys.exit(main(['pio', *sys.argv[1:]]))"
    )
    packed, home = tmp_path / "packed.tar.gz", str(tmp_path / "home")
    python = tool("pio").with_name("python")
    pack = (python, "-c", code, "pkg", "pack", folder, "-o", packed)
    command(*pack, HOME=home, PLATFORMIO_CORE_DIR=home)
    with tarfile.open(packed) as archive:
        names = {name for name in archive.getnames() if (folder / name).is_file()}
    exported = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert names == exported


@pytest.mark.slow
def test_the_component_manager_packs_it(folder: Path, tmp_path: Path) -> None:
    pack = (tool("compote"), "component", "pack", "--name", "classfilter", "--dest-dir", tmp_path)
    command(*pack, cwd=folder, HOME=str(tmp_path / "home"), IDF_COMPONENT_CHECK_NEW_VERSION="0")
    with tarfile.open(tmp_path / f"classfilter_{cf.__version__}.tgz") as archive:
        names = {name.removeprefix("./") for name in archive.getnames()}
    assert {"CMakeLists.txt", "LICENSE", "src/classfilter.c", "idf_component.yml"} <= names


@pytest.mark.slow
@needs_cmake
def test_esp_idf_registers_and_builds_it(folder: Path, tmp_path: Path) -> None:
    given = f"-DCOMPONENT={folder}"
    assert "registered" in command("cmake", given, "-P", STUBS / "idf/requirements.cmake")
    command("cmake", "-S", STUBS / "idf", "-B", tmp_path / "build", given)
    command("cmake", "--build", tmp_path / "build")
    command(tmp_path / "build/main")


@pytest.mark.slow
@needs_cmake
def test_plain_cmake_takes_it_as_a_subdirectory(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.13)\nproject(app C)\n"
        f"add_subdirectory({folder} firmware)\n"
        f"add_executable(app {STUBS / 'idf/main.c'})\ntarget_link_libraries(app classfilter)\n"
    )
    command("cmake", "-S", tmp_path, "-B", tmp_path / "build")
    command("cmake", "--build", tmp_path / "build")
    command(tmp_path / "build/app")


@pytest.mark.slow
def test_the_files_of_zephyr_have_fields_that_exist(folder: Path) -> None:
    yaml = pytest.importorskip("yaml")
    module = yaml.safe_load((folder / "zephyr/module.yml").read_text())
    check(module, MODULE_FIELDS)
    assert module["name"] == "classfilter"
    assert (folder / module["build"]["cmake"] / "CMakeLists.txt").is_file()
    assert (folder / module["build"]["kconfig"]).is_file()
    (samples,) = module["samples"]
    (path,) = (folder / samples).rglob("sample.yaml")
    sample = yaml.safe_load(path.read_text())
    check(sample, SAMPLE_FIELDS)
    for name, case in sample["tests"].items():
        assert re.fullmatch(r"[a-z_]+(\.[a-z_]+)+", name)
        check(case, TEST_FIELDS)


@pytest.mark.slow
def test_kconfig_has_the_settings_of_the_sample(folder: Path) -> None:
    code = (
        "import kconfiglib, sys; k = kconfiglib.Kconfig(sys.argv[1], warn_to_stderr=False); "
        "print(k.warnings, *(s.name for s in k.unique_defined_syms if s.type == kconfiglib.BOOL))"
    )
    python = tool("pio").with_name("python")
    names = command(python, "-c", code, folder / "zephyr/Kconfig", cwd=folder).split()
    assert names == ["[]", "CLASSFILTER"]
    settings = (folder / "zephyr/samples/steady/prj.conf").read_text().splitlines()
    assert "CONFIG_CLASSFILTER=y" in settings


@pytest.mark.slow
@needs_cmake
def test_the_sample_of_zephyr_prints_what_the_example_prints(
    folder: Path, example: str, tmp_path: Path
) -> None:
    yaml = pytest.importorskip("yaml")
    module = yaml.safe_load((folder / "zephyr/module.yml").read_text())
    sample, build = folder / "zephyr/samples/steady", tmp_path / "build"
    given = (f"-DZephyr_DIR={STUBS / 'zephyr'}", f"-DMODULE_CMAKE={module['build']['cmake']}")
    command("cmake", "-S", sample, "-B", build, *given, "--warn-uninitialized")
    command("cmake", "--build", build)
    first, rest = command(build / "app").split("\n", 1)
    assert first == "the same bits as in Python (0)"
    assert rest == example
    tests = yaml.safe_load((sample / "sample.yaml").read_text())["tests"]
    (pattern,) = tests["classfilter.steady"]["harness_config"]["regex"]
    assert re.search(pattern, first)
