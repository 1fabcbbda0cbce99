"""Simulated days in the format of OxWearables' time series, for docs/fields/wearables.md.

The tools write `<name>-timeSeries.csv.gz`: a row every 30 s with its time, the mean acceleration,
and one column for each activity, 1 for the predicted one and 0 for the others.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

import classfilter as cf
from classfilter.support.types import Ints

ACTIVITIES = ["bicycling", "mixed", "sit-stand", "sleep", "vehicle", "walking"]


def day(seed: int) -> tuple[pd.DataFrame, Ints]:
    """Return 24 h of predictions as the option ``--no-hmm`` leaves them, and the true activities.

    The days are those of `cf.simulate`: durations and errors as in CAPTURE-24.
    """
    stream = cf.simulate("capture24", hours=24.0, step=30.0, seed=seed)
    said = stream.probs["strong"].argmax(axis=1)
    start = pd.Timestamp("2024-05-01") + pd.Timedelta(days=seed)
    index = pd.DatetimeIndex(start + pd.to_timedelta(stream.time, "s"), name="time")
    columns = {name: (said == k).astype(np.float32) for k, name in enumerate(ACTIVITIES)}
    return pd.DataFrame({"acc": np.nan, **columns}, index=index), stream.truth
