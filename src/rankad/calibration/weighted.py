"""p-values under a shift of the rows: weighted conformal p-values.

Suppose that only the distribution of the rows has shifted, and a nominal row is still nominal. Then
held-out calibration rows with the density ratio ``w = dP_new / dP_calibration`` as weights stand
for the new rows (Tibshirani et al., 2019):
``p = (sum_i w_i 1{s_i <= s} + w(x)) / (sum_i w_i + w(x))``.

A row is *unsupported* if its weight exceeds the weights of all calibration rows: the shift has
moved it out of their range, and no calibration row is like it. There the formula would give every
row a large p-value, also an anomaly. So ``w(x)`` is at most ``W = max_i w_i``. The supported rows
keep their p-values, so a new nominal row has ``P(p <= alpha) <= alpha + P(w(x) > W)``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.stats import norm

from rankad._rounding import EXACT, Rounding
from rankad._typing import BoolArray, FloatArray
from rankad.calibration.density_ratio import with_products

#: A function from rows to density ratios, up to a common factor.
Weight = Callable[[Any], FloatArray]

#: z-scores are cut here.
_CUT = 3.0

#: Probability that chance makes an `imbalance` above 1.
_CHANCE = 0.01


@dataclass(frozen=True, eq=False)
class WeightedScores:
    """Scores of calibration rows, sorted and lowered by their rounding, with their weights.

    >>> reference = WeightedScores.from_scores(np.array([3.0, 1.0, 2.0]), np.array([2.0, 1.0, 1.0]))
    >>> reference.p_values(np.array([1.5, 9.0]), np.array([1.0, 1.0]))
    array([0.4, 1. ])
    >>> round(reference.effective_size, 2)
    2.67
    """

    scores: FloatArray
    weights: FloatArray

    @classmethod
    def from_scores(
        cls, scores: FloatArray, weights: FloatArray, rounding: Rounding = EXACT
    ) -> Self:
        """Sort the scores of calibration rows, each with its weight."""
        scores, weights = np.asarray(scores, float), _checked(weights, len(scores))
        if np.isnan(scores).any():
            raise ValueError(
                f"Reference scores must not be NaN; got {int(np.isnan(scores).sum())} of them."
            )
        if not weights.sum() > 0.0:
            raise ValueError(
                "Not all weights may be 0: no calibration row is like the new rows. Give "
                "calibration rows nearer to the new rows."
            )
        order = np.argsort(scores, kind="stable")
        return cls(rounding.lowered(scores[order]), weights[order])

    @property
    def effective_size(self) -> float:
        """Number of equally weighted rows with as much information: ``(sum w)^2 / sum w^2``."""
        return float(self.weights.sum() ** 2 / (self.weights**2).sum())

    @property
    def smallest_alpha(self) -> float:
        """Smallest p-value of a new row whose weight is the mean weight of new rows.

        That mean is ``sum w^2 / sum w``, so the p-value is ``1 / (effective size + 1)``.
        """
        return 1.0 / (self.effective_size + 1.0)

    def is_supported(self, weights: FloatArray) -> BoolArray:
        """Whether the weight of a row is at most the largest weight of a calibration row."""
        return np.asarray(_checked(weights, len(weights)) <= self.weights.max())

    def p_values(self, scores: FloatArray, weights: FloatArray) -> FloatArray:
        """p-value of each score, given the weight of its row."""
        weights = np.minimum(_checked(weights, len(scores)), self.weights.max())
        below = np.concatenate([[0.0], np.cumsum(self.weights)])
        n_at_most = np.searchsorted(self.scores, scores, side="right")
        return np.asarray((below[n_at_most] + weights) / (below[-1] + weights))


def imbalance(X: FloatArray, weights: FloatArray, X_new: FloatArray) -> float:
    """Largest difference between weighted rows and new rows, in limits of chance.

    Compared are the means of all columns, of their squares, and (of up to 20 columns) of their
    products, in z-scores that are cut at 3. Above 1, chance makes such a difference in at most 1 of
    100 cases, if the weights are the true density ratios.

    >>> rng = np.random.default_rng(0)
    >>> old, new = rng.normal(size=(2000, 1)), rng.normal(1.0, size=(2000, 1))
    >>> imbalance(old, np.ones(2000), new) > 1.0 > imbalance(old, np.exp(old[:, 0]), new)
    True
    """
    both = np.concatenate([X, X_new])
    center, spread = both.mean(axis=0), both.std(axis=0)
    old, new = (
        with_products(np.clip((rows - center) / np.where(spread > 0.0, spread, 1.0), -_CUT, _CUT))
        for rows in (X, X_new)
    )
    share = weights / weights.sum()
    mean = share @ old
    variance = share**2 @ (old - mean) ** 2 + new.var(axis=0) / len(new)
    difference = np.abs(mean - new.mean(axis=0))
    limit = norm.isf(_CHANCE / 2.0 / old.shape[1]) * np.sqrt(variance)
    # A moment that does not vary must be equal.
    is_seen = difference > 1e-9
    return float(np.max(difference[is_seen] / np.maximum(limit[is_seen], 1e-9), initial=0.0))


def _checked(weights: FloatArray, n: int) -> FloatArray:
    weights = np.asarray(weights, dtype=np.float64)
    if weights.shape != (n,):
        raise ValueError(f"Give one weight for each of {n} rows; got shape {weights.shape}.")
    if not (np.isfinite(weights) & (weights >= 0.0)).all():
        raise ValueError("Weights must be finite and not negative.")
    return weights
