"""Events against the cost of a change: what `tune` chose or suggested, and what else there is."""

from __future__ import annotations

import math

from .._support.html import COLOURS, Markup, svg, table, words
from ..chain._chain import Chain
from ..tuning._event_picture import LINEAR_PART, CostMark, EventPicture, event_picture
from ..tuning._result import Tuned
from ._sections import picture, section

WIDTH, HEIGHT, LEFT, TOP = 420, 210, 48, 24


def event_costs_section(tuned: Chain) -> str:
    """Show how many events there are at each cost; nothing where `tune` chose no rule for them."""
    if not isinstance(tuned, Tuned) or tuned.event_effect is None:
        return ""
    drawn = event_picture(tuned)
    unit = drawn.unit
    how = (
        "A change of class is reported if it makes the result right for so much more time: that "
        "is its cost. The higher it is, the fewer events there are; at 0, each row has its most "
        "probable class."
    )
    rows = [
        [
            mark.rows,
            mark.name,
            drawn.cost_in_words(mark.cost),
            drawn.events_in_words(mark.events),
            drawn.events_in_words(drawn.curves[mark.rows][0][1]),
        ]
        for mark in drawn.marks
    ]
    header = ["", "", "cost of a change", f"events {unit}", "at a cost of 0"]
    said, suggestion = "", tuned.suggestion
    if drawn.expected is not None and suggestion is not None:
        verdict = "Smoothed rows need no cost"
        if suggestion.offline_cost:
            verdict = "The suggestion is " + "not " * (not suggestion.applied) + "applied"
        said = (
            f"About {drawn.events_in_words(drawn.expected)} events {unit} are expected: the "
            f"dotted line. {verdict}: {suggestion.why}. How long an event usually lasts settles "
            "it: event_duration."
        )
    title = "Events and the cost of a change"
    return section(title, how, picture(diagram(drawn)), table(header, rows), said)


def diagram(drawn: EventPicture) -> Markup:
    """Return the two curves as a picture, with a point where a cost was chosen."""
    furthest = max(curve[-1][0] for curve in drawn.curves.values())
    most = max(events for curve in drawn.curves.values() for _, events in curve)
    most = max(most, drawn.expected or 0.0)

    def along(cost: float) -> float:
        if cost <= drawn.linear:
            return LINEAR_PART * cost / drawn.linear
        return LINEAR_PART + math.log10(cost / drawn.linear)

    def at(cost: float, events: float) -> tuple[float, float]:
        return LEFT + WIDTH * along(cost) / along(furthest), TOP + HEIGHT * (1 - events / most)

    bottom = TOP + HEIGHT
    parts = [
        f'<path d="M{LEFT} {TOP}V{bottom}H{LEFT + WIDTH}" stroke="currentColor" fill="none" '
        'opacity=".5"/>',
        words(LEFT, 11, f"events {drawn.unit}", limit=60),
        words(LEFT + WIDTH / 2, bottom + 34, drawn.cost_title, "middle", limit=60),
        words(LEFT - 5, bottom + 4, "0", "end"),
        words(LEFT - 5, TOP + 4, drawn.events_in_words(most), "end"),
    ]
    for cost, text in drawn.ticks.items():
        x, _ = at(cost, 0.0)
        parts.append(f'<path d="M{x:.1f} {bottom}v4" stroke="currentColor" opacity=".5"/>')
        parts.append(words(x, bottom + 18, text, "middle"))
    beside: list[tuple[float, str, str]] = []
    dearest = max(drawn.marks, key=lambda mark: mark.cost)
    if drawn.expected is not None:
        _, y = at(0.0, drawn.expected)
        parts.append(
            f'<path d="M{LEFT} {y:.1f}h{WIDTH}" stroke="currentColor" stroke-dasharray="1 3"/>'
        )
        beside.append((y, f"to expect: {drawn.events_in_words(drawn.expected)}", ""))
    for i, ((rows, curve), colour) in enumerate(zip(drawn.curves.items(), COLOURS, strict=False)):
        places = [at(cost, events) for cost, events in curve]
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
        dashes = ' stroke-dasharray="6 3"' if i else ""
        parts.append(f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2"{dashes}/>')
        beside.append((places[-1][1], rows, colour))
        for mark in drawn.marks:
            if mark.rows == rows:
                above = mark is dearest
                parts.append(_mark(mark, *at(mark.cost, mark.events), colour, drawn, above))
    lowest = -math.inf
    for y, name, colour in sorted(beside):
        lowest = max(y, lowest + 14)  # or they would overlap
        x = LEFT + WIDTH + 10
        if colour:
            parts.append(f'<circle cx="{x}" cy="{lowest:.1f}" r="4" fill="{colour}"/>')
        parts.append(words(x + 8, lowest + 4, name, limit=40))
    return svg(LEFT + WIDTH + 190, bottom + 42, "Events by the cost of a change", parts)


def _mark(mark: CostMark, x: float, y: float, colour: str, drawn: EventPicture, above: bool) -> str:
    """Return a point with what chose it, the cost and the events; hollow where not applied."""
    cost, events = drawn.cost_in_words(mark.cost), drawn.events_in_words(mark.events)
    fill = colour if mark.applied else "none"
    point = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{fill}" stroke="{colour}"/>'
    rightwards = above or x < LEFT + WIDTH / 2
    # A falling curve is on the right and below: there, the text goes further down.
    below = 42 if rightwards else 16
    place = x + (8 if rightwards else -8), y + (-8 if above else below)
    text = f"{cost}: {events}, {mark.name}"
    return point + words(*place, text, "start" if rightwards else "end", limit=60)
