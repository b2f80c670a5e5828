"""An alarm budget: an adaptive level that holds the share of alarms, whatever the rows are."""

from collections.abc import Mapping
from typing import Any, Final, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from rankad._typing import BoolArray, FloatArray
from rankad.calibration.bounds import require_probability
from rankad.calibration.online_p_values import checked_stream
from rankad.calibration.states import STATE_VERSION, SavedState
from rankad.monitoring.stream_inputs import is_number

_STATE_NAMES: Final = ("alpha", "burst", "decay", "max_level", "level", "n_seen", "n_alarms")

#: How far rounding may move the level of a long stream.
_ROUNDING: Final = 1e-6


class AlarmBudget:
    """Holds the share of alarms near alpha on any stream: a budget, not a test.

    Row t alarms if its p-value is at most the level ``a_t``. Then the level moves, down after an
    alarm and up after a quiet row: ``a_{t+1} = a_t + step_t (alpha - alarm_t)``. It starts at
    alpha. So the share of alarms tends to alpha *by construction*, for dependent rows, for drift,
    and for p-values that are wrong (Gibbs and Candes, 2021). `rate_limits` gives limits that hold
    for every stream.

    **It proves nothing about nominal rows.** It holds the share of all alarms, true and false. An
    alarm is no evidence that a row is anomalous, and under a lasting fault the budget is soon spent
    and **nearly silent**: about a share alpha of the rows alarms, as before the fault. Watch
    `level`. If it stays far below alpha, rows differ from the reference for long.

    Parameters
    ----------
    detector : fitted detector, optional
        Then `update_many` takes rows too, and scores them with ``detector.p_values``.
    alpha : float, default=0.01
        Share of rows that may alarm.
    burst : float, default=20
        Number of consecutive alarms that the budget grants at its usual level. The step is
        ``alpha / burst``. The budget recovers from a burst in ``burst / alpha`` rows. With a small
        burst the share of alarms stays closer to alpha, but fewer anomalies are found.
    decay : float, default=0.0
        With 0 the step stays ``alpha / burst``. Above 0 the step of row t is
        ``alpha / burst * t^-decay``. With a decay above 1/2 the level converges if the rows are
        independent and their distribution does not change (Angelopoulos, Barber and Bates, 2024).
        Then choose a burst of about 1. It adapts to late changes slowly.
    max_level : float, optional
        Largest level, from alpha to 1. By default there is none. Then a long quiet time saves a
        large budget, and the budget may be spent at once. With ``max_level=alpha`` a row alarms
        only if ``p <= alpha``, too. Any window of m rows then has at most
        ``alpha m + burst + 1`` alarms, but the share of alarms may stay below alpha.

    Attributes
    ----------
    level : float
        Level of the next row. Below 0 no row alarms. At 1 or above every row alarms.
    n_seen, n_alarms : int
        Number of rows and of alarms so far.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> budget = AlarmBudget(alpha=0.01)
    >>> nominal, fault = rng.random(10_000), np.full(10_000, 0.001)
    >>> int(budget.update_many(nominal).sum())
    96
    >>> is_alarm = budget.update_many(fault)
    >>> int(is_alarm[:100].sum()), int(is_alarm[-1000:].sum())     # silent under a lasting fault
    (23, 10)
    """

    def __init__(
        self,
        detector: Any = None,
        *,
        alpha: float = 0.01,
        burst: float = 20.0,
        decay: float = 0.0,
        max_level: float | None = None,
    ) -> None:
        _require_parameters(alpha, burst, decay, max_level)
        _require_detector(detector)
        self.alpha, self.burst, self.decay = float(alpha), float(burst), float(decay)
        self.max_level = None if max_level is None else float(max_level)
        self.level, self.n_seen, self.n_alarms = self.alpha, 0, 0
        self._detector = detector
        if self.max_level is not None and self.max_level < self._smallest_p:
            raise ValueError(
                f"max_level={max_level} is below the smallest p-value of the detector, "
                f"{self._smallest_p:.3g}, so nothing could ever alarm. Raise max_level, or "
                "calibrate with more rows."
            )

    def __repr__(self) -> str:
        return (
            f"<AlarmBudget at alpha={self.alpha:g}: {self.n_alarms} alarms in {self.n_seen} rows, "
            f"level {self.level:.3g}{', silent' if self.is_silent else ''}>"
        )

    @property
    def step(self) -> float:
        """How far the level moves after the next row, in units of ``alpha - alarm``."""
        return float(self._first_step * (self.n_seen + 1.0) ** -self.decay)

    @property
    def is_silent(self) -> bool:
        """Whether the next row cannot alarm, whatever it is.

        The level is then below the smallest p-value of the detector. Without a detector, that is
        taken to be 0.
        """
        return self.level < self._smallest_p

    def update(self, p: float) -> bool:
        """Take one p-value, and return whether its row alarms.

        Parameters
        ----------
        p : float
            A p-value, from 0 to 1.

        Returns
        -------
        is_alarm : bool
        """
        return bool(self.update_many([p])[0])

    def update_many(self, p: ArrayLike) -> BoolArray:
        """Take p-values, or rows, in the order of the stream. If one is invalid, none is taken.

        Parameters
        ----------
        p : array-like of shape (n,) or (n, n_features)
            p-values, from 0 to 1. If the budget was made from a detector, rows are taken too.

        Returns
        -------
        is_alarm : ndarray of bool, shape (n,)
        """
        return self._decide(checked_stream(self._p_values(p), 0.0, 1.0).tolist())

    def rate_limits(self, n_rows: int) -> tuple[float, float]:
        """Limits on the share of alarms among the first rows, for every possible stream.

        With a constant step and no ``max_level`` the share differs from alpha by at most
        ``(1 - alpha + step) / (n_rows step)``, and exceeds it by at most
        ``(burst + 1) / n_rows``. With a ``max_level`` the lower limit is 0.

        Parameters
        ----------
        n_rows : int
            Number of rows, at least 1.

        Returns
        -------
        low, high : float

        Examples
        --------
        >>> low, high = AlarmBudget(alpha=0.01, burst=20).rate_limits(20_000)
        >>> low, round(high, 5)
        (0.0, 0.01105)
        """
        if type(n_rows) is not int or n_rows < 1:
            raise ValueError(f"n_rows must be a whole number of at least 1; got {n_rows!r}.")
        # The alarms above the budget are sum (a_t - a_{t+1}) / step_t, by summation by parts
        # a_1 / s_1 + sum_{t > 1} a_t (1 / s_t - 1 / s_{t-1}) - a_{n+1} / s_n, and a_t has limits.
        low, high = self._level_limits
        first, last = self._first_step, self._first_step * n_rows**-self.decay
        growth = 1.0 / last - 1.0 / first
        excess = self.alpha / first + high * growth - low / last
        lack = high / last - low * growth - self.alpha / first
        lowest = 0.0 if self.max_level is not None else self.alpha - lack / n_rows
        return max(0.0, lowest), min(1.0, self.alpha + excess / n_rows)

    def state(self) -> dict[str, Any]:
        """State for `from_state`, ready for JSON. The stream continues as if not interrupted."""
        numbers = {name: getattr(self, name) for name in _STATE_NAMES}
        return {"kind": "AlarmBudget", "version": STATE_VERSION, **numbers}

    @classmethod
    def from_state(cls, state: Mapping[str, Any], *, detector: Any = None) -> Self:
        """Budget that continues from a saved `state`.

        Parameters
        ----------
        state : dict
            A result of `state`.
        detector : fitted detector, optional
            Give it again if the budget takes rows: a state holds no detector.

        Returns
        -------
        budget : AlarmBudget
        """
        saved = SavedState.of(state, "AlarmBudget", _STATE_NAMES)
        options = {name: state[name] for name in ("alpha", "burst", "decay", "max_level")}
        budget = cls(detector, **options)
        budget._continue_from(saved)
        return budget

    @property
    def _first_step(self) -> float:
        return self.alpha / self.burst

    @property
    def _smallest_p(self) -> float:
        reference = getattr(self._detector, "reference_", None)
        return float(getattr(reference, "smallest_alpha", 0.0))

    @property
    def _level_limits(self) -> tuple[float, float]:
        """Limits of the level: it falls only from 0 or above, and rises only from below 1."""
        highest = 1.0 + self._first_step * self.alpha
        if self.max_level is not None:
            highest = min(highest, self.max_level)
        return -self._first_step * (1.0 - self.alpha), highest

    def _p_values(self, p: ArrayLike) -> ArrayLike | FloatArray:
        n_axes = len(getattr(p, "shape", None) or np.shape(p))
        if n_axes != 2:
            return p
        if self._detector is None:
            raise ValueError(
                "This budget takes p-values of shape (n,); got two axes. Give "
                "detector.p_values(X), or make the budget from the detector: AlarmBudget(detector)."
            )
        p_values: FloatArray = self._detector.p_values(p)
        return p_values

    def _decide(self, p: list[float]) -> BoolArray:
        is_alarm = np.empty(len(p), dtype=np.bool_)
        highest = np.inf if self.max_level is None else self.max_level
        level, step = self.level, self.step
        for i, value in enumerate(p):
            alarms = value <= level
            if self.decay:
                step = self._first_step * (self.n_seen + i + 1.0) ** -self.decay
            level = min(highest, level + step * (self.alpha - alarms))
            is_alarm[i] = alarms
        self.level = level
        self.n_seen += len(p)
        self.n_alarms += int(is_alarm.sum())
        return is_alarm

    def _continue_from(self, saved: SavedState) -> None:
        level, n_seen, n_alarms = (
            saved.entries["level"],
            saved.count("n_seen"),
            saved.count("n_alarms"),
        )
        low, high = self._level_limits
        if not (is_number(level) and low - _ROUNDING <= level <= high + _ROUNDING):
            raise ValueError(
                f"level of the state must be a number from {low:.3g} to {high:.3g} at "
                f"alpha={self.alpha:g} and burst={self.burst:g}; got {level!r}."
            )
        least, most = self.rate_limits(n_seen) if n_seen else (0.0, 0.0)
        if not least * n_seen - _ROUNDING <= n_alarms <= most * n_seen + _ROUNDING:
            raise ValueError(
                f"A budget of alpha={self.alpha:g} and burst={self.burst:g} cannot make "
                f"{n_alarms} alarms in {n_seen} rows. Give a whole result of state()."
            )
        self.level, self.n_seen, self.n_alarms = float(level), n_seen, n_alarms


def _require_parameters(alpha: Any, burst: Any, decay: Any, max_level: Any) -> None:
    for name, value in {"alpha": alpha, "burst": burst, "decay": decay}.items():
        if not is_number(value):
            raise ValueError(f"{name} must be a finite number; got {value!r}.")
    require_probability("alpha", alpha)
    if not burst > 0.0:
        raise ValueError(f"burst must be a number above 0; got {burst!r}.")
    if not 0.0 <= decay < 1.0:
        raise ValueError(f"decay must be at least 0 and below 1; got {decay!r}.")
    if max_level is not None and not (is_number(max_level) and alpha <= max_level <= 1.0):
        raise ValueError(
            f"max_level must be None or a number from alpha={alpha} to 1; got {max_level!r}."
        )


def _require_detector(detector: Any) -> None:
    if detector is None:
        return
    if not callable(getattr(detector, "p_values", None)):
        raise TypeError(
            f"detector must have a method p_values, as every detector of rankad; got {detector!r}. "
            "Of a pipeline, give the last step, pipe[-1], and rows that pipe[:-1].transform has "
            "made. Or give p-values to AlarmBudget(alpha=...).update_many(p)."
        )
    if hasattr(detector, "fit"):
        check_is_fitted(detector, "reference_")
