"""Spark: the streams of a fleet, in batches and as they come.

It needs PySpark 4.1 or later, ``pip install '.[spark]'`` in a checkout, and Java 17 or later.
PySpark is imported when a function is first used.

A DataFrame has the columns of `classfilter.inputs`. Its rows have no order; those of a stream are
taken in order of time and, at equal times, of source and then of prediction.
"""

from .batch import filter_frame
from .events import event_frame
from .stream import event_stream, filter_stream

__all__ = [
    "event_frame",
    "event_stream",
    "filter_frame",
    "filter_stream",
]

__dir__ = __all__.copy
