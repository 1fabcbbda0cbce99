"""The reference: which page has which public name. mkdocstrings fills in the docstrings."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from importlib import import_module

import classfilter as cf
from classfilter.events import FORMATS
from classfilter.filters import KINDS
from website import commands

TOPICS = {
    "Filters": (
        " ".join(kind.__name__ for kind in KINDS.values())
        + " DirichletState StickyState Filter MultiLabelFilter Bank smooth"
    ),
    "Pipelines": "Pipeline load Channel beta_from_confusion softmax",
    "Data": "Rows rows filter_table smooth_table filter_file read_table write_table",
    "Events": "events EventRule ThresholdRule Event Events label_events read_events write_events",
    "Tuning": "tune",
    "Evaluation": "compare Comparison report simulate",
    "Live": "Tracker Cascade CascadeState Step",
    "Errors": "ArgumentError RowError",
}
"""Pages of names of the package itself."""

MODULES = "policy metrics plot sklearn spark embedded reference"
"""Modules with a page each, which has all their public names."""

DOCSTRING_ONLY = """
    options:
      members: false
      show_root_heading: false
      show_root_toc_entry: false"""


def public_names(module_name: str) -> list[str]:
    """Return what a module exports: `__all__`, or its own classes and functions."""
    module = import_module(f"classfilter.{module_name}")
    if hasattr(module, "__all__"):
        return list(module.__all__)
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_")
        and (inspect.isclass(value) or inspect.isfunction(value))
        and value.__module__ == module.__name__
    ]


def pages() -> Iterator[tuple[str, str]]:
    """Yield the path of each page and its text; the first is the list of all names."""
    sections = []
    bodies = []
    for topic, names in TOPICS.items():
        identifiers = [f"classfilter.{name}" for name in names.split()]
        sections.append(_section(topic, identifiers))
        page = _page(topic, identifiers) + (formats() if topic == "Events" else "")
        bodies.append((f"{topic.lower()}.md", page))
    for module in MODULES.split():
        path = f"classfilter.{module}"
        identifiers = [f"{path}.{name}" for name in public_names(module)]
        sections.append(_section(f"`{path}`", identifiers))
        heading = f"{path} {{ #{path} }}"
        bodies.append((f"{module}.md", _page(heading, [path + DOCSTRING_ONLY, *identifiers])))
    yield "index.md", _index(sections)
    yield "commands.md", commands.page()
    yield from bodies


def formats() -> str:
    """Return a table of the formats of event files."""
    lines = ["", "## Formats", ""]
    lines += ["| format | suffix | read, too | streams | probability | dates | names rejected |"]
    lines += ["|---|---|---|---|---|---|---|"]
    for kind in FORMATS.values():
        cells = [
            kind.title,
            ", ".join(f"`{suffix}`" for suffix in kind.suffixes),
            "yes" if kind.read else "no",
            "yes" if kind.streams else "one",
            "yes" if kind.probability else "no",
            "with `start=`" if kind.seconds else "yes",
            kind.refused,
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _index(sections: list[str]) -> str:
    start = f"# Reference\n\nEvery public name of `classfilter` {cf.__version__}. "
    start += "`import classfilter as cf` gives those of the first eight tables. "
    start += "The command line has [a page of its own](commands.md).\n\n"
    return start + "\n".join(sections)


def _page(title: str, entries: list[str]) -> str:
    return "\n\n".join([f"# {title}", *(f"::: {entry}" for entry in entries)]) + "\n"


def _section(title: str, identifiers: list[str]) -> str:
    rows = [f"| [`{name.rsplit('.')[-1]}`][{name}] | {_summary(name)} |" for name in identifiers]
    return "\n".join([f"## {title}", "", "| | |", "|---|---|", *rows, ""])


def _summary(identifier: str) -> str:
    """Return the first line of a docstring; a constant has none."""
    module, _, name = identifier.rpartition(".")
    value = getattr(import_module(module), name)
    documented = inspect.isclass(value) or inspect.isfunction(value)
    return ((inspect.getdoc(value) if documented else "") or "").split("\n")[0]
