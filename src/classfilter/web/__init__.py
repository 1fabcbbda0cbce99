"""The report: one file with pictures, tables and sliders, which opens in a browser."""

from ._report import report

__all__ = ["report"]
