"""What MkDocs does to the pages: formulas as MathML, links to names, commands to copy."""

from __future__ import annotations

import html
import re
from typing import Any

from latex2mathml.converter import convert

import classfilter as cf
from website.sessions import with_copies

INLINE = re.compile(r'<span class="arithmatex">\\\((.*?)\\\)</span>', re.DOTALL)
DISPLAY = re.compile(r'<div class="arithmatex">\s*\\\[(.*?)\\\]\s*</div>', re.DOTALL)
NAME = re.compile(rf"<code>((?:{'|'.join(sorted(cf.__all__))})(?:\.\w+)?)</code>(?!</a>)")


def on_post_page(output: str, /, **_: Any) -> str:
    """Leave the link to the repository a link: Material would ask its host for stars and forks."""
    return output.replace(' data-md-component="source"', "")


def on_page_content(content: str, /, page: Any, **_: Any) -> str:
    """Change the HTML of a page before it gets its frame."""
    content = DISPLAY.sub(lambda formula: _mathml(formula[1], "block"), content)
    content = INLINE.sub(lambda formula: _mathml(formula[1], "inline"), content)
    if page.file.src_path.startswith("reference/"):
        content = NAME.sub(_linked, content)
    return with_copies(content)


def _mathml(latex: str, display: str) -> str:
    return str(convert(html.unescape(latex).strip(), display=display))


def _linked(name: re.Match[str]) -> str:
    return f'<autoref identifier="classfilter.{name[1]}" optional>{name[0]}</autoref>'
