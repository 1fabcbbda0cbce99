"""The documentation site: the place of every page and of every public name, and its build."""

from __future__ import annotations

import inspect
import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
from html import unescape
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from urllib.parse import unquote, urljoin

import pytest
from website.docstrings import in_markdown
from website.gallery import draw
from website.home import AFTER, FIELDS, as_home
from website.reference import pages
from website.sessions import with_copies

import classfilter as cf
from conftest import Run

ROOT = Path(__file__).parents[1]
PAGES = dict(pages())
WORDS = """
    segments, bouts, episodes, intervals, annotation, hysteresis, onset, offset, threshold,
    debounce, patience, confirmations, suppression, cool-down, delay on, delay off, hangover,
    flicker, jitter, chattering, smoothing, majority vote, median filter, moving average,
    sliding window, post-processing, temporal filtering, tracks, id switch, class lock, VAD,
    voice activity, diarization, hypnogram, epochs, frames, tags, multi-label, calibration,
    temperature, HMM, hidden Markov model, Viterbi, forgetting, ensemble, look-ahead, latency,
    unknown
"""
"""What people search for; docs/glossary.md says what it is here."""
MODULES = ("metrics", "policy", "plot", "reference", "sklearn", "spark")


def public_names() -> list[str]:
    """Return all that users can import by a public path, as found in the modules themselves."""
    names = [f"classfilter.{name}" for name in cf.__all__ if name != "__version__"]
    for module_name in MODULES:
        module = import_module(f"classfilter.{module_name}")
        own = [
            name
            for name, value in inspect.getmembers(module)
            if (inspect.isclass(value) or inspect.isfunction(value))
            and value.__module__ == module.__name__
            and not name.startswith("_")
        ]
        names += [f"{module.__name__}.{name}" for name in getattr(module, "__all__", own)]
    return sorted(set(names))


@pytest.mark.parametrize("name", public_names())
def test_every_public_name_has_its_place_in_the_reference(name: str) -> None:
    entries = re.findall(r"^::: (\S+)$", "\n".join(PAGES.values()), re.MULTILINE)
    assert entries.count(name) == 1
    value = getattr(cf, name.removeprefix("classfilter."), None)
    if not isinstance(value, ModuleType):
        assert f"][{name}]" in PAGES["index.md"]


@pytest.mark.parametrize("command", ["filter", "stream", "tune", "verify"])
def test_the_page_of_the_command_line_has_what_help_prints(command: str, run: Run) -> None:
    _, printed, _ = run(command, "--help")
    section = PAGES["commands.md"].partition(f"\n## {command}\n")[2].partition("\n## ")[0]
    start, _, example = printed.partition("\n  Example:\n")
    options = re.findall(r"^  (?:-\w, )?(--[\w-]+)", start.partition("Options:")[2], re.MULTILINE)
    assert len(options) > 1
    rows = re.findall(r"^\| `(?:-\w, )?(--[\w-]+).*` \| \S.* \|$", section, re.MULTILINE)
    assert rows == [name for name in options if name != "--help"]
    assert f"```sh\n{textwrap.dedent(example).strip()}\n```" in section


def test_every_page_has_its_place_in_the_navigation() -> None:
    nav = (ROOT / "mkdocs.yml").read_text().partition("\nnav:\n")[2]
    files = re.findall(r" (\S+\.md)$", nav, re.MULTILINE)
    assert len(files) == len(set(files))
    expected = {page.relative_to(ROOT).as_posix() for page in ROOT.glob("docs/**/*.md")}
    assert expected | {f"reference/{name}" for name in PAGES} <= set(files)
    assert {"README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"} <= set(files)


def test_the_home_page_is_the_readme_with_its_fields_as_cards() -> None:
    readme = (ROOT / "README.md").read_text()
    home = as_home(readme)
    extra = ("---", "hide: [navigation, toc]", '<div class="grid cards" markdown>', "</div>", "")
    text = [line for line in home.splitlines() if line not in extra]
    assert sorted(text) == sorted(line for line in readme.splitlines() if line)
    titles = re.findall("^## (.*)$", home, re.MULTILINE)
    assert titles.index(FIELDS) == titles.index(AFTER) + 1
    cards = re.findall(r'^<div class="grid cards" markdown>\n\n(.*?)\n</div>$', home, re.M | re.S)
    assert len(cards) == 1
    assert all(line.startswith("- **[") for line in cards[0].splitlines())
    linked = set(re.findall(r"\((docs/fields/\w+\.md)\)", cards[0]))
    assert linked >= {f"docs/fields/{page.name}" for page in ROOT.glob("docs/fields/*.md")}


def test_docstrings_become_markdown() -> None:
    text = "Sum :math:`a_1 +\nb`.\n\n.. math:: x\n    y\n\n::\n\n    code\n\n"
    expected = "Sum $a_1 + b$.\n\n$$\nx y\n$$\n\n\n\n    code\n\n"
    shared = "a, b : int\n    Two.\nc : str\n"
    split = "a : int\n    Two.\nb : int\n    Two.\nc : str\n"
    assert in_markdown(text + shared).strip() == (expected + split).strip()


def test_a_block_of_the_gallery_gets_its_picture(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    first = "# Page\n\n```python\nx = 1\n```\n\n## A title\n\n"
    drawn = "from matplotlib.figure import Figure\nassert x\nfigure = Figure()\n"
    text = f"{first}```python\n{drawn}```\n\nText.\n"
    page.write_text(text)
    draw(page, tmp_path)
    assert page.read_text() == text.replace("\nText.", "\n![A title](a-title.png)\n\nText.")
    assert (tmp_path / "a-title.png").read_bytes().startswith(b"\x89PNG")


def test_the_button_of_a_session_copies_its_commands() -> None:
    block = '<div class="highlight"><pre><span></span><code>{}</code></pre></div>'
    python = '<span class="gp">&gt;&gt;&gt; </span>if 1 &lt; 2:\n... <b>  print("a")</b>\na\n'
    shell = "$ cat &lt;&lt; END\n&gt; a\n&gt; END\na\n$ ls\n"
    plain = block.format("ls\n&gt;&gt;&gt; 1\n")
    page = with_copies(block.format(python) + block.format(shell) + plain)
    copies = re.findall(r'<div class="highlight" data-copy="(.*?)"><pre>', page)
    assert [unescape(text) for text in copies] == [
        'if 1 < 2:\n  print("a")',
        "cat << END\na\nEND\nls",
    ]
    assert page.endswith(plain)
    assert (
        re.sub(' data-copy=".*?"', "", page) == block.format(python) + block.format(shell) + plain
    )


@pytest.mark.slow
def test_the_site_is_built_without_a_warning_and_fetches_nothing(tmp_path: Path) -> None:
    if find_spec("mkdocs") is None:
        pytest.skip("there is no MkDocs; make docs installs it")
    source, site = tmp_path / "pages", tmp_path / "site"
    env = {**os.environ, "PAGES": str(source), "NO_MKDOCS_2_WARNING": "1"}
    build = ["mkdocs", "build", "--strict", "--site-dir", str(site)]
    for command in (["website", str(source)], build):
        process = subprocess.run(
            [sys.executable, "-m", *command], cwd=ROOT, env=env, capture_output=True, text=True
        )
        assert process.returncode == 0, process.stderr
    html = {path.relative_to(site).as_posix(): path.read_text() for path in site.rglob("*.html")}
    reference = "".join(text for name, text in html.items() if name.startswith("reference/"))
    assert [name for name in public_names() if f'id="{name}"' not in reference] == []
    for name, text in html.items():
        assert broken_links(site, html, name) == [], name
        loaded = re.findall(r"<(?:script|img|iframe)[^>]* src=[\"']?([^\"'\s>]+)", text)
        loaded += re.findall(r"<link[^>]* rel=[\"']?stylesheet[^>]* href=[\"']?([^\"'\s>]+)", text)
        loaded += re.findall(r"<link[^>]* href=[\"']?([^\"'\s>]+)[^>]* rel=[\"']?stylesheet", text)
        assert [url for url in loaded if "//" in url] == [], name
        assert ":math:" not in text, name
        assert "arithmatex" not in text, name
        assert text.count('<span class="gp">$ </span>') == 0 or 'data-copy="' in text, name
    assert words_that_lead_nowhere(site) == []


def words_that_lead_nowhere(site: Path) -> list[str]:
    """Return the words for which the site's search does not list the glossary."""
    page = (ROOT / "docs/glossary.md").read_text()
    cells = re.findall(r"^\| ([^|]+) \| \[", page, re.MULTILINE)
    words = sorted({word.strip() for word in ",".join([WORDS, *cells]).split(",")})
    assert len(words) > 70
    if shutil.which("node") is None or not (ROOT / "js/node_modules").exists():
        return [word for word in words if not in_index(site, word)]
    process = subprocess.run(
        ["node", "tests/js/search_site.mjs", str(site), json.dumps(words)],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    assert process.returncode == 0, process.stderr
    result = json.loads(process.stdout)
    assert result["messages"] == []
    return [
        word
        for word in words
        if not in_index(site, word)
        or not any("docs/glossary.html" in url for url in result["found"][word])
    ]


def in_index(site: Path, word: str) -> bool:
    """Say whether a section of the glossary, as the search has it, has all parts of a word."""
    index = json.loads((site / "search/search_index.json").read_text())
    sections = [
        f"{entry['title']} {entry['text']}".lower()
        for entry in index["docs"]
        if entry["location"].startswith("docs/glossary.html#")
    ]
    assert len(sections) > 10
    return any(all(part in text for part in re.split("[ -]", word.lower())) for text in sections)


def broken_links(site: Path, html: dict[str, str], name: str) -> list[str]:
    """Return the links of a built page that lead nowhere inside the site."""
    broken = []
    for url in re.findall(r'\s(?:href|src)="?([^"\s>]+)', html[name]):
        target, _, anchor = unquote(urljoin(f"/{name}", unescape(url))).partition("#")
        if re.match("[a-z]+:", url) or name in ("404.html", "docs/example.html"):
            continue  # the page for errors is at no fixed address; the example is not of this build
        page = target[1:] + "index.html" * target.endswith("/")
        anchors = re.findall(r'\s(?:id|name)="?([^"\s>]+)', html.get(page, ""))
        if not (site / page).exists() or (anchor and page in html and anchor not in anchors):
            broken.append(url)
    return broken


def test_broken_links_of_the_site_are_detected(tmp_path: Path) -> None:
    good = '<a href="b.html#here"> <a href=#top id="top"> <a href="https://example.org/x">'
    html = {"a/a.html": good + '<a href="c.html"> <img src="b.html#x">', "a/b.html": "<p id=here>"}
    for name, text in html.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert broken_links(tmp_path, html, "a/a.html") == ["c.html", "b.html#x"]
