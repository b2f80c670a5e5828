"""massAD: mass estimation in one dimension at a time (Ting, Zhou, Liu and Tan, 2010)."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, _fit_context
from sklearn.utils._param_validation import Interval, StrOptions

from rankad._typing import FloatArray, IntArray
from rankad.calibration import (
    CALIBRATION_SIZE_CONSTRAINT,
    CALIBRATIONS,
    CalibratedDetector,
)


class MassAD(CalibratedDetector, BaseEstimator):  # type: ignore[misc]
    """Mean mass of a row over random columns of random subsamples: low mass, anomaly.

    Scaling the columns changes nothing. Equal values count as one value with their multiplicity:
    the original breaks ties by tiny random numbers, which puts a value that is many times the
    smallest or largest outside its own range.

    Parameters
    ----------
    alpha : float, default=0.05
        False-alarm level of ``predict(X)``.
    n_estimators : int, default=100
        Subsamples t, each with one random column.
    max_samples : int, default=256
        Rows psi of a subsample, at most all.
    level : int, default=1
        Level h of the mass: how many random splits deep it is averaged. The cost grows as psi^h.
    calibration : {"split", "train", "cross"}, default="split"
        Where the reference scores come from.
    calibration_size : float or int, default=0.25
        Rows that "split" holds out.
    random_state : int, RandomState or None, default=None
        Draws the held-out rows, the subsamples and the columns.

    Examples
    --------
    >>> nominal = np.random.default_rng(0).normal(size=(500, 2))
    >>> MassAD(random_state=0).fit(nominal).predict([[0.0, 0.0], [7.0, 7.0]])
    array([ 1, -1])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "alpha": [Interval(Real, 0, 1, closed="neither")],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "max_samples": [Interval(Integral, 2, None, closed="left")],
        "level": [Interval(Integral, 1, None, closed="left")],
        "calibration": [StrOptions(set(CALIBRATIONS))],
        "calibration_size": CALIBRATION_SIZE_CONSTRAINT,
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        alpha: float = 0.05,
        n_estimators: int = 100,
        max_samples: int = 256,
        level: int = 1,
        calibration: str = "split",
        calibration_size: float = 0.25,
        random_state: Any = None,
    ) -> None:
        self.alpha = alpha
        self.n_estimators = n_estimators
        self.max_samples = max_samples
        self.level = level
        self.calibration = calibration
        self.calibration_size = calibration_size
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Estimate the mass from nominal rows, and calibrate; ``y`` is ignored."""
        fitted, model = self._calibrated(X, self._learn)
        fitted.columns_ = model.columns
        return self._become(fitted)

    def _learn(
        self, rows: FloatArray, rng: np.random.RandomState, like: MeanMass | None
    ) -> MeanMass:
        n_sampled = min(self.max_samples, len(rows))
        columns = []
        for _ in range(self.n_estimators):
            sample = rows[rng.choice(len(rows), n_sampled, replace=False)]
            column = int(rng.randint(rows.shape[1]))
            columns.append(MassOfColumn.of(sample[:, column], column, self.level))
        return MeanMass(columns)


@dataclass(frozen=True, eq=False)
class MeanMass:
    """Mean mass of a row over some columns of some subsamples."""

    columns: list[MassOfColumn]

    def __call__(self, rows: FloatArray, n_jobs: int | None = None) -> FloatArray:
        """Mean mass of each row."""
        total = np.zeros(len(rows))
        for mass in self.columns:  # in this order for any batch, so that equal rows score equal
            total += mass(rows)
        return total / len(self.columns)

    def training_scores(self, rows: FloatArray) -> FloatArray:
        """Mean mass of each row that it was estimated from."""
        return self(rows)


@dataclass(frozen=True, eq=False)
class MassOfColumn:
    """Mass as a step function of one column: ``masses[k]`` between borders k and k + 1, else 0."""

    column: int
    borders: FloatArray
    masses: FloatArray

    @classmethod
    def of(cls, values: FloatArray, column: int, level: int) -> MassOfColumn:
        """Estimate from a subsample's values; borders lie halfway between neighboring values."""
        distinct, counts = np.unique(values, return_counts=True)
        middles = distinct[:-1] + 0.5 * np.diff(distinct)
        if distinct.size == 1:
            borders = np.repeat(distinct, 2)
        else:
            # The outer borders lie as far out as the first inner ones lie in.
            first = distinct[0] - (middles[0] - distinct[0])
            last = distinct[-1] + (distinct[-1] - middles[-1])
            borders = np.concatenate([[first], middles, [last]])
        return cls(column, borders, level_masses(distinct, counts, level))

    def __call__(self, rows: FloatArray) -> FloatArray:
        """Mass of each row."""
        values = rows[:, self.column]
        cell = np.searchsorted(self.borders, values, side="right") - 1
        cell = np.where(values == self.borders[-1], len(self.masses) - 1, cell)
        is_inside = (values >= self.borders[0]) & (values <= self.borders[-1])
        return np.where(is_inside, self.masses[np.clip(cell, 0, len(self.masses) - 1)], 0.0)


def level_masses(values: FloatArray, counts: IntArray, level: int) -> FloatArray:
    """Level-h mass of each of the sorted distinct values.

    A split falls between neighboring values with probability proportional to their distance. The
    mass of level 1 is the expected number of points on the value's own side; that of level h the
    expected mass of level h - 1 there.

    >>> level_masses(np.array([0.0, 1.0, 3.0]), np.array([1, 1, 2]), level=1)
    array([1.66666667, 2.33333333, 2.33333333])
    """
    if level == 0 or values.size == 1:
        return np.full(values.size, float(counts.sum()))
    probabilities = np.diff(values) / (values[-1] - values[0])
    below = np.cumsum(counts)[:-1]
    if level == 1:
        on_left = np.cumsum((probabilities * below)[::-1])[::-1]
        on_right = np.cumsum(probabilities * (counts.sum() - below))
        return np.asarray(np.append(on_left, 0.0) + np.insert(on_right, 0, 0.0))
    masses = np.zeros(values.size)
    for split, probability in enumerate(probabilities, start=1):
        masses[:split] += probability * level_masses(values[:split], counts[:split], level - 1)
        masses[split:] += probability * level_masses(values[split:], counts[split:], level - 1)
    return masses
