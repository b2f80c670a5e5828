"""p-values under a shift of the rows: weighted conformal p-values.

Suppose that only the distribution of the rows has shifted, and a nominal row is still nominal. Then
held-out calibration rows with the density ratio ``w = dP_new / dP_calibration`` as weights stand
for the new rows (Tibshirani et al., 2019):
``p = (sum_i w_i 1{s_i <= s} + w(x)) / (sum_i w_i + w(x))``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from rankad._rounding import EXACT, Rounding
from rankad._typing import FloatArray

#: A function from rows to density ratios, up to a common factor.
Weight = Callable[[Any], FloatArray]

#: Estimated ratios are kept within this factor of 1. Beyond it, a classifier only guesses.
_MAX_RATIO = 100.0


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

    def p_values(self, scores: FloatArray, weights: FloatArray) -> FloatArray:
        """p-value of each score, given the weight of its row."""
        weights = _checked(weights, len(scores))
        below = np.concatenate([[0.0], np.cumsum(self.weights)])
        n_at_most = np.searchsorted(self.scores, scores, side="right")
        return np.asarray((below[n_at_most] + weights) / (below[-1] + weights))


def density_ratio(X: ArrayLike, X_new: ArrayLike) -> Weight:
    """Estimate the density ratio of new rows to old rows, by logistic regression.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Old rows.
    X_new : array-like of shape (n_new, d)
        New rows.

    Returns
    -------
    ratio : callable
        A function from rows to density ratios: how many times as likely a row is among the new
        rows. The ratios lie between 1/100 and 100.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> ratio = density_ratio(rng.normal(size=(2000, 1)), rng.normal(1.0, size=(2000, 1)))
    >>> (ratio(np.array([[0.0], [1.0]])) / np.exp([-0.5, 0.5])).round(1)  # the true one
    array([1., 1.])
    """
    # Imported here, because most users of a detector do not need it.
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
        raise ValueError(f"Give one weight for each of {n} rows; got shape {weights.shape}.")
    if not (np.isfinite(weights) & (weights >= 0.0)).all():
        raise ValueError("Weights must be finite and not negative.")
    return weights
