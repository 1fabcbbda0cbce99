"""DirichletFilter against an oracle of fifty digits, the paper, and its invariants."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import DTypeLike
from scipy.special import digamma

import classfilter as cf
import oracle
from oracle import Oracle
from streams import random_stream

SINGLE_FLOOR = float(np.float32(1e-3))


def same(a: Any, b: Any) -> bool:
    """Equal to the bit, NaN included."""
    return np.array_equal(np.asarray(a).view(np.uint8), np.asarray(b).view(np.uint8))


def same_state(f: cf.DirichletFilter, g: cf.DirichletFilter) -> bool:
    return f.eta == g.eta and same(f.alpha, g.alpha)


# ---- fifty digits ----


# Whole streams in double precision; in single precision step by step, each from the filter's own
# state, since the smallest entries of alpha can amplify a rounding error tenfold in two steps. The
# scale of alpha, which no decision depends on, is lost to rounding in proportion to itself.
@pytest.mark.covering(1)
@pytest.mark.parametrize(("dtype", "limit"), [(np.float64, 1e-9), (np.float32, 1e-4)])
@pytest.mark.parametrize("K", [2, 3, 6, 20, pytest.param(100, marks=pytest.mark.slow)])
@pytest.mark.parametrize("gamma", [0.5, 0.9, 0.999])
@pytest.mark.parametrize("anchor", [0.0, 0.5])
def test_alpha_to_fifty_digits(
    K: int, gamma: float, anchor: float, dtype: DTypeLike, limit: float
) -> None:
    stream = random_stream(K, 12 if K == 100 else 30, seed=K)
    gamma = float(np.float32(gamma))
    f = cf.DirichletFilter(K, gamma, anchor=anchor, floor=SINGLE_FLOOR, dtype=dtype)
    exact = Oracle(K, gamma, SINGLE_FLOOR, anchor, max_concentration=f.max_concentration)
    for s, beta, dt in zip(*stream, strict=True):
        if dtype == np.float32:
            exact.eta, exact.alpha = (
                oracle.mp.mpf(f.eta),
                [oracle.mp.mpf(a) for a in f.alpha.tolist()],
            )
        f.update(s, beta, dt)
        exact.update(s.tolist(), beta, dt)
        for a, e in zip(f.alpha.tolist(), exact.alpha, strict=True):
            scale = max(1.0, f.alpha.sum() / 250) if dtype == np.float32 else 1.0
            assert abs(float(a / e) - 1) <= limit * scale
        assert f.eta == pytest.approx(float(exact.eta), rel=limit * 1e-2)
        for estimate in ("mode", "mean"):
            g = cf.DirichletFilter(K, gamma, estimate=estimate, dtype=dtype)
            g.state = f.state
            p = np.array([float(x) for x in exact.probs(estimate)])
            if estimate == "mode" and abs(f.alpha - 1).min() < 1e-4:
                continue  # where alpha is 1 to rounding, the mode's support is undecided
            np.testing.assert_allclose(g.probs, p, rtol=0, atol=limit)


@pytest.mark.covering(1)
@pytest.mark.parametrize("row", ["uniform", "one-hot", "usual"])
@pytest.mark.parametrize("beta", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("K", [2, 6])
def test_equal_rows_up_to_the_largest_concentration(K: int, beta: float, row: str) -> None:
    s = {
        "uniform": np.full(K, 1 / K),
        "one-hot": np.eye(K)[1],
        "usual": np.linspace(1, 2, K) / np.linspace(1, 2, K).sum(),
    }[row]
    f = cf.DirichletFilter(K, 0.75)
    exact = Oracle(K, 0.75)
    for _ in range(60):
        f.update(s, beta)
        exact.update(s.tolist(), beta)
        errors = [abs(float(a / e) - 1) for a, e in zip(f.alpha.tolist(), exact.alpha, strict=True)]
        assert max(errors) <= 1e-9
    assert f.alpha.sum() == pytest.approx(1e6, rel=1e-12)


# ---- the paper ----


def test_nu_equals_the_papers() -> None:
    f = cf.DirichletFilter(5)
    f.run(random_stream(5, 10, 0).probs)
    expected = f.eta * (digamma(f.alpha.sum()) - digamma(f.alpha))
    np.testing.assert_allclose(f.nu, expected, rtol=1e-13)


# ---- invariants ----


def test_gamma_zero_returns_the_observation() -> None:
    f = cf.DirichletFilter(3, gamma=0.0, estimate="mean")
    f.update([0.1, 0.1, 0.8])
    np.testing.assert_allclose(f.update([0.7, 0.2, 0.1]), [0.7, 0.2, 0.1], rtol=1e-12)
    assert f.eta == 1.0


def test_before_any_data() -> None:
    f = cf.DirichletFilter(4)
    assert f.probs.tolist() == [0.25] * 4
    assert f.eta == 1.0
    assert f.alpha.tolist() == [1.0] * 4


def test_names_and_counts() -> None:
    f = cf.DirichletFilter(["walk", "sit"])
    assert f.classes == ("walk", "sit")
    f.update([0.1, 0.9])
    assert f.label == "sit"
    assert cf.DirichletFilter(3).classes == (0, 1, 2)
    assert isinstance(cf.DirichletFilter(np.int64(3)).label, int)


def test_half_life_halves() -> None:
    f = cf.DirichletFilter(2, half_life=6.0)
    f.update([np.nan, np.nan], dt=6.0)
    assert f.eta == pytest.approx(0.5, rel=1e-14)


def test_mode_and_mean() -> None:
    mode, mean = cf.DirichletFilter(3), cf.DirichletFilter(3, estimate="mean")
    for f in (mode, mean):
        f.state = (1.0, [3.0, 2.0, 0.5])
    assert mode.probs.tolist() == [2 / 3, 1 / 3, 0]
    np.testing.assert_allclose(mean.probs, np.array([3, 2, 0.5]) / 5.5, rtol=1e-15)
    mode.state = (1.0, [1 + 1e-15, 1.0, 1.0])  # above 1 by rounding only: no mode
    np.testing.assert_allclose(mode.probs, [1 / 3] * 3, rtol=1e-14)
    mode.state = (1.0, [0.9, 0.3, 0.6])  # no alpha above 1: the mean instead
    np.testing.assert_allclose(mode.probs, [0.5, 1 / 6, 1 / 3], rtol=1e-15)


@pytest.mark.parametrize("kind", [list, tuple, np.array, np.float32])
def test_rows_of_any_kind(kind: Any) -> None:
    row = [0.5, 0.25, 0.25]
    f = cf.DirichletFilter(3)
    expected = f.copy().update(row)
    assert same(f.copy().update(kind(row)), expected)
    assert same(f.copy().update(np.array([row, row]).T[:, 1]), expected)  # strided
    assert same(f.run([kind(row)])[0], expected)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("tolerance", [0.001, 0.01, 0.1])
def test_a_tolerance_stays_near_the_mode(tolerance: float, dtype: DTypeLike) -> None:
    """A last step of third or fourth order is off by no more than the square of its size."""
    rng = np.random.default_rng(5)
    exact, loose = (cf.DirichletFilter(6, 0.9, tolerance=t, dtype=dtype) for t in (0.0, tolerance))
    worst, same = 0.0, 0
    for _ in range(300):
        s, beta = rng.dirichlet(np.full(6, 0.5)), rng.uniform(0.05, 1)
        loose.state = exact.state
        exact.update(s, beta)
        loose.update(s, beta)
        worst = max(worst, float(np.abs(loose.alpha / exact.alpha - 1).max()))
        same += loose.state.alpha.tobytes() == exact.state.alpha.tobytes()
    assert worst < 1e-5 + tolerance**2
    assert same < 300 or tolerance == 0.001  # which a last step has by itself


def test_nu_is_not_negative_where_one_class_has_almost_all() -> None:
    """In single precision the two digammas are equal there, but for their rounding."""
    f = cf.DirichletFilter(2, dtype=np.float32)
    for alpha in np.linspace(14, 15, 1000, dtype=np.float32):
        f.state = cf.DirichletState(1.0, np.array([alpha, 1.76e-6], np.float32))
        assert (f.nu >= 0).all()


@pytest.mark.parametrize(
    ("options", "dt"),
    [
        ({"gamma": 1.0, "prior_weight": 1e9}, 1.0),
        ({"anchor": 1e9}, 1000.0),
        ({"anchor": 1e9, "dtype": np.float32}, 1000.0),
    ],
)
def test_own_states_are_taken_back(options: dict[str, Any], dt: float, tmp_path: Path) -> None:
    """A filter reaches an eta above the limit of prior_weight by its own updates."""
    f = cf.DirichletFilter(2, **options)
    f.update([0.5, 0.5], dt=dt)
    assert f.eta >= 1e9
    bank = cf.Bank(f, 2)
    bank.save(tmp_path / "bank.npz")
    bank.load(tmp_path / "bank.npz")
    for other in (f.copy(), pickle.loads(pickle.dumps(f)), bank.filter(1)):
        assert same_state(other, f)
        assert other.update([0.9, 0.1]).tobytes() == f.copy().update([0.9, 0.1]).tobytes()
    with pytest.raises(ValueError, match="eta must lie in"):
        f.state = (1e17, [1.0, 1.0])


def test_an_own_alpha_rounded_above_the_limit_is_taken_back() -> None:
    """One that fuzzing found: a sum of 1e6 in float32 leaves an alpha one ulp above."""
    f = cf.DirichletFilter(2, 0.3, dtype=np.float32)
    alpha = np.array([np.nextafter(np.float32(1e6), np.float32(2e6)), 0.0073844758], np.float32)
    f.state = (2e-30, alpha)
    assert f.alpha.tobytes() == alpha.tobytes()
    assert same_state(f.copy(), f)
    with pytest.raises(ValueError, match="max_concentration"):
        f.state = (1.0, [1.001e6, 1.0])
    assert f.alpha.tobytes() == alpha.tobytes()
