"""Several heads at once: each is tuned by itself, and labels with little data together.

The lane of a head is a recording of its classes, so each is an ordinary tuning. The *pooled*
settings are those of the lanes of all labels as streams of one problem, off or on. A label takes
them where it has too little data of its own.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..filters import MultiLabelFilter, with_classes
from ..inputs import Heads, Rows
from ..pipeline import Pipeline
from ..support.types import Bools
from .candidates import RULES
from .criterion import LABELS
from .effect import Effect, last_predictions, measure_changes
from .explanation import after, changes_in_words, name_of, weights_in_words
from .folds import MIN_PREDICTIONS, count_predictions, without_silent
from .model import MIN_AGREEMENT
from .objective import Progress
from .record import TuningRecord, record_of, untempered
from .thinning import thin

MIN_STRETCHES = 15
"""A label that is on, or off, in fewer stretches takes the pooled settings: on simulated labels its
own were worse below about 7, and better above."""
OFF_AND_ON = Heads.exclusive(["off", "on"])

TuneLanes = Callable[[list[Rows]], Pipeline]
"""Tunes on recordings of two classes."""


class LabelChoice(NamedTuple):
    """The settings of a label, and why they are the pooled ones; empty where they are its own."""

    tuned: Pipeline
    why_pooled: str


class LabelTuning:
    """The settings of each label, and all of them as one pipeline.

    Parameters
    ----------
    recordings : sequence of Rows
        Of several labels at once.
    reference : str
        The source to trust most.
    tune_lanes : callable
        Tunes on recordings of two classes, with the same reference.
    every : int, optional
        Steps from one call of the reference to the next; see `thin`.
    labels : bool
        Whether settings are chosen by the labels of the recordings, their truth.
    """

    def __init__(
        self,
        recordings: Sequence[Rows],
        reference: str,
        tune_lanes: TuneLanes,
        *,
        every: int | None = None,
        labels: bool = False,
    ) -> None:
        self.recordings, self.reference, self._tune_lanes = recordings, reference, tune_lanes
        self.heads = recordings[0].heads
        self.labels = self.heads.names
        self._every, self._by_truth = every, labels
        self._warned: dict[str, list[str]] = {}
        seen = (name for rec in recordings for name in rec.source_names[rec.observed()].tolist())
        self.sources = tuple(dict.fromkeys([reference, *seen]))

    @cached_property
    def pooled(self) -> Pipeline:
        """The settings of all labels together."""
        labels = [self.labels[h] for h in self.heads.labels]
        lanes = [off_and_on(lane) for label in labels for lane in self.lanes(label)]
        tuned, texts = self._tune(lanes)
        self._note(texts, "all labels together")
        return tuned

    def lanes(self, label: str) -> list[Rows]:
        """Return the recordings of one head, without the sources that never predict it."""
        return without_silent([rec.head(label) for rec in self.recordings])[0]

    def choose(self, label: str) -> LabelChoice:
        """Return the settings of a head."""
        lanes = self.lanes(label)
        if not self._is_label(label):
            tuned, texts = self._tune(lanes)
            self._note(texts, repr(label))
            return LabelChoice(tuned, "")
        why = self._too_little(thin(lanes, self.reference, self._every).recordings)
        if not why:
            tuned, texts = self._tune(lanes)
            why = _unsure(tuned, self.reference)
            if not why:
                self._note(texts, repr(label))
                return LabelChoice(tuned, "")
        return LabelChoice(self.pooled, why)

    def join(
        self, choices: Mapping[str, LabelChoice], text: str = "", effect: Effect | None = None
    ) -> Pipeline:
        """Return the settings of all labels as one pipeline."""
        of_labels = {label: choice.tuned for label, choice in choices.items()}
        smoother = None
        if any(tuned.smoother is not None for tuned in of_labels.values()):
            slow = {label: tuned.smoothing for label, tuned in of_labels.items()}
            smoother = Pipeline(**self._parts(slow))
        criteria = [record_of(tuned).criterion for tuned in of_labels.values()]
        record = TuningRecord(
            self.reference,
            text,
            criterion=next((name for name in criteria if name != "nothing"), "nothing"),
            effect=effect,
            by_label=of_labels,
        )
        return Pipeline(**self._parts(of_labels), smoother=smoother, tuning=record)

    def result(
        self, max_changes: float | None = None, progress: Progress | None = None
    ) -> Pipeline:
        """Return the pipeline of all labels with its explanation, and pass on all warnings."""
        choices, effects = {}, {}
        for done, label in enumerate(self.labels):
            choices[label] = self.choose(label)
            effects[label] = self._effect(label, choices[label])
            if progress is not None:
                progress((done + 1) / len(self.labels))
        effect = _together(list(effects.values()))
        text = self._explain(choices, effects, effect)
        tuned = self.join(choices, text, effect)
        self._warn(5)
        often = [
            repr(label)
            for label, effect in effects.items()
            if choices[label].why_pooled
            and max_changes is not None
            and effect.changes_per_hour > max_changes
        ]
        if often:
            warnings.warn(
                f"{', '.join(often)}: with the pooled settings there are more than {max_changes:g} "
                "switches per hour. Allow more switches, or record for longer.",
                stacklevel=4,
            )
        return tuned

    def _tune(self, lanes: list[Rows]) -> tuple[Pipeline, list[str]]:
        """Return what is tuned on some lanes, and the warnings that there were."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            # On simulated labels, smoothed rows are honest as they are.
            tuned = untempered(self._tune_lanes(lanes))
        return tuned, [str(warning.message) for warning in caught]

    def _note(self, texts: Sequence[str], name: str) -> None:
        for text in dict.fromkeys(texts):
            self._warned.setdefault(text, []).append(name)

    def _warn(self, stacklevel: int) -> None:
        for text, names in self._warned.items():
            warnings.warn(f"{', '.join(names)}: {text}", stacklevel=stacklevel)

    def _too_little(self, lanes: Sequence[Rows]) -> str:
        """Say what a label has too little of; nothing where it has enough."""
        reference = self.reference
        count = count_predictions(lanes, reference)
        if count < MIN_PREDICTIONS:
            seen = any(lane.observed().any() for lane in lanes)
            return f"{reference!r} has {count} predictions of it" if seen else "it is not observed"
        known = [lane for lane in lanes if lane.observed(reference).any()]
        states = [self._states(lane) for lane in known]
        if not any(state.size for state in states):
            return "its truth is not known"
        on, off = (sum(_stretches(state == value) for state in states) for value in (True, False))
        if not on or not off:
            return f"it is never {'off' if on else 'on'}"
        few = min(on, off)
        if few < MIN_STRETCHES:
            times = "once" if few == 1 else f"{few} times"
            return f"it is {'on' if on <= off else 'off'} only {times}"
        return ""

    def _states(self, lane: Rows) -> Bools:
        """Return where a label is on: by its truth, or by the predictions of the reference."""
        if self._by_truth:
            truth = np.full(len(lane), -1) if lane.label is None else lane.label
            return np.asarray(truth[truth >= 0] == 1)
        return np.asarray(lane.probs[lane.observed(self.reference), 1] > 0.5)

    def _parts(self, of_labels: Mapping[str, Pipeline]) -> dict[str, Any]:
        """Return filter, weights and channels of all labels, as `Pipeline` takes them.

        Those with the same settings share a filter.
        """
        of_pipe = {id(pipe): pipe.filter for pipe in of_labels.values()}
        fresh = {key: with_classes(f, len(f.classes)) for key, f in of_pipe.items()}
        filters = {label: fresh[id(pipe)] for label, pipe in of_labels.items()}
        parts: dict[str, Any] = {"filter": MultiLabelFilter(self.heads.layout, filters)}
        for what, none in (("beta", 1.0), ("channel", None)):
            parts[what] = {
                source: {
                    label: self._known_of(label, pipe, source, what, none)
                    for label, pipe in of_labels.items()
                }
                for source in self.sources
            }
        return parts

    def _known_of(self, label: str, pipe: Pipeline, source: str, what: str, none: Any) -> Any:
        """Return the weight or the channel of a source for a head.

        A source that never predicts a label has the weight that it has for others.
        """
        if source not in pipe.sources:
            if not self._is_label(label):
                return none
            pipe = self.pooled
        return getattr(pipe, what)[source]

    def _is_label(self, name: str) -> bool:
        return self.heads.place(name) in self.heads.labels

    def _effect(self, label: str, choice: LabelChoice) -> Effect:
        """Return what the settings of a label do."""
        known = record_of(choice.tuned).effect
        if not choice.why_pooled and known is not None:
            return known
        thinned = thin(self.lanes(label), self.reference, self._every).recordings
        lanes = [lane for lane in thinned if lane.observed().any()]
        if self._is_label(label):
            lanes = [off_and_on(lane) for lane in lanes]
        raw = [last_predictions(lane) for lane in lanes]
        effect, _ = measure_changes(choice.tuned, lanes, raw)
        if known is None:
            return effect
        late, rows = known.delay, known.delay_rows
        return effect._replace(delay=late, delay_rows=rows, in_seconds=known.in_seconds)

    def _explain(
        self, choices: Mapping[str, LabelChoice], effects: Mapping[str, Effect], whole: Effect
    ) -> str:
        L = len(self.labels)
        streams = sum(bool(rec.observed().any()) for rec in self.recordings)
        over = f"{L} label{'s' * (L > 1)}, {streams} stream{'s' * (streams > 1)}"
        lines = []
        if whole.time:
            lines.append(f"The labels {changes_in_words(whole, over, 'change on or off')}")
        if not math.isnan(whole.delay):
            lines.append(f"Once the predictions of a label change, it follows {after(whole)}.")
        for label, (tuned, why) in choices.items():
            how = f"pooled settings, because {why}." if why else self._describe(tuned)
            lines.append(f"{label}: {how}{_does(effects[label])}")
        if any(choice.why_pooled for choice in choices.values()):
            lines.append(f"Pooled settings, tuned on all labels: {self._describe(self.pooled)}")
        count = count_predictions(self.recordings, self.reference)
        by_truth = any(record_of(choice.tuned).criterion == LABELS for choice in choices.values())
        chosen = f"Chosen on {streams} stream{'s' * (streams > 1)} with {count} predictions of "
        chosen += f"{self.reference!r}, {'by' if by_truth else 'without'} the truth."
        seconds = "are read as" if whole.in_seconds else "do not look like"
        return "\n".join([*lines, f"{chosen} Times {seconds} seconds."])

    def _describe(self, tuned: Pipeline) -> str:
        candidate, effect = record_of(tuned).candidate, record_of(tuned).effect
        if candidate is None:
            return "safe settings."
        seconds = effect is None or effect.in_seconds
        name = name_of(candidate, self.reference, seconds, tuned.filter).rstrip(",")
        weights = f"; weights: {weights_in_words(candidate)}"
        simple = candidate.family in RULES
        return f"{name[0].lower()}{name[1:]}{weights * (not simple)}."


def off_and_on(lane: Rows) -> Rows:
    """Return the recording of a label with the classes of the pooled settings."""
    return replace(lane, heads=OFF_AND_ON)


def _stretches(on: Bools) -> int:
    """Return in how many stretches something is true."""
    return int((np.diff(on.astype(int), prepend=0) == 1).sum())


def _unsure(tuned: Pipeline, reference: str) -> str:
    """Say why settings of its own would not help a label; nothing where they do."""
    assumptions = record_of(tuned).assumptions
    if assumptions is None:
        return "its predictions are too few to judge"
    if len(tuned.sources) > 1 and assumptions.agreement < MIN_AGREEMENT:
        return f"successive predictions of {reference!r} hardly agree"
    return ""


def _does(effect: Effect) -> str:
    """Say how often a label changes."""
    if not effect.time:
        return ""
    if not effect.changes_before and not effect.changes_after:
        return " It never changes."
    return f" It {changes_in_words(effect, verb='changes')}"


def _together(effects: Sequence[Effect]) -> Effect:
    """Return the effect of all labels: their changes in the same time, and the median delay."""
    late = sorted((e.delay, e.delay_rows) for e in effects if not math.isnan(e.delay))
    delay = late[len(late) // 2] if late else (math.nan, math.nan)
    return Effect(
        sum(e.changes_before for e in effects),
        sum(e.changes_after for e in effects),
        max(e.time for e in effects),
        max(e.rows for e in effects),
        *delay,
        all(e.in_seconds for e in effects),
        max(e.streams for e in effects),
        max(e.predictions for e in effects),
    )
