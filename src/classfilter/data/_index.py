"""The index of a pandas dataframe in place of columns: the time, the stream and the source."""

from __future__ import annotations

from typing import Any

from .._support.imports import import_optional
from ._format import TableFormat

FROM_INDEX = ("time", "stream", "source")


def index_columns(frame: Any, format: TableFormat) -> dict[str, Any]:  # noqa: A002
    """Return the levels of a pandas index that stand for columns, by the name of the column.

    A level counts by its name, and an index of dates or of timedeltas is the time whatever its name
    is. A column of the name goes before the index.
    """
    nw, pandas = import_optional("narwhals"), import_optional("pandas")
    index = frame.to_native().index
    levels = [index.get_level_values(i) for i in range(index.nlevels)]
    wanted = {format.columns.get(name, name): name for name in FROM_INDEX}
    wanted = {column: name for column, name in wanted.items() if column not in frame.columns}
    found = {level.name: level for level in levels if level.name in wanted}
    if "time" in wanted and "time" not in found and "time" not in format.columns:
        times = [x for x in levels if isinstance(x, (pandas.DatetimeIndex, pandas.TimedeltaIndex))]
        if len(times) == 1:
            found["time"] = times[0]
    return {
        name: nw.from_native(level.to_series(name=name), series_only=True)
        for name, level in found.items()
    }
