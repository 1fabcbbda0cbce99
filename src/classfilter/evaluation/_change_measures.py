"""How well changes are followed: events found, the delay after a true change, changes missed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import metrics
from .._events._decide import Decoder, label_events, listed
from .._events._list import Events
from .._support.types import Array
from ..chain._event_rule import EventRule
from ..data._recording import Recording
from ._event_measures import IOU


class ChangeMeasures(NamedTuple):
    """F1 of events, the median delay after a true change, and the share of changes missed."""

    event_f1: float
    delay: float
    missed: float


class LabelledStream(NamedTuple):
    """A recording with labels, one row per step, and its true events."""

    recording: Recording
    events: Events

    @classmethod
    def of(cls, rec: Recording) -> LabelledStream | None:
        """Return a recording with its true events; None where there are no labels."""
        labelled = rec.label is not None and (rec.label >= 0).any()
        return cls(rec, label_events(rec)) if labelled else None


def change_measures(
    streams: Sequence[LabelledStream | None],
    probs: Sequence[Array],
    rules: Sequence[EventRule | None],
) -> ChangeMeasures:
    """Measure the estimates of all streams together; those without labels (None) do not count.

    Events are decided by the rule of each stream; without one, they are stretches of the most
    probable class. Rows without a label are unknown: events end there, true and predicted.
    """
    found = events = 0
    label: Any = []
    predicted: Any = []
    time: Any = []
    end = 0.0
    for stream, P, rule in zip(streams, probs, rules, strict=True):
        if stream is None:
            continue
        rec, true = stream
        assert rec.label is not None
        rule = rule or EventRule()
        rows = np.where(rec.label[:, None] >= 0, np.asarray(P, np.float64), np.nan)
        decided = Decoder(rule, rec.classes, np.float64).decide(rec.time, rows)
        wanted = [event for event in true if event.label not in rule.ignore]
        scored = metrics.event_scores(wanted, listed(None, rec, decided), iou=IOU)
        found, events = found + scored.found, events + scored.true + scored.predicted
        step = float(np.median(np.diff(rec.time))) if len(rec) > 1 else 1.0
        shifted = rec.time - rec.time[0] + end
        end = float(shifted[-1]) + 2 * step
        label += [rec.label, [-1]]  # no change is counted across a row without a label
        predicted += [P.argmax(axis=1), [0]]
        time += [shifted, [end - step]]
    if not label:
        return ChangeMeasures(math.nan, math.nan, math.nan)
    label, predicted, time = (np.concatenate(column) for column in (label, predicted, time))
    delay = metrics.detection_delay(label, predicted, time)
    return ChangeMeasures(2 * found / events if events else math.nan, delay.median, delay.missed)
