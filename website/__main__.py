"""Lay out the pages for MkDocs: ``python -m website [FOLDER]``, by default ``build/website``."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

from classfilter.report.page import fill_page
from website.gallery import draw
from website.home import as_home
from website.reference import pages

ROOT = Path(__file__).parents[1]
FILES = [
    "README.md",
    "C*.md",
    "SECURITY.md",
    "CITATION.cff",
    "docs/**/*.md",
    "docs/**/*.png",
    "benchmarks/README.md",
    "examples/**/*.py",
    "experiments/results/*",
]
RARELY_FOUND = "---\nsearch:\n  boost: 0.1\n---\n\n"
HEADING = "## The example page\n"
EMPTY = (
    "Drop a file of predictions to see them filtered, with their events. Nothing is tuned here: "
    "the sliders start from a sticky filter, and classfilter tune finds better settings."
)


def lay_out(target: Path) -> None:
    """Copy the pages, and write the reference and the pictures of the gallery."""
    shutil.rmtree(target, ignore_errors=True)
    for pattern in FILES:
        for file in sorted(ROOT.glob(pattern)):
            copy = target / file.relative_to(ROOT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            if file.suffix == ".md":
                text = as_sessions(file.read_text("utf-8"))
                if file == ROOT / "README.md":
                    text = as_home(text)
                if file.parent.name == "results":  # long tables: other pages explain
                    text = RARELY_FOUND + text
                copy.write_text(text, "utf-8")
            else:
                shutil.copyfile(file, copy)
    for asset in ("style.css", "iframe-worker.js"):
        shutil.copyfile(ROOT / "website" / asset, target / asset)
    for name, text in pages():
        page = target / "reference" / name
        page.parent.mkdir(exist_ok=True)
        page.write_text(text, "utf-8")
    draw(target / "docs/gallery.md", ROOT)
    (target / "docs/example.html").write_text(fill_page(EMPTY, "", [], None), "utf-8")
    page = target / "docs/javascript.md"
    text = page.read_text("utf-8")
    assert HEADING in text
    page.write_text(text.replace(HEADING, f"{HEADING}\n[Open the page](example.html)\n"), "utf-8")


def as_sessions(text: str) -> str:
    """Name Python blocks with a prompt as such, so that their output is not coloured as code."""
    return re.sub(r"^```python\n(?=>>> )", "```pycon\n", text, flags=re.MULTILINE)


if __name__ == "__main__":
    lay_out(Path(sys.argv[1]) if sys.argv[1:] else ROOT / "build/website")
