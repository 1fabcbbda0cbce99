"""What is published, and by which steps: one version, one address, pinned actions."""

from __future__ import annotations

import re
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

import classfilter as cf

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
SITE = "https://classfilter.readthedocs.io"
SOURCE = "https://github.com/classfilter/classfilter"


@pytest.mark.parametrize(
    ("file", "pattern"),
    [
        ("src/classfilter/csrc/cf.h", r'#define CF_VERSION "(.*)"'),
        ("js/package.json", r'"version": "(.*)"'),
        ("CITATION.cff", r"\nversion: (.*)\n"),
        ("CHANGELOG.md", r"\n## ([0-9.]+) - "),
        ("docs/javascript.md", r"classfilter-([0-9.]+)\.tgz"),
    ],
)
def test_there_is_one_version(file: str, pattern: str) -> None:
    found = re.search(pattern, (ROOT / file).read_text())
    assert found is not None
    assert found[1] == cf.__version__


@pytest.mark.parametrize(
    ("file", "pattern", "address"),
    [
        ("pyproject.toml", r'\nHomepage = "(.*)"', SITE),
        ("pyproject.toml", r'\nDocumentation = "(.*)"', SITE),
        ("pyproject.toml", r'\nSource = "(.*)"', SOURCE),
        ("pyproject.toml", r'\nIssues = "(.*)"', f"{SOURCE}/issues"),
        ("pyproject.toml", r'\nChangelog = "(.*)"', f"{SITE}/en/latest/CHANGELOG.html"),
        ("mkdocs.yml", r"\nrepo_url: (.*)\n", SOURCE),
        ("CITATION.cff", r"\nurl: (.*)\n", SITE),
        ("CITATION.cff", r"\nrepository-code: (.*)\n", SOURCE),
        ("js/package.json", r'"homepage": "(.*)"', SITE),
        ("js/package.json", r'"url": "(.*)"', f"git+{SOURCE}.git"),
        ("js/package.json", r'"bugs": "(.*)"', f"{SOURCE}/issues"),
        ("src/classfilter/embedded/firmware/library.properties", r"\nurl=(.*)\n", SITE),
        ("src/classfilter/embedded/firmware/idf_component.yml", r"\nurl: (.*)\n", SITE),
    ],
)
def test_addresses_are_the_same_everywhere(file: str, pattern: str, address: str) -> None:
    found = re.search(pattern, (ROOT / file).read_text())
    assert found is not None
    assert found[1] == address


def test_the_day_of_the_release_is_that_of_the_changelog() -> None:
    dates = [
        re.search(pattern, (ROOT / file).read_text())
        for file, pattern in (
            ("CITATION.cff", r"\ndate-released: (.*)\n"),
            ("CHANGELOG.md", r"\n## [0-9.]+ - (.*)\n"),
        )
    ]
    assert len({found[1] if found else "" for found in dates}) == 1


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
    required = metadata.requires("classfilter") or []
    assert [line for line in required if "extra ==" not in line] == ["numpy>=1.23"]


def test_a_package_index_shows_the_readme_with_whole_addresses() -> None:
    """It has no other file of the repository."""
    description = str(metadata.metadata("classfilter").json["description"])
    links = re.findall(r"\]\(([^)\s]+)\)", description)
    assert len([link for link in links if link.startswith(f"{SITE}/en/latest/docs/")]) > 10
    assert [link for link in links if not link.startswith(("#", "https://"))] == []


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


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_are_pinned_and_get_no_credentials(path: Path) -> None:
    """By the commit, with its version beside it: a tag can be moved."""
    text = path.read_text()
    used = re.findall(r"uses: (.*)", text)
    assert used
    for action in used:
        assert re.fullmatch(r"(actions|pypa)/[a-z-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action)
    assert len(set(used)) == len({action.partition("@")[0] for action in used})  # one of each
    checkouts = re.findall(
        r"uses: actions/checkout@.*\n +with:\n +persist-credentials: false\n", text
    )
    assert len(checkouts) == text.count("uses: actions/checkout@") > 0


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_files_that_workflows_name_are_there(path: Path) -> None:
    named = re.findall(r"\btests/[\w/]+\.py", path.read_text())
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_the_workflow_publishes_only_what_was_checked_and_tagged() -> None:
    yaml: Any = pytest.importorskip("yaml")
    jobs = yaml.safe_load((ROOT / ".github/workflows/wheels.yml").read_text())["jobs"]
    for name in ("publish-python", "publish-npm"):
        assert jobs[name]["needs"] == "check"
        assert jobs[name]["if"] == "startsWith(github.ref, 'refs/tags/v')"
        assert jobs[name]["permissions"] == {"id-token": "write"}
    assert set(jobs["check"]["needs"]) == {"wheel", "sdist", "npm"}
    assert all("permissions" not in job for name, job in jobs.items() if "publish" not in name)
