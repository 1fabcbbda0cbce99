"""A filter as C files for firmware, and the log of a device compared with Python."""

from .device_log import verify
from .folder import export
from .json import prepared, to_json

__all__ = [
    "export",
    "prepared",
    "to_json",
    "verify",
]
