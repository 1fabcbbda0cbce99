"""How the settings of a pipeline were found, and what they do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ..pipeline import Pipeline, has_temperature, tempered
from .calibrate import Calibration, calibrate
from .candidates import Candidate
from .effect import Effect
from .event_effect import EventEffect
from .expected_events import ExpectedCalls
from .explanation import Assumptions, without_temperatures
from .objective import Trial
from .sources import SourceFacts
from .streams_needed import Rival
from .suggestion import Suggestion
from .summary import summarise


@dataclass(frozen=True)
class TuningRecord:
    """How `tune` found the settings of a pipeline: its `tuning`. It is not saved.

    Attributes
    ----------
    reference : str
        The source that the model was estimated from.
    text : str
        What `explain` returns.
    candidate : Candidate or None
        The chosen settings.
    criterion : {"future predictions", "labels", "nothing"}
        What the score is: the mean logarithm of how much more likely later predictions of the
        reference are in the predicted class than on average; the accuracy; or nothing, where there
        was too little data.
    table : tuple of Trial
        The candidates that were tried, the best first.
    rivals : tuple of Rival
        Simple rules and other filters, and by how much the choice scores higher.
    assumptions : Assumptions or None
        What the settings rest on; None where nothing was tuned.
    effect : Effect or None
        How often the class changes on the recordings, before and after, and how soon it follows.
    event_effect : EventEffect or None
        How many events there are on the recordings, and when they are confirmed; None where `tune`
        chose no rule for events.
    suggestion : Suggestion or None
        The rule for events that follows from the recordings alone, and whether it is applied; None
        where durations or labels chose the rule, or where no reference judges.
    calibration : Calibration or None
        The temperatures that `Pipeline.calibrated` found; None before.
    by_label : mapping of str to Pipeline
        Of several labels at once, the settings of each, with a record of their own: of its two
        classes or, where it has the pooled settings, of off and on. Then `candidate` is None,
        `table` and `rivals` are empty, and `effect` counts the changes of all labels. Empty
        otherwise.
    operating : OperatingCurve or None
        What rules find, and how many of their events are false, where an operating point was asked
        for.
    expected_calls : ExpectedCalls or None
        How often the class changes between calls of the reference, where that judges others.
    why_safe : str
        Why a simple rule was chosen that cannot lose much, and what would change that; else empty.
    sources : tuple of SourceFacts
        What can be said of each of several sources without labels: how often it is right, what it
        confuses, whether it is stuck, near chance or a copy; the best first.
    """

    reference: str
    text: str = ""
    candidate: Candidate | None = None
    criterion: str = "nothing"
    table: tuple[Trial, ...] = ()
    rivals: tuple[Rival, ...] = ()
    assumptions: Assumptions | None = None
    effect: Effect | None = None
    event_effect: EventEffect | None = None
    suggestion: Suggestion | None = None
    calibration: Calibration | None = None
    by_label: Mapping[str, Pipeline] = field(default_factory=dict)
    operating: Any = None
    expected_calls: ExpectedCalls | None = None
    why_safe: str = ""
    sources: tuple[SourceFacts, ...] = ()

    def explain(self) -> str:
        """Return what was chosen, how certain that is, and what would help, in sentences."""
        return self.text

    def summary(self, pipe: Pipeline, name: str | None = None) -> str:
        """Return the same as a short table; `name` is that of the file that was tuned on."""
        return summarise(pipe, self, name)


def record_of(pipe: Pipeline) -> TuningRecord:
    """Return the record of a pipeline that `tune` returned."""
    assert isinstance(pipe.tuning, TuningRecord)
    return pipe.tuning


def noted(pipe: Pipeline, **facts: Any) -> Pipeline:
    """Return a pipeline with other facts in its record."""
    return replace(pipe, tuning=replace(record_of(pipe), **facts))


def untempered(pipe: Pipeline) -> Pipeline:
    """Return what was tuned with temperatures of 1."""
    ones = [1.0 if has_temperature(one.filter) else None for one in (pipe, pipe.smoothing)]
    return noted(tempered(pipe, *ones), text=without_temperatures(record_of(pipe).text))


def calibrated(pipe: Pipeline, recordings: Any) -> Pipeline:
    """Return a pipeline with the temperatures that labels give; see `Pipeline.calibrated`."""
    record = pipe.tuning or TuningRecord(pipe.reference)
    parts = [record, *(record_of(one) for one in record.by_label.values())]
    known = [part.assumptions for part in parts if part.assumptions is not None]
    every = max(1, round(known[0].every)) if known else None
    new, calibration, words = calibrate(pipe, recordings, every)
    text = f"{without_temperatures(record.text)}\n{words}".lstrip()
    return replace(new, tuning=replace(record, calibration=calibration, text=text))
