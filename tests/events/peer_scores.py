"""Random events, and what sed_eval and timescoring make of them.

    python tests/events/peer_scores.py tests/events/peer_scores.json

needs both packages, and writes the table that the quick tests compare with. It imports nothing of
this package. That table is of sed_eval 0.2.1 and timescoring 0.0.7.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

Row = list[Any]
"""Stream, label, start and end of an event."""

LENGTH = 1200.0
"""Of each stream, in seconds."""
COLLARS = ((0.2, 0.5), (1.0, 0.2), (5.0, 0.0), (2.0, None))
TOLERANCES = ((30, 60, 90, 300), (0, 0, 0, 50), (5, 0, 20, 300), (0.3, 0.1, 0.2, 1000))


def random_events(rng: np.random.Generator) -> dict[str, list[Row]]:
    """Return true events, and others that differ a little; on a grid of 0.1 s, as timescoring's."""
    lists: dict[str, list[Row]] = {"true": [], "predicted": []}
    for stream in range(rng.integers(1, 3)):
        span = int(rng.choice([400, 2000, 12000]))
        for label in ("a", "b", "c")[: rng.integers(1, 4)]:
            edges = np.sort(rng.choice(span, 2 * rng.integers(0, 7), replace=False))
            lists["true"] += _rows(stream, label, edges)
            near = edges + rng.integers(-1, 2, edges.size) * rng.choice([0, 2, 10, 50, 400])
            kept = near[np.repeat(rng.random(edges.size // 2) < 0.8, 2)]
            more = rng.choice(span, 2 * rng.integers(0, 4), replace=False)
            both = np.unique(np.clip(np.concatenate([kept, more]), 0, 12000))
            lists["predicted"] += _rows(stream, label, both[: both.size // 2 * 2])
    return lists


def _rows(stream: int, label: str, edges: Any) -> list[Row]:
    times = (edges / 10).tolist()
    return [[f"s{stream}", label, *span] for span in zip(times[::2], times[1::2], strict=True)]


def by_sed_eval(lists: dict[str, list[Row]], collar: float, share: float | None) -> dict[str, Any]:
    """Return the F-measure, overall and of each class, and the number of true positives."""
    import sed_eval

    labels = sorted({row[1] for rows in lists.values() for row in rows})
    metrics = sed_eval.sound_event.EventBasedMetrics(
        event_label_list=labels,
        t_collar=collar,
        percentage_of_length=0.5 if share is None else share,
        evaluate_offset=share is not None,
        empty_system_output_handling="zero_score",
    )
    for stream in sorted({row[0] for rows in lists.values() for row in rows}):
        true, predicted = (
            [
                {"filename": stream, "event_label": b, "event_onset": c, "event_offset": d}
                for a, b, c, d in lists[name]
                if a == stream
            ]
            for name in ("true", "predicted")
        )
        metrics.evaluate(reference_event_list=true, estimated_event_list=predicted)
    by_class = {}
    for label in labels:
        if metrics.class_wise[label]["Nref"]:
            measures = metrics.class_wise_f_measure(label)
            by_class[label] = [measures["f_measure"], measures["recall"]]
    overall = metrics.overall_f_measure()["f_measure"]
    return {"all": metrics.overall["Ntp"], "f1": overall, "by_class": by_class}


def by_timescoring(
    lists: dict[str, list[Row]], before: float, after: float, merge: float, split: float
) -> dict[str, list[float]]:
    """Return the true events, those found, the false ones, F1 and false alarms a day.

    They are those of each stream and class, since timescoring has neither.
    """
    from timescoring.annotations import Annotation
    from timescoring.scoring import EventScoring

    found = {}
    for key in sorted({(row[0], row[1]) for rows in lists.values() for row in rows}):
        spans = [
            [(c, d) for a, b, c, d in lists[name] if (a, b) == key]
            for name in ("true", "predicted")
        ]
        true, predicted = (Annotation(span, 10, int(LENGTH * 10)) for span in spans)
        parameters = EventScoring.Parameters(before, after, 0, split, merge)
        scores = EventScoring(true, predicted, parameters)
        numbers = (scores.refTrue, scores.tp, scores.fp, scores.f1, scores.fpRate)
        found[" ".join(key)] = [float(x) for x in numbers]
    return found


def table(cases: int) -> list[dict[str, Any]]:
    """Return cases with the results of both packages for all settings."""
    rng = np.random.default_rng(26)
    rows = []
    for _ in range(cases):
        lists = random_events(rng)
        if not lists["true"] or not lists["predicted"]:
            continue
        sed = [by_sed_eval(lists, *setting) for setting in COLLARS]
        rows.append(
            {
                **lists,
                "sed_eval": sed,
                "timescoring": [by_timescoring(lists, *setting) for setting in TOLERANCES],
            }
        )
    return rows


if __name__ == "__main__":
    lines = ",\n".join(json.dumps(row) for row in table(40))
    Path(sys.argv[1]).write_text(f"[\n{lines}\n]\n")
