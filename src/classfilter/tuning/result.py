"""The result of tuning: a pipeline that knows how it was found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any

from ..filters import Filter
from ..pipeline import Expected, Pipeline, has_temperature, tempered
from .calibrate import Calibration, calibrate
from .candidates import Candidate
from .effect import Effect
from .event_effect import EventEffect
from .expected_events import ExpectedCalls
from .explanation import Assumptions, without_temperatures
from .objective import Trial
from .streams_needed import Rival
from .suggestion import Suggestion
from .summary import summarise


class Tuned(Pipeline):
    """A pipeline that `tune` chose: filter, weights and channels, and how they were found.

    Attributes
    ----------
    beta : dict of str to float
        The weight of each source.
    channel : dict of str to Channel or None
        The channel of each source, None where its predictions are not corrected.
    policy : Policy or None
        None after `tune`.
    reference : str
        The source that the model was estimated from.
    candidate : Candidate or None
        The chosen settings.
    criterion : {"future predictions", "labels", "nothing"}
        What the score is: the mean logarithm of how much more likely later predictions of the
        reference are in the predicted class than on average; the accuracy; or nothing, where there
        was too little data.
    table : list of Trial
        The candidates that were tried, the best first.
    explanation : str
        What was chosen, how certain that is, and what would help, in sentences; printed, a pipeline
        shows the same as a short table.
    rivals : list of Rival
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
    smoother : Pipeline
        What smooths: the same filter with a temperature of its own or, where a simple rule was
        chosen, the best sticky filter. It has its own rule for events.
    calibration : Calibration or None
        The temperatures that `calibrated` found; None before.
    by_label : dict of str to Tuned
        Of several labels at once, how the settings of each were found: of its two classes or, where
        it has the pooled settings, of off and on. Then `candidate` is None, `table` and `rivals`
        are empty, and `effect` counts the changes of all labels. Empty otherwise.
    """

    beta: dict[str, float]
    reference: str
    candidate: Candidate | None
    criterion: str
    table: list[Trial]
    explanation: str
    rivals: list[Rival]
    assumptions: Assumptions | None
    effect: Effect | None
    event_effect: EventEffect | None
    suggestion: Suggestion | None
    calibration: Calibration | None
    by_label: dict[str, Tuned]
    _calls: ExpectedCalls | None

    def __init__(
        self,
        filter: Filter,  # noqa: A002
        *,
        reference: str,
        candidate: Candidate | None = None,
        criterion: str = "nothing",
        table: Sequence[Trial] = (),
        explanation: str = "",
        rivals: Sequence[Rival] = (),
        assumptions: Assumptions | None = None,
        effect: Effect | None = None,
        by_label: Mapping[str, Tuned] | None = None,
        calls: ExpectedCalls | None = None,
        **parts: Any,
    ) -> None:
        super().__init__(filter, **parts)
        self._set(
            reference=reference,
            candidate=candidate,
            criterion=criterion,
            table=list(table),
            explanation=explanation,
            rivals=list(rivals),
            assumptions=assumptions,
            effect=effect,
            event_effect=None,
            suggestion=None,
            _calls=calls,
            calibration=None,
            by_label=dict(by_label or {}),
        )

    def expecting(self, expected: dict[str, Expected]) -> Tuned:
        """Return the same with what each source did in the recordings."""
        return self.having(expected=expected)

    def calibrated(self, recordings: Any) -> Tuned:
        """Return the same with honest probabilities: two temperatures, found by labels.

        One is that of filtered rows, one that of smoothed rows. Each has the least log-loss on the
        labelled rows: a few minutes of several streams suffice. The classes of all rows stay the
        same, and so do weights, channels and the rule for events. `explanation` ends with both, and
        how uncertain they are; `calibration` has the numbers.

        Parameters
        ----------
        recordings : Rows, or several, or a mapping to them, or a dataframe
            With labels, not those that the classifiers were trained on. The reference is thinned to
            the rate that was tuned for. Of several labels at once, all have the same temperatures.

        Returns
        -------
        Tuned
            A warning says where a temperature is uncertain.

        Examples
        --------
        >>> import classfilter as cf
        >>> days = [cf.simulate("plain", hours=2.0, seed=i).rows() for i in range(4)]
        >>> tuned = cf.tune(days, "sticky", "strong").calibrated(days[:2])
        >>> 0.5 < tuned.filter().temperature < 1.5
        True
        """
        known = [self.assumptions, *(one.assumptions for one in self.by_label.values())]
        every = next((max(1, round(one.every)) for one in known if one is not None), None)
        pipe, calibration, words = calibrate(self, recordings, every)
        text = f"{without_temperatures(self.explanation)}\n{words}".lstrip()
        return pipe.having(calibration=calibration, explanation=text)

    def untempered(self) -> Tuned:
        """Return the same with temperatures of 1."""
        ones = [1.0 if has_temperature(one._fresh) else None for one in (self, self.smoother)]
        return tempered(self, *ones).having(explanation=without_temperatures(self.explanation))

    def having(self, **fields: Any) -> Tuned:
        """Return the same with other fields that change no setting."""
        tuned: Tuned = copy(self)
        tuned._set(**fields)
        return tuned

    def __str__(self) -> str:
        return summarise(self)
