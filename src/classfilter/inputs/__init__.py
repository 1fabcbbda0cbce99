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

from .columns import COLUMNS, Layout, TableFormat, check_named, columns_by_name_here, matches
from .csv import SEPARATORS
from .files import (
    SUFFIXES,
    TEXT,
    TableInput,
    file_suffix,
    kind_of,
    naming_file,
    read_table,
    reading,
    sink,
    table_of,
    write_table,
)
from .frames import (
    FRAMES,
    TableRows,
    as_frame,
    classes_of_labels,
    group_starts,
    most_probable,
    new_table,
    read_rows,
    result_columns,
    table_labels,
)
from .label_scores import (
    as_label_scores,
    fewest,
    label_scores,
    lane_index,
    lane_names,
    names_on,
    one_row,
    pairs,
    truth_of_labels,
)
from .names import in_order, is_series, named_classes, results_like
from .notices import interleaved, naming_streams, warn_of_streams
from .predictions import (
    DEFAULT_RELIABILITY,
    LABEL,
    Predictions,
    as_labels,
    at_reliability,
    for_filter,
    from_labels,
    label_row,
    prediction,
    predictions,
)
from .scores import SCORES, softmax
from .table_file import TableFile
from .time_kind import TimeKind, find_zone
from .time_scale import LARGEST_SECONDS, TimeScale, TimeWarning
from .times import (
    PER_SECOND,
    REMEDY,
    duration,
    parse_timestamp,
    per_second,
    positive_duration,
    read_times,
    seconds,
)

__all__ = [
    "COLUMNS",
    "DEFAULT_RELIABILITY",
    "FRAMES",
    "LABEL",
    "LARGEST_SECONDS",
    "PER_SECOND",
    "REMEDY",
    "SCORES",
    "SEPARATORS",
    "SUFFIXES",
    "TEXT",
    "Layout",
    "Predictions",
    "TableFile",
    "TableFormat",
    "TableInput",
    "TableRows",
    "TimeKind",
    "TimeScale",
    "TimeWarning",
    "as_frame",
    "as_label_scores",
    "as_labels",
    "at_reliability",
    "check_named",
    "classes_of_labels",
    "columns_by_name_here",
    "duration",
    "fewest",
    "file_suffix",
    "find_zone",
    "for_filter",
    "from_labels",
    "group_starts",
    "in_order",
    "interleaved",
    "is_series",
    "kind_of",
    "label_row",
    "label_scores",
    "lane_index",
    "lane_names",
    "matches",
    "most_probable",
    "named_classes",
    "names_on",
    "naming_file",
    "naming_streams",
    "new_table",
    "one_row",
    "pairs",
    "parse_timestamp",
    "per_second",
    "positive_duration",
    "prediction",
    "predictions",
    "read_rows",
    "read_table",
    "read_times",
    "reading",
    "result_columns",
    "results_like",
    "seconds",
    "sink",
    "softmax",
    "table_labels",
    "table_of",
    "truth_of_labels",
    "warn_of_streams",
    "write_table",
]
