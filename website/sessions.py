"""Sessions of Python and of a shell: what the button of a block copies."""

from __future__ import annotations

import html
import re

BLOCK = re.compile(r'<div class="highlight">(<pre>.*?</pre>)', re.DOTALL)
PROMPTS = {">>> ": "... ", "$ ": "> "}
"""How a command begins, and how it goes on."""


def with_copies(content: str) -> str:
    """Let the button of each session in a page copy its commands."""
    return BLOCK.sub(_with_copy, content)


def commands(session: str) -> str | None:
    """Return a session without prompts and output; None where there is no prompt."""
    for first, more in PROMPTS.items():
        if session.startswith(first):
            lines = [line for line in session.splitlines() if line.startswith((first, more))]
            return "\n".join(line[len(first) :] for line in lines)
    return None


def _with_copy(block: re.Match[str]) -> str:
    copy = commands(html.unescape(re.sub(r"<[^>]*>", "", block[1])))
    if copy is None:
        return block[0]
    text = html.escape(copy).replace("\n", "&#10;")
    return f'<div class="highlight" data-copy="{text}">{block[1]}'
