"""The suggested rule for events: the argmax, the suggestion, and the best cost by labels.

For each set and rate of strong calls: F1@50 of events of smoothed rows and of filtered rows. *If
applied* is the suggestion for smoothed rows without its guard; *kept* is what the guard looks at,
the share of the expected events that half of the calls would expect, and *m*, how many calls share
an error.

Then each set is left out once: the guard's limit of what is kept is chosen on all other sets and on
drawn simulations, and judged on the set that was left out, in cells where m is above 1. The choice
is that of the highest gain in all, where a loss of more than a point counts five times. Other
draws, which nothing was chosen on, judge too.

    python -m experiments.suggestion geolife ltafdb wisdm extrasensory capture24 plain --data DATA
"""

from __future__ import annotations

import functools
import itertools
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

import classfilter as cf
from classfilter.simulation._presets import Classifier
from experiments.parallel import map_in_processes
from experiments.rates import RATES
from experiments.streams import Person, arguments, splits

COSTS = (0.0, 0.5, 1.0, 2.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0, 48.0, 64.0)
"""In steps, of which labels choose the best."""
LIMITS = (0.0, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0, 1.05)
"""Of what half of the calls must expect, of which the other sets choose."""
LOSS = 5
"""How many times a loss of more than a point counts."""
SIMULATED, FRESH = "simulation", "fresh simulation"
FIRST_FRESH = 100
"""The number of the first draw that nothing was chosen on."""


class Task(NamedTuple):
    """A set, one of its splits, and the rate of strong calls."""

    name: str
    split: int
    every: int
    data: Path | None


class Scores(NamedTuple):
    """F1@50 in percent: the argmax, the rule that is set, and the best cost by labels."""

    argmax: float
    rule: float
    best: float


class Cell(NamedTuple):
    """What was measured; no suggestion where the reference cannot judge."""

    task: Task
    offline: Scores
    live: Scores
    if_applied: float
    kept: float
    shared: int
    applied: bool

    @property
    def gain(self) -> float:
        """What the suggestion for smoothed rows gains, were it applied."""
        return self.if_applied - self.offline.argmax


@functools.lru_cache(maxsize=1)
def people_of(name: str, split: int, data: Path | None) -> list[Person]:
    """Return the streams of a split, or those of a drawn simulation."""
    if name in (SIMULATED, FRESH):
        return drawn(split + FIRST_FRESH * (name == FRESH))
    return splits(name, data, split + 1)[split]


def drawn(number: int) -> list[Person]:
    """Return simulated streams whose settings are drawn: durations, errors, how sure they are."""
    rng = np.random.default_rng(number)
    K, jitter = int(rng.integers(3, 7)), float(rng.choice([0.0, 0.2, 0.5]))
    right = float(rng.choice([0.7, 0.8, 0.9, 0.95]))
    strong = Classifier(right, sharpness=float(rng.choice([0.7, 1.0, 2.0])), jitter=jitter)
    weak = Classifier(right - 0.2, jitter=jitter)
    options = {
        "dwell": float(rng.choice([60.0, 150.0, 400.0, 1000.0])),
        "dwell_shape": float(rng.choice([1.0, 1.0, 0.3, 0.15])),
        "error_time": float(rng.choice([0.0, 60.0, 300.0, 900.0])),
        "shared": float(rng.choice([0.0, 0.5])),
    }
    people = []
    for seed in range(100 * number, 100 * number + 10):
        both = {"weak": weak, "strong": strong}
        day = cf.simulate(hours=4.0, seed=seed, classes=K, **both, **options)  # type: ignore[arg-type]
        probs = day.probs["weak"], day.probs["strong"]
        people.append(Person(str(seed), day.time, day.truth, *probs, day.classes))
    return people


def measure(task: Task) -> Cell:
    """Tune without labels, and measure the rules by labels."""
    people = people_of(task.name, task.split, task.data)
    recs = {person.name: person.recording(task.every) for person in people}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tuned = cf.tune(recs, reference="strong")
    step = float(np.median(np.concatenate([np.diff(p.time) for p in people])))
    rows = {
        smooth: {
            name: cf.Recording(rec.time, "rows", P, rec.classes)
            for name, rec in recs.items()
            for P in [tuned.smooth(rec) if smooth else tuned.run(rec)]
        }
        for smooth in (False, True)
    }
    truth = cf.label_events(recs)

    def f1(smooth: bool, cost: float) -> float:
        assert tuned.rule is not None
        rule = cf.EventRule(cost, max_gap=tuned.rule.max_gap)
        return 100 * cf.metrics.event_scores(truth, cf.events(rows[smooth], rule), iou=0.5).f1

    def scores(smooth: bool) -> Scores:
        rule = tuned.smoother.rule if smooth else tuned.rule
        assert rule is not None
        costs = COSTS[:1] if task.name in (SIMULATED, FRESH) else COSTS
        by_cost = [f1(smooth, cost * step) for cost in costs]
        return Scores(by_cost[0], f1(smooth, rule.change_cost), max(by_cost))

    offline, live, suggestion = scores(True), scores(False), tuned.suggestion
    if suggestion is None:
        return Cell(task, offline, live, offline.argmax, float("nan"), 1, False)
    kept = suggestion.from_half_the_calls / suggestion.expected_events
    if_applied, m = f1(True, suggestion.offline_cost), suggestion.shared_calls
    return Cell(task, offline, live, if_applied, kept, m, suggestion.applied)


def best_limit(cells: Iterable[Cell]) -> float:
    """Return the limit of the highest gain, where losses count more; the larger of two alike."""
    several = list(cells)

    def value(limit: float) -> float:
        gains = [cell.gain for cell in several if cell.kept >= limit and cell.shared > 1]
        return sum(gain if gain > -1 else LOSS * gain for gain in gains)

    return max(reversed(LIMITS), key=value)


def print_cells(cells: Sequence[Cell]) -> None:
    """Print what was measured on each set."""
    heads = ["", "calls", "smoothed: argmax", "rule", "best", "if applied", "kept", "m"]
    heads += ["filtered: argmax", "rule", "best"]
    print(f"| {' | '.join(heads)} |\n{'|---' * len(heads)}|")
    for cell in cells:
        numbers = [*cell.offline, cell.if_applied, 100 * cell.kept, *cell.live]
        texts = [f"{x:.1f}" for x in numbers[:4]] + [f"{numbers[4]:.0f} %", str(cell.shared)]
        texts += [f"{x:.1f}" for x in numbers[5:]]
        name = f"{cell.task.name} {cell.task.split}"
        print(f"| {name} | 1 in {cell.task.every} | {' | '.join(texts)} |")
    for smooth in ("offline", "live"):
        worst = min(cells, key=lambda cell: _gain(getattr(cell, smooth)))
        where = f"{worst.task.name} {worst.task.split}, 1 in {worst.task.every}"
        print(
            f"\nWorst against the argmax, {smooth}: {_gain(getattr(worst, smooth)):+.1f}, {where}."
        )


def _gain(scores: Scores) -> float:
    return scores.rule - scores.argmax


def print_left_out(cells: Sequence[Cell], simulations: Sequence[Cell]) -> None:
    """Print the limit that the others choose for each set, and what it does there."""
    print(
        f"\nLimit chosen on {len(simulations)} simulated cells alone: {best_limit(simulations):g}"
    )
    print("\n| left out | limit by the others | applied at 1 in | gain there, points |")
    print("|---|---|---|---|")
    for name in dict.fromkeys(cell.task.name for cell in cells):
        limit = best_limit([*(c for c in cells if c.task.name != name), *simulations])
        mine = [cell for cell in cells if cell.task.name == name and cell.kept >= limit]
        mine = [cell for cell in mine if cell.gain and cell.shared > 1]
        rates = ", ".join(str(cell.task.every) for cell in mine) or "none"
        print(f"| {name} | {limit:g} | {rates} | {', '.join(f'{c.gain:+.1f}' for c in mine)} |")


def print_simulations(name: str, cells: Sequence[Cell]) -> None:
    """Print what the guard does on drawn simulations."""
    applied = [cell.gain for cell in cells if cell.applied]
    refused = [cell.gain for cell in cells if not cell.applied and cell.gain]
    print(f"\n{name}, {len(cells)} cells:")
    for kind, gains in (("applied", applied), ("refused, if applied", refused)):
        print(f"{kind}: {len(gains)} cells, {_in_all(gains)}")
    print(f"live: {_in_all([_gain(cell.live) for cell in cells])}")


def _in_all(gains: Sequence[float]) -> str:
    """Say what is gained in the mean, how often more than a point is lost, and the worst."""
    if not gains:
        return "nothing to say."
    lost = sum(gain < -1 for gain in gains)
    return f"mean gain {np.mean(gains):+.1f}, {lost} lose over a point, worst {min(gains):+.1f}."


def main() -> None:
    """Print both tables."""
    parser = arguments(__doc__, 2)
    parser.add_argument("--simulations", type=int, default=45, help="drawn, for the guard's limit")
    parser.add_argument("--jobs", type=int, default=1)
    parser.set_defaults(sets=["geolife", "ltafdb", "wisdm", "extrasensory", "capture24", "plain"])
    given = parser.parse_args()
    tasks = [
        Task(name, split, every, given.data)
        for name in given.sets
        for split in range(1 if name in ("geolife", "ltafdb") else given.splits)
        for every in RATES
    ]
    tasks += [
        Task(name, number, every, None)
        for name in (SIMULATED, FRESH)
        for number, every in itertools.product(range(given.simulations), RATES)
    ]
    cells = list(map_in_processes(measure, tasks, given.jobs))
    simulations = [cell for cell in cells if cell.task.name == SIMULATED]
    fresh = [cell for cell in cells if cell.task.name == FRESH]
    cells = [cell for cell in cells if cell.task.name not in (SIMULATED, FRESH)]
    print_cells(cells)
    if simulations:
        print_left_out(cells, simulations)
        print_simulations("Simulations that the limit was chosen on", simulations)
        print_simulations("Simulations that nothing was chosen on", fresh)


if __name__ == "__main__":
    main()
