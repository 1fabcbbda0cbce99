"""The documentation: its console blocks, with what they print, and its links."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/**/*.md"))]


def blocks(page: Path) -> list[str]:
    return re.findall(r"^```console\n(.*?)^```$", page.read_text(), re.DOTALL | re.MULTILINE)


def commands(block: str) -> list[tuple[str, str]]:
    """Return each command of a block, and the output that follows it."""
    pairs = re.findall(r"^\$ (.*(?:\n> .*)*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE)
    return [(command.replace("\n> ", "\n"), output) for command, output in pairs]


def test_commands_are_parsed() -> None:
    block = "$ cat << END\n> a\n> END\na\n$ true\n$ echo b\nb\n"
    assert commands(block) == [("cat << END\na\nEND", "a\n"), ("true", ""), ("echo b", "b\n")]
    assert sum(len(blocks(page)) for page in PAGES) >= 6


def test_the_readme_is_short() -> None:
    readme = (ROOT / "README.md").read_text()
    prose = re.sub(r"^```.*?^```$", "", readme, flags=re.DOTALL | re.MULTILINE)
    assert 500 < len(re.findall(r"\S*\w\S*", prose)) < 850


def test_the_readme_has_the_commands_of_the_set_up_and_ci_runs_the_second() -> None:
    start = (ROOT / "README.md").read_text().partition("\n## ")[0]
    commands = re.findall(r"^make (\S+)", start, re.MULTILINE)
    assert commands == ["demo", "test"]
    ci = re.findall(r"^make (.*)$", (ROOT / ".ci/run").read_text(), re.MULTILINE)
    assert commands[1] in " ".join(ci).split()


def test_the_readme_has_the_papers_table_beside_ours() -> None:
    rows = re.findall(r"^\| (?:\[.*?\]\((.*?)\)|Capture-24, in the paper) \| (.*) \|$",
                      (ROOT / "README.md").read_text(), re.MULTILINE)  # fmt: skip
    printed = {page: cells.split(" | ") for page, cells in rows}
    methods = ("Raw", "Simple", "Single", "Multiple")
    assert len(printed) == 3
    for page, cells in printed.items():
        name = page or "experiments/results/wisdm-chained.md"
        table = (ROOT / name).read_text().partition("\nTable I, ")[2].partition("\nTable II")[0]
        lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()]
        lines = [line for line in lines if line]
        column = lines[0].index("accuracy, %" if page else "paper, Capture-24")
        found = {line[0]: line for line in lines}
        assert cells == [found[method][column] for method in methods]


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken_links(page: Path) -> list[str]:
    links = re.findall(r"\]\(([^)\s]+)\)", page.read_text())
    broken = []
    for link in links:
        name, _, anchor = link.partition("#")
        target = page.parent / name if name else page
        external = re.match(r"[a-z]+:", link)
        if not external and (not target.exists() or (anchor and anchor not in anchors(target))):
            broken.append(link)
    return broken


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links(page: Path) -> None:
    assert broken_links(page) == []


def test_broken_links_are_detected(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    links = "[a](other.md) [b](#a-heading) [c](#no-heading) [d](page.md#a-heading)"
    page.write_text(f"# A heading\n{links} [e](page.md#none) [f](https://example.org)\n")
    assert broken_links(page) == ["other.md", "#no-heading", "page.md#none"]


def test_the_tests_that_pages_name_are_there() -> None:
    missing = []
    names = 0
    for page in PAGES:
        for path, name in re.findall(r"\b(tests/[\w./]*\w)(?:::(\w+))?", page.read_text()):
            file, names = ROOT / path, names + 1
            if not file.exists() or (name and f"def {name}(" not in file.read_text()):
                missing.append((page.name, path, name))
    assert names > 30
    assert not missing


def test_excerpts_are_in_the_source() -> None:
    """Each C block of the page about the search stands in the core, whitespace aside."""
    page = (ROOT / "docs/numerics.md").read_text()
    excerpts = re.findall(r"^```c\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    sources = [" ".join(p.read_text().split()) for p in (ROOT / "src/classfilter/csrc").glob("*.h")]
    missing = [e for e in excerpts if not any(" ".join(e.split()) in s for s in sources)]
    assert len(excerpts) > 6
    assert not missing, missing[0]


# These run on more data what tests/cli has tests of, one process for each command.
LONG = (
    "README.md", "embedded.md", "events.md", "quickstart.md", "inputs.md", "report.md", "tuning.md",
)  # fmt: skip


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=pytest.mark.slow) if page.name in LONG else page
        for page in PAGES
        if blocks(page)
    ],
    ids=lambda page: page.name,
)
def test_console(page: Path, tmp_path: Path) -> None:
    """The blocks of a page run in turn, in one folder and one shell; `examples` is there."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    expected = [pair for block in blocks(page) for pair in commands(block)]
    marked = "".join(f"{command}\nset -- $?; echo '=='; (exit $1)\n" for command, _ in expected)
    bin_folder = Path(sys.executable).parent
    process = subprocess.run(
        ["bash", "-c", marked],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}"},
    )
    outputs = process.stdout.split("==\n")[:-1]
    assert list(zip([command for command, _ in expected], outputs, strict=True)) == expected
