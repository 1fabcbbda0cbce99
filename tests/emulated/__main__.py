"""The cost of an update on a microcontroller: ``python -m tests.emulated``.

For each number of classes, filter and weight, a firmware folder is exported, its self-test run on
each emulated board, and an update measured there: instructions, flash and memory.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from classfilter import Channel, DirichletFilter, EventRule, Pipeline, StickyFilter, policy
from classfilter.embedded import export

from .board import HERE, M0, M0_COUNTED, M4F, Target, build, flash, missing, run, symbols

ROWS, HARD = 200, 1500


# Assumed, not measured: an update every 5 s, 1.5 cycles per instruction, and the energy per cycle
# at 3 V: 60 uA per MHz for the M4F, 100 for the M0.
UPDATES_PER_DAY = 86400 / 5
CYCLES_PER_INSTRUCTION = 1.5
JOULES_PER_CYCLE = {"Cortex-M4F": 180e-12, "Cortex-M0": 300e-12}


class Case(NamedTuple):
    """A filter to be measured."""

    name: str
    config: Pipeline


def rates(K: int) -> NDArray[np.float64]:
    """Return transitions per time unit: 0.98 to stay, the rest to the others."""
    return np.full((K, K), 0.02 / (K - 1)) + np.eye(K) * (0.98 - 0.02 / (K - 1))


def cases(K: int) -> Iterator[Case]:
    """Return the filters to be measured, of K classes."""
    dirichlet = DirichletFilter(K, 0.95, estimate="mean")
    sticky = StickyFilter(K, stay=0.98)
    for beta in (1.0, 0.5):
        yield Case(f"Dirichlet, weight {beta:g}", Pipeline(dirichlet, beta={"a": beta}))
    loose = DirichletFilter(K, 0.95, estimate="mean", tolerance=0.05)
    yield Case("Dirichlet, weight 0.5, tolerance 0.05", Pipeline(loose, beta={"a": 0.5}))
    for beta in (1.0, 0.5):
        yield Case(f"Sticky, weight {beta:g}", Pipeline(sticky, beta={"a": beta}))
    moving = StickyFilter(K, transitions=rates(K))
    yield Case("Sticky, transitions, weight 0.5", Pipeline(moving, beta={"a": 0.5}))
    channel = Channel(np.eye(K) * 8 + 1)
    yield Case(
        "Sticky, channel, weight 0.5", Pipeline(sticky, beta={"a": 0.5}, channel={"a": channel})
    )
    tempered = StickyFilter(K, stay=0.98, temperature=1.4)
    yield Case("Sticky, temperature 1.4, weight 0.5", Pipeline(tempered, beta={"a": 0.5}))
    both, rule = {"a": 0.5, "b": 1.0}, policy.Adaptive(1 / 12, strong="b", weak="a")
    yield Case(
        "Sticky, weights 0.5 and 1, adaptive policy",
        Pipeline(sticky, beta=both, policy=rule),
    )


def event_cases(K: int) -> Iterator[Case]:
    """Return rules for events, each behind the same filter."""
    rules = {
        "change cost": EventRule(5.0),
        "change and leave cost, max_gap, max_delay": EventRule(
            5.0, leave_cost=1.0, max_gap=60.0, max_delay=120.0
        ),
        "a cost and a bias of each class": EventRule(
            {str(k): 4.0 + k / 8 for k in range(K)}, bias={str(k): k / 64 for k in range(K)}
        ),
        "merge_gap, pad, shift": EventRule(5.0, merge_gap=3.0, pad=(1.0, 1.0), shift=1.0),
        'evidence="log"': EventRule(15.0, evidence="log"),
        "min_duration of 10 rows": EventRule(5.0, min_duration=10.0),
        "min_duration of one class": EventRule(5.0, min_duration={"1": 10.0}),
    }
    for name, rule in rules.items():
        yield Case(name, Pipeline(StickyFilter(K, stay=0.98), beta={"a": 0.5}, rule=rule))


def usual_rows(K: int) -> str:
    """Return a header with a usual stream: classes that last, predictions that are often right."""
    rng = np.random.default_rng(1)
    label = np.cumsum(rng.random(ROWS) < 1 / 40) * 2 % K
    wrong = rng.random(ROWS) < 0.2
    predicted = np.where(wrong, rng.integers(K, size=ROWS), label)
    probs = np.array([rng.dirichlet(0.3 + 4 * (np.arange(K) == k)) for k in predicted], np.float32)
    listed = ",\n".join(f"{{{', '.join(f'{p:.9g}f' for p in row)}}}" for row in probs + 1e-9)
    sources = ", ".join("0" for _ in predicted)
    return (
        f"#define ROWS {ROWS}\n#define HARD {HARD}\n"
        f"static const float rows[ROWS][CF_CLASSES] = {{\n{listed}}};\n"
        f"static const int sources[ROWS] = {{{sources}}};\n"
    )


class Cost(NamedTuple):
    """The measurements of a case on a target."""

    output: dict[str, str]
    flash: int
    library: int

    def of(self, name: str) -> int:
        """Return a number that the program printed."""
        return int(self.output[name])


def measure(config: Pipeline, target: Target, level: str = "-Os") -> Cost:
    """Export, check the bits, and measure."""
    K = len(config.classes)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        export(config, folder, step=1.0)
        bits = [HERE / "bits.c", folder / "src/cf_selftest.c"]
        board = M0 if target is M0_COUNTED else target
        code, output = run(build(folder, board, folder / "bits.elf", bits, level=level), board)
        if code != 0:
            raise SystemExit(f"{target.name}, {config.filter}: other bits ({code}, {output})")
        (folder / "rows.h").write_text(usual_rows(K))
        cost = [HERE / "cost.c"]
        program = build(folder, target, folder / "cost.elf", cost, level=level)
        code, output = run(program, target, counted=True)
        if code != 0:
            raise SystemExit(f"{target.name}, {config.filter}: stopped with {code}, {output}")
        least = [HERE / "flash.c"]
        with_it = build(folder, target, folder / "with.elf", least, "-DFILTER", level=level)
        without = build(folder, target, folder / "without.elf", least, level=level)
        library = sum(
            size
            for name, size in symbols(with_it).items()
            if name.startswith("__") and name not in symbols(without)
        )
        return Cost(output, flash(with_it) - flash(without) - library, library)


def limit(target: Target, K: int) -> int:
    """Return the instructions of an update that takes all iterations and fails at the end.

    For that, the search is changed so that it never converges.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        config = Pipeline(DirichletFilter(K, 0.95, estimate="mean"), beta={"a": 0.5})
        export(config, folder)
        (folder / "rows.h").write_text(usual_rows(K))
        search = folder / "src/core/dirichlet_search.h"
        text, count = re.subn(r"( return) on\b", r"\1 mask_of(0) & on", search.read_text())
        assert count == 2
        search.write_text(text)
        program = build(folder, target, folder / "limit.elf", [HERE / "cost.c"], "-DLIMIT")
        code, output = run(program, target, counted=True)
        if code != 0:
            raise SystemExit(f"{target.name}: stopped with {code}, {output}")
        return int(output["limit"])


def energy(target: Target, instructions: int) -> str:
    """Return an estimate of the energy of updates, in millijoule per day."""
    millijoule = (
        1000
        * JOULES_PER_CYCLE[target.name]
        * CYCLES_PER_INSTRUCTION
        * instructions
        * UPDATES_PER_DAY
    )
    return f"{millijoule:,.0f}" if millijoule >= 100 else f"{millijoule:.2g}"


def table(target: Target, classes: list[int], level: str = "-Os") -> None:
    """Print a table of all cases on a target."""
    print(f"\n**{target.name}**, `{level}`\n")
    print(
        "| classes | filter | instructions, mean | most | hardest | flash | + float library "
        "| state | stack | mJ per day |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    for K in classes:
        others: Cost | None = None
        for case in cases(K):
            cost = measure(case.config, target, level)
            mean, most = cost.of("usual mean"), cost.of("usual most")
            hardest = max(most, cost.of("hard most"))
            print(
                f"| {K} | {case.name} | {mean:,} | {most:,} | {hardest:,} | "
                f"{cost.flash:,} | {cost.library:,} | {cost.of('state')} | "
                f"{cost.of('stack'):,} | {energy(target, mean)} |",
                flush=True,
            )
            if "choice mean" in cost.output:
                mean, most = cost.of("choice mean"), cost.of("choice most")
                words = "the adaptive policy's choice, besides"
                print(f"| {K} | {words} | {mean:,} | {most:,} | | | | | | {energy(target, mean)} |")
            others = cost
        assert others is not None
        for name, words in (
            ("ema", "exponential average"),
            ("window", "mean of the last 5"),
        ):
            mean, most = others.of(f"{name} mean"), others.of(f"{name} most")
            print(f"| {K} | {words} | {mean:,} | {most:,} | | | | | | {energy(target, mean)} |")


def table_of_events(target: Target, classes: list[int], level: str = "-Os") -> None:
    """Print a table of what rules for events add to a filter."""
    print(f"\n**Events on a {target.name}**, `{level}`\n")
    print("| classes | rule | instructions, mean | most | hardest | flash | state | mJ per day |")
    print("|---|---|---|---|---|---|---|---|")
    for K in classes:
        plain = measure(Pipeline(StickyFilter(K, stay=0.98), beta={"a": 0.5}), target, level)
        present = 0
        for case in event_cases(K):
            cost = measure(case.config, target, level)
            present = present or cost.of("present most")
            mean, most = cost.of("events mean"), cost.of("events most")
            hardest = max(most, cost.of("hard events most"))
            flash_of = cost.flash + cost.library - plain.flash - plain.library
            print(
                f"| {K} | {case.name} | {mean:,} | {most:,} | {hardest:,} | {flash_of:,} | "
                f"{cost.of('events bytes'):,} | {energy(target, mean)} |",
                flush=True,
            )
        print(f"| {K} | cf_current_f32 of the first, besides | {present:,} | | | | | |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--level", default="-Os", help="of optimisation")
    parser.add_argument("classes", nargs="*", type=int, default=[3, 6, 12], help="how many")
    arguments = parser.parse_args()
    if (why := missing()) is not None:
        sys.exit(why)
    for target in (M4F, M0_COUNTED):
        table(target, arguments.classes, arguments.level)
        table_of_events(target, arguments.classes, arguments.level)
    for K in arguments.classes:
        print(f"\n{K} classes, {M4F.name}: 96 iterations take {limit(M4F, K):,} instructions.")
