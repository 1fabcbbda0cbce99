"""The Dirichlet filter: the Bayesian filter of "Classification Filtering"."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from .. import _core
from ..support.types import Array, Classes, Duration
from ..support.validation import check_dtype, class_names
from .base import (
    CompiledFilter,
    check_temperature,
    checked_prior,
    decay,
    half_life_of,
    shown_temperature,
)


class DirichletState(NamedTuple):
    """What a `DirichletFilter` remembers: K + 1 numbers.

    Attributes
    ----------
    eta : float
        How many observations the state is worth.
    alpha : ndarray, shape (K,)
        Mode of the posterior of the Dirichlet parameters.
    """

    eta: float
    alpha: Array


def default_concentration(floor: float, classes: int, single: bool) -> float:
    """Return the largest sum of alpha, where none is given, in single or in double precision."""
    return min(max(1e6, 3 / max(floor, 1e-30), 10.0 * classes), 1e6 if single else 1e12)


class DirichletFilter(CompiledFilter, _core.Dirichlet):
    r"""The Bayesian filter of "Classification Filtering" (Bayram, MLSP 2025).

    The output of a classifier of weight :math:`\beta` is modelled as
    :math:`s \sim \mathrm{Dir}(\beta\alpha + 1 - \beta)`. The belief about :math:`\alpha` is
    :math:`p(\alpha) \propto A(\alpha)^\eta e^{-\langle\alpha,\nu\rangle}`, the conjugate prior of
    the Dirichlet distribution, Eq. (3) of the paper. Time takes :math:`\eta` and :math:`\nu` to
    :math:`\gamma^{dt}\eta` and :math:`\gamma^{dt}\nu`, Eq. (5); an observation moves
    :math:`\alpha` to the exact mode of the posterior, Eq. (7), :math:`\eta` to
    :math:`\eta + \beta`, and :math:`\nu` to where :math:`\alpha` is its mode, but no further than
    `bounded` allows.

    Parameters
    ----------
    classes : int or iterable
        The number of classes, or their names.
    gamma : float, default 0.9
        Decay of the state per time unit, 0 to 1.
    half_life : float, str or timedelta, optional
        Instead of gamma: the time that halves eta, ``gamma = 0.5 ** (1 / half_life)``. A number is
        in time units; ``"60s"``, ``"5m"`` and timedeltas are for times in seconds, or dates.
    estimate : {"mode", "mean"}
        How `probs` summarises Dir(alpha). The paper uses the mode, ``max(alpha - 1, 0)``
        normalised, replaced by the mean where no alpha exceeds 1. The mean is never 0.
    floor : float, default 1e-3
        Smallest probability of an observation: rows become ``max(s, floor)``, normalised.
    anchor : float, default 0
        Strength of the pull to the prior: as time passes without observations, eta goes to
        `anchor` and nu to that of the prior. 0, the paper's choice, leaves alpha where it is.
    prior : array_like, shape (K,), optional
        Initial alpha; ones by default.
    prior_weight : float, default 1
        Initial eta.
    max_concentration : float, optional
        Largest sum of alpha; beyond it alpha is scaled down. Keep it well above
        ``1 / (floor * beta)``: scaling an alpha to below 1 makes the filter more certain than
        the data justify. By default 1e6, or ``3 / floor`` or ``10 K`` where that is more.
    tolerance : float, default 0
        The relative step of alpha at which the search for the mode ends, up to 0.1. 0: exact to
        rounding. 0.05 saves about a fifth of the arithmetic, and hardly ever changes the class. In
        double precision less than 0.0015 saves nothing: the last step is that short anyway.
    bounded : bool, default True
        Bound the state, one line more than the paper: after an update,
        :math:`\nu_i \le -\eta \log \epsilon`, with :math:`\epsilon` = ``floor / (1.05 + (K - 1)
        floor)`` the smallest value that a floored and normalised prediction can have. No class may
        have a larger negative log-probability on average than the most surprising prediction there
        is (or than in the prior, if that is larger). At weights below 1, confident predictions that
        disagree would otherwise let :math:`\nu` grow until no prediction can change the class. At
        weight 1 the bound holds by itself. False is the paper's filter to the letter.
    temperature : float, default 1
        The filter returns :math:`p_i^{1 / T}`, normalised: above 1 it is less certain, below 1 more
        so. The most probable class and the state stay the same. From 0.05 to 20.
    dtype : {float64, float32}
        Precision of the arithmetic. float32 gives the same bits as the C core on a
        microcontroller.

    Examples
    --------
    >>> f = DirichletFilter(["walk", "sit", "sleep"], gamma=0.9)
    >>> f.update([0.7, 0.2, 0.1]).round(3)
    array([0.808, 0.192, 0.   ])
    >>> for _ in range(3):
    ...     p = f.update([0.3, 0.6, 0.1], beta=0.5)  # a weak classifier disagrees
    >>> f.label, round(float(p[0]), 3)
    ('walk', 0.488)
    """

    _kind = "dirichlet"
    _averages = True

    def __init__(
        self,
        classes: Classes,
        gamma: float | None = None,
        *,
        half_life: Duration | None = None,
        estimate: Literal["mode", "mean"] = "mode",
        floor: float = 1e-3,
        anchor: float = 0.0,
        prior: ArrayLike | None = None,
        prior_weight: float = 1.0,
        max_concentration: float | None = None,
        tolerance: float = 0.0,
        bounded: bool = True,
        temperature: float = 1.0,
        dtype: DTypeLike = np.float64,
    ) -> None:
        names = class_names(classes)
        gamma = decay(gamma, half_life)
        if estimate not in ("mode", "mean"):
            raise ValueError(f'estimate is {estimate!r}; it must be "mode" or "mean"')
        if not isinstance(bounded, (bool, np.bool_)):
            raise ValueError(f"bounded is {bounded!r}; it must be True or False")
        dtype = check_dtype(dtype)
        single = dtype == np.float32
        if max_concentration is None:
            max_concentration = default_concentration(floor, len(names), single)
        if prior is None:
            prior = np.ones(len(names))
        prior = checked_prior(prior, dtype, len(names))
        if not prior_weight > 0:
            raise ValueError(
                f"prior_weight is {prior_weight!r}; it must be positive: without it the "
                "first observation has no mode"
            )
        settings: dict[str, Any] = {
            "gamma": gamma,
            "estimate": estimate,
            "floor": floor,
            "anchor": anchor,
            "prior": prior,
            "prior_weight": prior_weight,
            "max_concentration": max_concentration,
            "tolerance": tolerance,
            "bounded": bool(bounded),
            "temperature": check_temperature(temperature),
            "dtype": dtype,
        }
        core = {name: settings[name] for name in settings.keys() - {"estimate", "dtype"}}
        super().__init__(**core, mean=estimate == "mean", single=single)
        # After the core, which refuses a second __init__: a filter keeps its settings for life.
        self._classes, self._gamma, self._dtype = names, gamma, dtype
        self._options, self._half_life = settings, half_life_of(gamma)

    @property
    def gamma(self) -> float:
        """Decay of the state per time unit."""
        return self._gamma

    @property
    def max_concentration(self) -> float:
        """Largest sum of alpha."""
        return float(self._options["max_concentration"])

    @property
    def label(self) -> Any:
        """The most probable class, that of the largest alpha."""
        return self._classes[int(self.alpha.argmax())]

    @property
    def state(self) -> DirichletState:
        """All that the filter remembers; assign it to restore."""
        return DirichletState(self.eta, self.alpha)

    @state.setter
    def state(self, state: tuple[float, ArrayLike]) -> None:
        eta, alpha = state
        self._restore(eta, alpha)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({list(self._classes)}, gamma={self._gamma:.6g}, "
            f"estimate={self._options['estimate']!r}{shown_temperature(self.temperature)})"
        )
