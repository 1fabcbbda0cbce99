"""Embedded: a filter as C files for firmware, and the log of a device compared with Python."""

from ._export import export
from ._verify import verify

__all__ = ["export", "verify"]
