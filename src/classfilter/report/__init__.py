"""The report: one file with pictures, tables and sliders, which opens in a browser."""

from .page import TUNED, report

__all__ = [
    "TUNED",
    "report",
]
