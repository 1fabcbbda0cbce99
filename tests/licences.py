"""What ``pip install classfilter[EXTRA]`` brings along, with licences, as a table in Markdown.

``python tests/licences.py [EXTRA ...]`` lists the packages of this environment that classfilter
needs, or that these extras of it need, and what those need in turn; and what it has in it.
"""

from __future__ import annotations

import re
import sys
from importlib import metadata
from importlib.resources import files

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name


def required(name: str, extras: set[str]) -> list[Requirement]:
    """Return what a package needs here, with some of its extras."""
    lines = metadata.requires(name) or []
    requirements = [Requirement(line) for line in lines]
    return [
        requirement
        for requirement in requirements
        if requirement.marker is None
        or any(requirement.marker.evaluate({"extra": extra}) for extra in (extras or {""}) | {""})
    ]


def licence(name: str) -> str:
    """Return the licence that a package states: an SPDX expression, a line, or classifiers."""
    about = metadata.metadata(name)
    if about["License-Expression"]:
        return str(about["License-Expression"])
    kinds = [c.split(" :: ")[-1] for c in about.get_all("Classifier") or () if c[:7] == "License"]
    return ", ".join(kinds) or str(about["License"] or "not stated").strip().partition("\n")[0]


def packages(extras: set[str]) -> dict[str, str]:
    """Return the packages that classfilter needs with some extras, and who asked for each."""
    found: dict[str, str] = {}
    queue = [("classfilter", extras)]
    done: set[tuple[str, frozenset[str]]] = set()
    while queue:
        name, wanted = queue.pop(0)
        if (name, frozenset(wanted)) in done:
            continue
        done.add((name, frozenset(wanted)))
        for requirement in required(name, wanted):
            of = canonicalize_name(requirement.name)
            if of != "classfilter":
                found.setdefault(of, name)
            queue.append((of, set(requirement.extras)))
    return found


def charts() -> tuple[str, str]:
    """Return the version and the licence of uPlot, which classfilter has in it for its reports."""
    banner = (files("classfilter.web") / "uplot.js").read_text("utf-8").partition("*/")[0]
    version, licence = re.findall(r"uPlot (\S+) \((\S+) licence\)", banner)[0]
    return version, licence


def main(extras: list[str]) -> None:
    print("| package | version | licence | needed by |\n|---|---|---|---|")
    for name, by in sorted(packages(set(extras)).items()):
        text = re.sub(r"[|\n]", " ", licence(name))
        print(f"| {name} | {metadata.version(name)} | {text} | {by} |")
    print(f"| uPlot, in classfilter | {' | '.join(charts())} | classfilter.report |")


if __name__ == "__main__":
    main(sys.argv[1:])
