"""Formats of event files: one a module, found by being in this folder."""

from importlib import import_module
from pkgutil import iter_modules

from .checks import Format, check_events, check_streams

_MODULES = [import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__)]
_FOUND: list[Format] = [module.FORMAT for module in _MODULES if hasattr(module, "FORMAT")]
FORMATS = {kind.name: kind for kind in sorted(_FOUND, key=lambda kind: kind.name)}
"""By name."""

__all__ = ["FORMATS", "Format", "check_events", "check_streams"]
