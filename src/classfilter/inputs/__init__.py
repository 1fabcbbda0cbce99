"""Predictions of classifiers, from dataframes, files and arrays.

A table has the columns ``time``, one ``p_<class>`` per class and, optionally, ``stream``,
``source`` and ``label``; other columns are kept as they are. Instead of ``p_<class>`` it may have a
column ``probs`` with a list of all probabilities in each cell, or a column ``prediction`` with the
predicted classes, empty where there is none. The rows of a stream are in order of time; streams may
be interleaved. Without ``source``, all rows have one source, ``"default"``. A row whose
probabilities are all null or NaN is a missing observation. A whole number as a label or as a
prediction is an index, unless all classes are named by whole numbers: then it is a name. Results
add ``f_<class>`` and ``class``.

Dataframes may be those of pandas, Polars or PyArrow, and need narwhals.
"""

from ..support.imports import public
from .classes import factorized_indices, in_order, named_classes, results_like, table_label_indices
from .columns import (
    COLUMNS,
    Layout,
    TableFormat,
    check_named,
    filtered_format,
    filtered_heads,
    matches,
)
from .files import (
    SEPARATORS,
    SUFFIXES,
    TEXT,
    TableFile,
    TableInput,
    as_numbers,
    file_suffix,
    kind_of,
    naming_file,
    naming_lines,
    read_table,
    reading,
    sink,
    table_of,
    write_table,
)
from .frames import FRAMES, as_frame, classes_of_labels, new_table, result_columns
from .heads import EXCLUSIVE, LABELS, Heads, heads_of
from .notices import (
    LARGEST_SECONDS,
    OddRowsWarning,
    Spelling,
    TimeScale,
    interleaved,
    order_of,
    warn_of,
)
from .outputs import (
    DEFAULT_RELIABILITY,
    LABEL,
    SCORES,
    as_labels,
    as_probabilities,
    at_reliability,
    check_heads,
    for_filter,
    head_prediction,
    label_row,
    label_scores,
    one_row,
    pairs,
    prediction,
    predictions,
    softmax,
    truth_of_heads,
)
from .predicted import SORT, Rows, grouped, source_codes, usual_step
from .reader import as_rows, is_read, read_rows, rows, rows_of_table, rows_to_filter
from .times import (
    PER_SECOND,
    REMEDY,
    TimeKind,
    duration,
    find_zone,
    parse_timestamp,
    per_second,
    positive_duration,
    read_times,
    seconds,
)

__all__ = [
    "COLUMNS",
    "DEFAULT_RELIABILITY",
    "EXCLUSIVE",
    "FRAMES",
    "LABEL",
    "LABELS",
    "LARGEST_SECONDS",
    "PER_SECOND",
    "REMEDY",
    "SCORES",
    "SEPARATORS",
    "SORT",
    "SUFFIXES",
    "TEXT",
    "Heads",
    "Layout",
    "OddRowsWarning",
    "Rows",
    "Spelling",
    "TableFile",
    "TableFormat",
    "TableInput",
    "TimeKind",
    "TimeScale",
    "as_frame",
    "as_labels",
    "as_numbers",
    "as_probabilities",
    "as_rows",
    "at_reliability",
    "check_heads",
    "check_named",
    "classes_of_labels",
    "duration",
    "factorized_indices",
    "file_suffix",
    "filtered_format",
    "filtered_heads",
    "find_zone",
    "for_filter",
    "grouped",
    "head_prediction",
    "heads_of",
    "in_order",
    "interleaved",
    "is_read",
    "kind_of",
    "label_row",
    "label_scores",
    "matches",
    "named_classes",
    "naming_file",
    "naming_lines",
    "new_table",
    "one_row",
    "order_of",
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
    "rows",
    "rows_of_table",
    "rows_to_filter",
    "seconds",
    "sink",
    "softmax",
    "source_codes",
    "table_label_indices",
    "table_of",
    "truth_of_heads",
    "usual_step",
    "warn_of",
    "write_table",
]

public(Rows)
