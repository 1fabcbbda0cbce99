"""What is shipped beside the code: one version, locked packages, licences."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import classfilter as cf
from licences import licence, packages

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(
    ("file", "pattern"),
    [
        ("src/classfilter/csrc/cf.h", r'#define CF_VERSION "(.*)"'),
        ("js/package.json", r'"version": "(.*)"'),
        ("CITATION.cff", r"\nversion: (.*)\n"),
        ("release/recipe.yaml", r'\n  version: "(.*)"\n'),
        ("README.md", r"Status: ([0-9.]+),"),
        ("CHANGELOG.md", r"\n## ([0-9.]+) - "),
        ("docs/javascript.md", r"classfilter-([0-9.]+)\.tgz"),
        ("docs/try.md", r"classfilter-([0-9.]+)-cp310-abi3-"),
    ],
)
def test_there_is_one_version(file: str, pattern: str) -> None:
    found = re.search(pattern, (ROOT / file).read_text())
    assert found is not None
    assert found[1] == cf.__version__


@pytest.mark.parametrize(
    ("file", "pattern"),
    [
        ("pyproject.toml", r'\nHomepage = "(.*)"'),
        ("CITATION.cff", r"\nurl: (.*)\n"),
        ("release/recipe.yaml", r"\n  homepage: (.*)\n"),
        ("js/package.json", r'"homepage": "(.*)"'),
        ("src/classfilter/embedded/firmware/all/library.properties", r"\nurl=(.*)\n"),
        ("src/classfilter/embedded/firmware/all/idf_component.yml", r"\nurl: (.*)\n"),
    ],
)
def test_there_is_one_home(file: str, pattern: str) -> None:
    found = re.search(pattern, (ROOT / file).read_text())
    assert found is not None
    assert found[1] == "https://classfilter.readthedocs.io"


def test_the_day_of_the_release_is_that_of_the_changelog() -> None:
    dates = [
        re.search(pattern, (ROOT / file).read_text())
        for file, pattern in (
            ("CITATION.cff", r"\ndate-released: (.*)\n"),
            ("CHANGELOG.md", r"\n## [0-9.]+ - (.*)\n"),
        )
    ]
    assert len({found[1] if found else "" for found in dates}) == 1


def test_every_package_of_development_is_locked_with_hashes() -> None:
    text = (ROOT / "requirements-dev.txt").read_text()
    entries = re.findall(
        r"^([a-z0-9-]+)==\S+.*\\\n((?:    --hash=sha256:[0-9a-f]{64}.*\n)+)", text, re.M
    )
    assert len(entries) == len(re.findall("^[a-z]", text, re.M))
    assert "://" not in text, "the name of a host"
    pyproject = (ROOT / "pyproject.toml").read_text()
    extras = re.search(r"\[project.optional-dependencies\](.*?)\n\[", pyproject, re.S)
    assert extras is not None
    of_dev = set()
    for extra in ("dev", "bench", "test", "cli", "sklearn", "plot", "tables"):
        listed = re.search(rf"^{extra} = \[(.*?)\]\n", extras[1], re.S | re.M)
        assert listed is not None
        of_dev |= {Requirement(line).name for line in re.findall(r'"([^"]+)"', listed[1])}
    assert {"numpy", *of_dev} - {"classfilter"} <= {name for name, _ in entries}


def test_every_file_of_the_firmware_is_installed() -> None:
    pyproject = (ROOT / "pyproject.toml").read_text()
    patterns = re.search(r'^"classfilter.embedded" = \["(.*)"\]$', pyproject, re.M)
    assert patterns is not None
    package = ROOT / "src/classfilter/embedded"
    listed = {path for pattern in patterns[1].split('", "') for path in package.glob(pattern)}
    files = {path for path in (package / "firmware").rglob("*") if path.is_file()}
    assert len(files) > 20
    assert files <= listed


def test_a_plain_installation_brings_numpy_only() -> None:
    assert packages(set()) == {"numpy": "classfilter"}


@pytest.mark.parametrize("extra", ["plot", "tables", "sklearn", "cli"])
def test_packages_of_the_extras_state_a_free_licence(extra: str) -> None:
    free = "MIT|BSD|Apache|PSF|Python Software Foundation|MPL|HPND|ISC|Unlicense"
    listed = packages({extra})
    assert len(listed) > 1
    for name in listed:
        assert re.search(free, licence(name)), (name, licence(name))


def recipe(target: str) -> list[str]:
    """Return the commands of a target of the Makefile, without the folder of their environment."""
    found = re.search(
        rf"^{re.escape(target)}:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.M
    )
    assert found is not None
    return [line.strip().replace("$(BIN)/", "") for line in found[1].splitlines()]


def test_read_the_docs_builds_the_site_of_make_docs() -> None:
    yaml = pytest.importorskip("yaml")
    config = yaml.safe_load((ROOT / ".readthedocs.yaml").read_text())
    assert config.keys() == {"version", "build"}
    assert config["version"] == 2
    build = config["build"]
    assert build.keys() == {"os", "tools", "jobs"}
    assert build["tools"] == {"python": "3.12"}  # text: a number would lose the zero of 3.10
    assert build["jobs"].keys() == {"install", "build"}
    (installed,) = [line for line in recipe(".venv/docs") if line.startswith("pip ")]
    assert build["jobs"]["install"] == [installed.replace(" -q --no-compile", "")]
    pages, site = (line for line in recipe("docs") if not line.startswith("@"))
    where = ' --site-dir "$READTHEDOCS_OUTPUT/html"'
    assert build["jobs"]["build"] == {"html": [pages, site + where]}
    assert (ROOT / "website/__main__.py").exists()
    assert (ROOT / "mkdocs.yml").exists()
