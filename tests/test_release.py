"""What is published: the same bytes from the same sources, with a bill of what is in them."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import tarfile
import zipfile
from datetime import datetime, timezone
from importlib import metadata, util
from pathlib import Path

import pytest
from release import conda, day, files, readme, reproducible, sbom

import classfilter as cf

ROOT = Path(__file__).parents[1]
WEB = ROOT / "src/classfilter/web"


def sources(folder: Path) -> Path:
    """Copy what the bill of materials is made of."""
    (folder / "js").mkdir()
    shutil.copy(ROOT / "js/package.json", folder / "js")
    shutil.copytree(WEB, folder / "src/classfilter/web")
    return folder


def test_the_bill_has_the_package_and_what_it_brings_of_others() -> None:
    text = sbom.document(cf.__version__)
    bill = json.loads(text)
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    package = bill["metadata"]["component"]
    assert package["purl"] == f"pkg:pypi/classfilter@{cf.__version__}"
    (charts,) = bill["components"]
    version = json.loads((WEB / "built.json").read_text())["uplot"]
    assert charts["purl"] == f"pkg:npm/uplot@{version}"
    assert package["licenses"] == charts["licenses"] == [{"license": {"id": "MIT"}}]
    assert {part["name"]: part["hashes"][0]["content"] for part in charts["components"]} == {
        f"classfilter/web/{name}": hashlib.sha256((WEB / name).read_bytes()).hexdigest()
        for name in ("uplot.css", "uplot.js")
    }
    assert {part["ref"] for part in bill["dependencies"]} == {package["purl"], charts["purl"]}
    assert bill["dependencies"][0]["dependsOn"] == [charts["purl"]]
    assert text == sbom.document(cf.__version__)


def test_the_bill_has_what_is_added(tmp_path: Path) -> None:
    root = sources(tmp_path)
    fzstd = json.loads((ROOT / "js/package.json").read_text())["devDependencies"]["fzstd"]
    added = root / "src/classfilter/web/more.js"
    added.write_text(f"/*! fzstd {fzstd} (MIT licence), without its comments. */\n")
    bill = json.loads(sbom.document("1.2.3", root))
    assert [part["name"] for part in bill["components"]] == ["fzstd", "uplot"]
    added.write_text("/*! fzstd 0.0.1 (MIT licence), without its comments. */\n")
    with pytest.raises(ValueError, match=r"more\.js has fzstd 0\.0\.1, js/package\.json.*make js"):
        sbom.document("1.2.3", root)


def test_archives_have_the_day_of_the_release(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "12")
    assert day.seconds() == 12
    monkeypatch.delenv("SOURCE_DATE_EPOCH")
    released = re.search(r"date-released: (.*)", (ROOT / "CITATION.cff").read_text())
    assert released is not None
    assert datetime.fromtimestamp(day.seconds(), timezone.utc).isoformat()[:19] == (
        f"{released[1]}T00:00:00"
    )


def test_a_difference_is_named(tmp_path: Path) -> None:
    archives = [tmp_path / "a.whl", tmp_path / "b.whl"]
    for path, second in zip(archives, ("same", "other"), strict=True):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(zipfile.ZipInfo("one"), "same")
            archive.writestr(zipfile.ZipInfo("two"), second)
    assert reproducible.difference(*archives) == ["two"]
    assert reproducible.difference(archives[0], archives[0]) == []


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, Path, Path]]:
    if util.find_spec("build") is None or int(metadata.version("setuptools").split(".")[0]) < 77:
        pytest.skip("needs build and setuptools 77 or later")
    return reproducible.build_twice(tmp_path_factory.mktemp("builds"))


@pytest.mark.slow
def test_two_builds_have_the_same_bytes(built: list[tuple[str, Path, Path]]) -> None:
    assert [Path(name).suffix for name, _, _ in built] == [".whl", ".gz"]
    assert [reproducible.difference(first, second) for _, first, second in built] == [[], []]


@pytest.mark.slow
def test_the_wheel_has_its_bill_of_materials(built: list[tuple[str, Path, Path]]) -> None:
    with zipfile.ZipFile(built[0][1]) as wheel:
        folder = f"classfilter-{cf.__version__}.dist-info"
        bill = wheel.read(f"{folder}/sboms/classfilter.cdx.json").decode()
        assert bill == sbom.document(cf.__version__)
        assert (
            f"{folder}/sboms/classfilter.cdx.json,sha256="
            in wheel.read(f"{folder}/RECORD").decode()
        )
        for part in json.loads(bill)["components"][0]["components"]:
            digest = hashlib.sha256(wheel.read(part["name"])).hexdigest()
            assert digest == part["hashes"][0]["content"]
        modes = {entry.filename: entry.external_attr >> 16 & 0o777 for entry in wheel.infolist()}
    assert modes.pop(f"{folder}/RECORD") == 0o664  # always
    assert set(modes.values()) == {0o644, 0o755}


@pytest.mark.slow
def test_the_sdist_names_nobody_and_has_nothing_that_was_built(
    built: list[tuple[str, Path, Path]],
) -> None:
    with tarfile.open(built[1][2]) as archive:
        entries = {entry.name.partition("/")[2]: entry for entry in archive}
    assert {(e.uid, e.gid, e.uname, e.gname) for e in entries.values()} == {(0, 0, "", "")}
    assert {entry.mtime for entry in entries.values()} == {day.seconds()}
    assert not entries.keys() & set(reproducible.LEFT_BEHIND)
    assert {"release/sbom.py", "js/package.json", "CITATION.cff"} <= entries.keys()


def test_files_of_a_release_are_all_there(tmp_path: Path) -> None:
    name = f"classfilter-{cf.__version__}"
    platforms = ["manylinux_2_28_x86_64", "manylinux2014_aarch64.manylinux_2_17_aarch64"]
    platforms += ["musllinux_1_2_x86_64", "musllinux_1_2_aarch64"]
    platforms += ["macosx_10_9_x86_64", "macosx_11_0_arm64", "win_amd64"]
    tags = [f"{python}-{p}" for python in ("cp310-abi3", "cp314-cp314t") for p in platforms]
    for tag in [*tags, "cp310-abi3-pyemscripten_2026_0_wasm32"]:
        with zipfile.ZipFile(tmp_path / f"{name}-{tag}.whl", "w") as wheel:
            wheel.writestr(f"{name}.dist-info/sboms/classfilter.cdx.json", "{}")
    for end in ("tar.gz", "tgz"):
        (tmp_path / f"{name}.{end}").touch()
    assert files.problems(tmp_path, f"v{cf.__version__}") == []
    assert files.problems(tmp_path, "v0.0.1") == [f"the tag is v0.0.1, not v{cf.__version__}"]
    (tmp_path / f"{name}-cp310-abi3-win_amd64.whl").unlink()
    with zipfile.ZipFile(tmp_path / "classfilter-0.0.1-cp310-abi3-win_amd64.whl", "w"):
        pass
    missing, other, bill = files.problems(tmp_path)
    assert missing.startswith("0 files match")
    assert other.endswith("is no file of this release")
    assert bill.endswith("has no bill of materials")


def test_the_workflow_publishes_only_what_was_checked_and_tagged() -> None:
    yaml = pytest.importorskip("yaml")
    jobs = yaml.safe_load((ROOT / ".github/workflows/wheels.yml").read_text())["jobs"]
    for name in ("publish-python", "publish-npm"):
        assert jobs[name]["needs"] == "check"
        assert jobs[name]["if"] == "startsWith(github.ref, 'refs/tags/v')"
        assert jobs[name]["permissions"] == {"id-token": "write"}
    assert set(jobs["check"]["needs"]) == {"wheel", "sdist", "npm"}
    assert all("permissions" not in job for name, job in jobs.items() if "publish" not in name)


@pytest.mark.parametrize("name", ["tests", "wheels"])
def test_actions_are_pinned(name: str) -> None:
    """By the commit, with its version beside it; those of PyPA by the whole version."""
    text = (ROOT / f".github/workflows/{name}.yml").read_text()
    used = re.findall(r"uses: (.*)", text)
    assert used
    for action in used:
        by_commit = re.fullmatch(r"actions/[a-z-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action)
        assert by_commit or re.fullmatch(r"pypa/[a-z-]+@v\d+\.\d+\.\d+", action), action
    versions = dict(re.findall(r"uses: (\S+) # (\S+)", text))
    assert len(versions) == len({action.partition("@")[0] for action in versions})  # one of each


@pytest.mark.parametrize("name", ["tests", "wheels"])
def test_files_that_workflows_name_are_there(name: str) -> None:
    text = (ROOT / f".github/workflows/{name}.yml").read_text()
    named = re.findall(r"\btests/[\w/]+\.py", text)
    assert named or name == "wheels"
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_the_recipe_asks_for_what_the_package_asks_for(tmp_path: Path) -> None:
    yaml = pytest.importorskip("yaml")
    sdist = tmp_path / "classfilter.tar.gz"
    sdist.write_bytes(b"sources")
    recipe = yaml.safe_load(conda.recipe("https://example.org/classfilter.tar.gz", sdist))
    assert recipe["source"] == {
        "url": "https://example.org/classfilter.tar.gz",
        "sha256": hashlib.sha256(b"sources").hexdigest(),
    }
    pyproject = (ROOT / "pyproject.toml").read_text()
    quoted = {
        key: re.findall('"(.*?)"', found[1])
        for key in ("requires", "dependencies")
        if (found := re.search(rf"^{key} = \[(.*)\]$", pyproject, re.M))
    }
    asked = {key: {name.replace(" ", "") for name in names} for key, names in quoted.items()}
    host = {line.replace(" ", "") for line in recipe["requirements"]["host"] if type(line) is str}
    run = {line.replace(" ", "") for line in recipe["requirements"]["run"]}
    assert host == {"python", "pip", *asked["requires"]}
    assert run == {"python", *asked["dependencies"]}
    (command,) = recipe["build"]["python"]["entry_points"]
    assert command.replace(" = ", ' = "') + '"\n' in pyproject


def test_the_links_of_the_description_lead_to_pages_of_the_site() -> None:
    """An index shows the README by itself."""
    description = str(metadata.metadata("classfilter").json["description"])
    links = re.findall(r"\]\(([^)\s]+)\)", description)
    places = [link.removeprefix(readme.SITE) for link in links if link.startswith(readme.SITE)]
    assert len(places) > 20
    assert [link for link in links if not link.startswith(("#", "https://"))] == []
    sources = [re.sub(r"[.]html(#.*)?$", ".md", place) for place in places]
    assert [source for source in sources if not (ROOT / source).exists()] == []
