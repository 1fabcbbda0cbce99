"""The cases: each races classfilter against peers and prints a table."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from itertools import cycle
from typing import Any

import numpy as np
from filterpy import discrete_bayes
from hmmlearn import _hmmc
from numpy.typing import NDArray

from classfilter import Bank, DirichletFilter, StickyFilter, reference, simulate

from .harness import Call, race, report

Floats = NDArray[np.float64]


def example_stream(T: int, K: int) -> tuple[Floats, Floats]:
    """Return probabilities (T, K), and where the strong classifier gave them (T,).

    Six classes are the paper's; else all classes are alike.
    """
    hours = T * 5 / 3600
    day = simulate("capture24", hours=hours) if K == 6 else simulate(classes=K, hours=hours)
    source, probs = day.mixed()
    return probs, source == "strong"


def step() -> None:
    """Time one step from Python, in a loop over 1000 rows."""
    K, T = 6, 1000
    probs, _ = example_stream(T, K)
    rows = list(probs)
    kernel, prior = np.array([0.01, 0.98, 0.01]), np.full(K, 1 / K)

    def ema() -> None:
        p, g = prior, 0.9
        for s in rows:
            p = g * p + (1 - g) * s

    def ema_normalised() -> None:
        p, g = prior, 0.9
        for s in rows:
            p = g * p + (1 - g) * s
            p /= p.sum()

    def bayes_update() -> None:
        for s in rows:
            discrete_bayes.update(s, prior)

    def bayes() -> None:
        p = prior
        for s in rows:
            p = discrete_bayes.update(s, discrete_bayes.predict(p, 0, kernel))

    def ours(observations: Iterable[Any], beta: float, dtype: type = np.float64) -> Call:
        update = DirichletFilter(K, dtype=dtype).update

        def loop() -> None:
            for s in observations:
                update(s, beta=beta)

        return loop

    single = list(probs.astype(np.float32))
    peers: dict[str, Call] = {
        "NumPy EMA, g*p + (1-g)*s": ema,
        "NumPy EMA, and p /= p.sum()": ema_normalised,
        "filterpy.discrete_bayes, update": bayes_update,
        "filterpy.discrete_bayes, predict and update": bayes,
    }
    own = {
        "update(ndarray, beta=0.5)": ours(rows, 0.5),
        "update(ndarray, beta=1)": ours(rows, 1.0),
        "update(list, beta=0.5)": ours(probs.tolist(), 0.5),
        "update(list, beta=1)": ours(probs.tolist(), 1.0),
        "update(ndarray, beta=0.5), float32": ours(single, 0.5, np.float32),
        "update(ndarray, beta=1), float32": ours(single, 1.0, np.float32),
    }
    times = {name: seconds / T for name, seconds in race({**peers, **own}).items()}
    report(f"One step from Python, K = {K}", times, dict.fromkeys(own, "< 1; 1 µs"))


def stream(T: int, K: int) -> None:
    """Time a whole stream in one call, against a hidden Markov model's forward pass."""
    probs, strong = example_stream(T, K)
    random = np.random.default_rng(0).dirichlet(np.ones(K), T)
    start, stay = np.full(K, 1 / K), np.full((K, K), 0.01 / K) + 0.99 * np.eye(K)
    floored = np.maximum(probs, 1e-3)
    log_floored = np.log(floored)
    f = DirichletFilter(K)

    def ours(rows: Floats, beta: float | Floats) -> Call:
        def call() -> None:
            f.reset()
            f.run(rows, beta)

        return call

    peers: dict[str, Call] = {
        "hmmlearn forward_scaling": lambda: _hmmc.forward_scaling(start, stay, floored),
        "hmmlearn forward_log": lambda: _hmmc.forward_log(start, stay, log_floored),
    }
    own = {
        "run, beta 0.5": ours(probs, 0.5),
        "run, beta 0.1": ours(probs, 0.1),
        "run, beta 1 each 12th row, else 0.5": ours(probs, np.where(strong, 1.0, 0.5)),
        "run, beta 1 each 12th row, else 0.1": ours(probs, np.where(strong, 1.0, 0.1)),
        "run, beta 0.5, random Dirichlet stream": ours(random, 0.5),
    }
    full = {
        "run, beta 1": ours(probs, 1.0),
        "run, beta 1, random Dirichlet stream": ours(random, 1.0),
    }
    best = race({**peers, **own, **full}, seconds=3.0)
    times = {name: seconds / T for name, seconds in best.items()}
    goals = dict.fromkeys(own, "<= 5; 300 ns") if K == 6 else {}
    report(f"A stream, K = {K}, T = {T:,}, per step", times, goals)


def successive_updates(bank: Bank[Any], probs: Floats, beta: float | Floats) -> Call:
    """Return a call that updates the bank: stream n with row n, with row n + 1 at the next call.

    So each stream sees the rows of a stream: one repeated row would take its alpha to the limit.
    """
    streams = len(bank.alpha)
    starts = cycle(range(len(probs) - streams + 1))

    def call() -> None:
        rows = slice(start := next(starts), start + streams)
        weights = beta if isinstance(beta, float) else beta[rows]
        bank.update(probs[rows], weights, threads=1)

    return call


def bank(N: int, K: int) -> None:
    """Time one update of N streams on one thread, against the same rows as one stream."""
    probs, strong = example_stream(N + 63, K)
    start, stay = np.full(K, 1 / K), np.full((K, K), 0.01 / K) + 0.99 * np.eye(K)
    floored = np.maximum(probs, 1e-3)
    f = DirichletFilter(K)
    single = DirichletFilter(K, dtype=np.float32)
    weights = np.where(strong, 1.0, 0.5)
    competitors: dict[str, Call] = {
        "hmmlearn forward_scaling": lambda: _hmmc.forward_scaling(start, stay, floored[:N]),
        "run, beta 1 each 12th row, else 0.5": lambda: f.run(probs[:N], weights[:N]),
        "Bank.update, the same": successive_updates(Bank(f, N), probs, weights),
        "Bank.update, beta 0.5": successive_updates(Bank(f, N), probs, 0.5),
        "Bank.update, beta 0.5, float32": successive_updates(Bank(single, N), probs, 0.5),
    }
    times = {name: seconds / N for name, seconds in race(competitors).items()}
    goals = {"Bank.update, beta 0.5": "150 ns"} if K == 6 else {}
    report(f"Many streams, K = {K}, N = {N:,}, per stream", times, goals)


def repeat(call: Call, times: int) -> Call:
    """Return a call that repeats another, so that a short one is timed warm."""

    def calls() -> None:
        for _ in range(times):
            call()

    return calls


def scaling(K: int, streams: Sequence[int]) -> None:
    """Time one update of few and of many streams on one thread, against a step of one stream."""
    steps = 10_000
    probs, _ = example_stream(max(streams) + 63, K)
    start, stay = np.full(K, 1 / K), np.full((K, K), 0.01 / K) + 0.99 * np.eye(K)
    few = probs[:steps]
    floored = np.maximum(few, 1e-3)
    f = DirichletFilter(K)
    competitors: dict[str, tuple[Call, int]] = {
        "hmmlearn forward_scaling, per step": (
            lambda: _hmmc.forward_scaling(start, stay, floored),
            len(few),
        ),
        "run, beta 0.5, per step": (lambda: f.run(few, 0.5), len(few)),
    }
    for N in streams:
        call, times = successive_updates(Bank(f, N), probs[: N + 63], 0.5), max(1, steps // N)
        competitors[f"Bank.update, beta 0.5, N = {N:,}"] = repeat(call, times), N * times
    best = race({name: call for name, (call, _) in competitors.items()})
    each = {name: best[name] / count for name, (_, count) in competitors.items()}
    goals = {name: "150 ns" for name in each if name.startswith("Bank")} if K == 6 else {}
    report(f"Few and many streams, K = {K}, per stream", each, goals)


def few(K: int) -> None:
    """Time one update of one stream, of a bank and of a filter, from Python."""
    calls = 1000
    row = example_stream(64, K)[0]
    observations = [row[i : i + 1] for i in range(64)]

    def updates(bank: Bank[Any], **options: Any) -> Call:
        rows = cycle(observations)
        return repeat(lambda: bank.update(next(rows), 0.5, **options), calls)

    dirichlet, sticky = DirichletFilter(K), StickyFilter(K)
    single = cycle(row)
    competitors = {
        "DirichletFilter.update": repeat(lambda: dirichlet.update(next(single), 0.5), calls),
        "Bank.update, rows=[5] of 1,000": updates(Bank(dirichlet, 1000), rows=[5]),
        "Bank.update, a bank of 1": updates(Bank(dirichlet, 1)),
        "Bank.update, sticky, rows=[5] of 1,000": updates(Bank(sticky, 1000), rows=[5]),
    }
    times = {name: seconds / calls for name, seconds in race(competitors).items()}
    report(f"One stream, K = {K}, per call", times, dict.fromkeys([*times][1:], "2 µs"))


def threads(N: int, K: int) -> None:
    """Time one update of N streams on one thread and on two, by the clock on the wall."""
    probs, _ = example_stream(N, K)
    filters: dict[str, Any] = {"Dirichlet": DirichletFilter(K), "sticky": StickyFilter(K)}
    for name, f in filters.items():
        bank = Bank(f, N)

        def update(threads: int, bank: Bank[Any] = bank) -> Call:
            return lambda: bank.update(probs, 0.5, threads=threads)

        calls = {f"{name}, one thread": update(1), f"{name}, two threads": update(2)}
        times = {n: s / N for n, s in race(calls, clock=time.perf_counter).items()}
        goals = {f"{name}, two threads": "0.5 on two idle cores"}
        report(f"Threads, K = {K}, N = {N:,}, per stream", times, goals)


def algorithm_1() -> None:
    """Time the paper's Algorithm 1 in SciPy, with as few rounds as reach a relative 1e-10.

    At every 20th row of a stream of 200 it starts from the filter's state. It is given the number
    of rounds that row takes, to alpha within a relative 1e-10 of the filter's.
    """
    K, beta, gamma, close = 6, 0.5, 0.9, 1e-10
    probs = np.maximum(example_stream(200, K)[0], 1e-2)
    probs /= probs.sum(axis=1, keepdims=True)  # above the filter's floor: it sees the same rows
    f = DirichletFilter(K, gamma)
    steps: list[tuple[float, Floats, Floats, Floats, int]] = []
    for t, s in enumerate(probs):
        eta, nu, alpha = f.eta, np.asarray(f.nu, np.float64), np.asarray(f.alpha, np.float64)
        f.update(s, beta)
        if t % 20 != 10:
            continue
        exact, x, rounds = f.alpha, alpha, 0
        while np.abs(x / exact - 1).max() > close:
            x = reference.update(eta, nu, x, s, beta, gamma, rounds=1).alpha
            rounds += 1
            if rounds == 20_000:
                raise RuntimeError(f"Algorithm 1 does not come within {close} of row {t}")
        steps.append((eta, nu, alpha, s, rounds))

    def paper() -> None:
        for eta, nu, alpha, s, rounds in steps:
            reference.update(eta, nu, alpha, s, beta, gamma, rounds)

    def ours() -> None:
        f.run(probs, beta)

    needed = [rounds for *_, rounds in steps]
    peer = f"Algorithm 1, SciPy, {np.mean(needed):.0f} rounds (most {max(needed)})"
    best = race({peer: paper, "run": ours}, least=3)
    times = {peer: best[peer] / len(steps), "run": best["run"] / len(probs)}
    report(f"To 1e-10, K = {K}, beta = {beta}, per step", times, {"run": "<= 1 / 1,000"})


def imports() -> None:
    """Time the import, in a process of its own, from compiled files."""
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": cache}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)

        def load(statement: str) -> Call:
            command = [sys.executable, "-c", statement]
            return lambda: subprocess.run(command, env=environment, check=True)

        # Names of classfilter load when they are first used: import one that computes.
        peer, own = "import numpy", "from classfilter import DirichletFilter"
        calls = {statement: load(statement) for statement in (peer, own)}
        times = race(calls, least=25, clock=time.perf_counter)
    times["the difference"] = times[own] - times[peer]
    report("A fresh process", times, {"the difference": "20 ms"})
