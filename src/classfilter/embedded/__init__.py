"""A filter as C files for firmware, and the log of a device compared with Python."""

from .device_log import verify
from .folder import export

__all__ = [
    "export",
    "verify",
]
