"""The contents of a report: a place for each section, and links to them."""

from __future__ import annotations

import re
from collections.abc import Sequence

_HEADING = re.compile(r"<section><h2>(.*?)</h2>")


def with_places(sections: Sequence[str]) -> tuple[list[str], list[tuple[str, str]]]:
    """Return the sections, each with an id, and the ids with the titles, which are HTML.

    Sections inside of others stay as they are.

    Examples
    --------
    >>> placed, titles = with_places(["<section><h2>Calls, and why</h2></section>", ""])
    >>> placed
    ['<section id="calls-and-why"><h2>Calls, and why</h2></section>']
    >>> titles
    [('calls-and-why', 'Calls, and why')]
    """
    placed, titles = [], []
    for section in sections:
        match = _HEADING.match(section)
        if match is None:
            continue
        place = "-".join(re.findall("[a-z0-9]+", match[1].lower()))
        placed.append(f'<section id="{place}"><h2>{match[1]}</h2>{section[match.end() :]}')
        titles.append((place, match[1]))
    return placed, titles


def links(titles: Sequence[tuple[str, str]]) -> str:
    """Return the entries of a list of contents."""
    return "".join(f'<li><a href="#{place}">{title}</a></li>\n' for place, title in titles)
