"""p-values where new rows are drawn otherwise than the calibration rows: weighted conformal.

If only the law of the rows has shifted, and a nominal row is still nominal, held-out calibration
rows weighted by the density ratio ``w = dP_new / dP_calibration`` stand for the new ones
(Tibshirani et al., 2019): ``p = (sum_i w_i 1{s_i <= s} + w(x)) / (sum_i w_i + w(x))``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from rankad._typing import FloatArray

#: Rows to density ratios, up to a common factor.
Weight = Callable[[Any], FloatArray]

#: Estimated ratios are kept within this factor of 1: beyond it a classifier only guesses.
_MAX_RATIO = 100.0


@dataclass(frozen=True, eq=False)
class WeightedScores:
    """Scores of calibration rows, sorted, with their weights.

    >>> reference = WeightedScores.from_scores(np.array([3.0, 1.0, 2.0]), np.array([2.0, 1.0, 1.0]))
    >>> reference.p_values(np.array([1.5, 9.0]), np.array([1.0, 1.0]))
    array([0.4, 1. ])
    >>> round(reference.effective_size, 2)
    2.67
    """

    scores: FloatArray
    weights: FloatArray

    @classmethod
    def from_scores(cls, scores: FloatArray, weights: FloatArray) -> Self:
        """Sort the scores of calibration rows, each with its weight."""
        scores, weights = np.asarray(scores, float), _checked(weights, len(scores))
        if np.isnan(scores).any():
            raise ValueError("Reference scores must not be NaN.")
        if not weights.sum() > 0.0:
            raise ValueError("Not all weights may be 0: no calibration row is like the new ones.")
        order = np.argsort(scores, kind="stable")
        return cls(scores[order], weights[order])

    @property
    def effective_size(self) -> float:
        """Equally weighted points that would say as much: ``(sum w)^2 / sum w^2``."""
        return float(self.weights.sum() ** 2 / (self.weights**2).sum())

    def p_values(self, scores: FloatArray, weights: FloatArray) -> FloatArray:
        """p-value of each score, given the weight of its row."""
        weights = _checked(weights, len(scores))
        below = np.concatenate([[0.0], np.cumsum(self.weights)])
        n_at_most = np.searchsorted(self.scores, scores, side="right")
        return np.asarray((below[n_at_most] + weights) / (below[-1] + weights))


def density_ratio(X: ArrayLike, X_new: ArrayLike) -> Weight:
    """Estimate how much likelier a row is among the new ones, by logistic regression.

    >>> rng = np.random.default_rng(0)
    >>> ratio = density_ratio(rng.normal(size=(2000, 1)), rng.normal(1.0, size=(2000, 1)))
    >>> (ratio(np.array([[0.0], [1.0]])) / np.exp([-0.5, 0.5])).round(1)  # the true one
    array([1., 1.])
    """
    # Not needed by whoever imports a detector.
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    old, new = np.asarray(X, dtype=np.float64), np.asarray(X_new, dtype=np.float64)
    rows, is_new = np.concatenate([old, new]), np.repeat([0, 1], [len(old), len(new)])
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)).fit(rows, is_new)

    def ratio(rows: ArrayLike) -> FloatArray:
        log_odds = model.decision_function(np.asarray(rows, dtype=np.float64))
        log_ratio = log_odds + np.log(len(old) / len(new))
        bound = np.log(_MAX_RATIO)
        return np.asarray(np.exp(np.clip(log_ratio, -bound, bound)))

    return ratio


def _checked(weights: FloatArray, n: int) -> FloatArray:
    weights = np.asarray(weights, dtype=np.float64)
    if weights.shape != (n,):
        raise ValueError(f"There must be one weight for each of {n} rows; got {weights.shape}.")
    if not (np.isfinite(weights) & (weights >= 0.0)).all():
        raise ValueError("Weights must be finite and not negative.")
    return weights
