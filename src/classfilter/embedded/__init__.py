"""A filter as C files for firmware, and the log of a device compared with Python."""

from .export import export
from .json import prepared, to_json
from .verify import verify

__all__ = [
    "export",
    "prepared",
    "to_json",
    "verify",
]
