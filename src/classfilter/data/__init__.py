"""Recordings, dataframes and files of class probabilities.

A table has the columns ``time``, one ``p_<class>`` per class and, optionally, ``stream``,
``source`` and ``label``; other columns are kept as they are. Instead of ``p_<class>`` it may have a
column ``prediction`` with the predicted classes, empty where there is none. The rows of a stream
are in order of time; streams may be interleaved. Without ``source``, all rows have one source,
``"default"``. A row whose probabilities are all null or NaN is a missing observation. A whole
number as a label or as a prediction is an index, unless all classes are named by whole numbers:
then it is a name. Results add ``f_<class>`` and ``class``.

Dataframes may be those of pandas, Polars or PyArrow, and need narwhals.
"""

from .._support.imports import public
from ._batch import Filtered, filter_file, filter_table, smooth_table
from ._files import read_table, write_table
from ._recording import Recording
from ._recordings import recordings

__all__ = [
    "Filtered",
    "Recording",
    "filter_file",
    "filter_table",
    "read_table",
    "recordings",
    "smooth_table",
    "write_table",
]

public(Recording)
public(Filtered, module=__name__)
