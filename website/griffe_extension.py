"""The step between griffe, which reads the docstrings, and mkdocstrings, which shows them."""

from __future__ import annotations

from typing import Any

import griffe

from website.docstrings import in_markdown


class Markdown(griffe.Extension):  # type: ignore[misc, unused-ignore]
    """Rewrite every docstring."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        """Rewrite the docstring of one object."""
        if obj.docstring is not None:
            obj.docstring.value = in_markdown(obj.docstring.value)
