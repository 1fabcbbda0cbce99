"""Data: recordings, dataframes and files of class probabilities."""

from .._public import public
from ._batch import Filtered, filter_file, filter_table
from ._files import read_table, write_table
from ._recording import Recording, recordings

__all__ = [
    "Filtered",
    "Recording",
    "filter_file",
    "filter_table",
    "read_table",
    "recordings",
    "write_table",
]

public(Recording)
public(Filtered, module=__name__)
