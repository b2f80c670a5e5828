"""p-values where new rows are drawn otherwise than the calibration rows: weighted conformal.

If only the law of the rows has shifted, and a nominal row is still nominal, held-out calibration
rows weighted by the density ratio ``w = dP_new / dP_calibration`` stand for the new ones
(Tibshirani et al., 2019): ``p = (sum_i w_i 1{s_i <= s} + w(x)) / (sum_i w_i + w(x))``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike

from rankad._typing import FloatArray, IntArray
from rankad._validation import scoring_rows
from rankad._warnings import warn_user
from rankad.calibration.bounds import require_probability
from rankad.exceptions import CalibrationWarning

#: Rows to density ratios, up to a common factor.
Weight = Callable[[Any], FloatArray]

#: Estimated ratios are kept within this factor of 1: beyond it a classifier only guesses.
_MOST_RATIO = 100.0

#: With an effective size below this, p-values are so coarse that users should know.
_FEW = 50.0

#: So would they where a single row has more of the weight than this.
_LARGE_SHARE = 0.02


class _Scores(Protocol):
    def score_samples(self, X: ArrayLike) -> FloatArray:
        """Score of each row."""


@dataclass(frozen=True, eq=False)
class WeightedScores:
    """Scores of calibration rows, sorted, with their weights.

    >>> reference = WeightedScores.of(np.array([3.0, 1.0, 2.0]), np.array([2.0, 1.0, 1.0]))
    >>> reference.p_values(np.array([1.5, 9.0]), np.array([1.0, 1.0]))
    array([0.4, 1. ])
    >>> round(reference.effective_size, 2)
    2.67
    """

    scores: FloatArray
    weights: FloatArray

    @classmethod
    def of(cls, scores: FloatArray, weights: FloatArray) -> Self:
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


class Reweighted:
    """A fitted detector under covariate shift: p-values by weighted calibration rows.

    Give it nominal rows that the detector's ``fit`` has *not* seen (nor held out by itself: those
    are not kept), and either the density ratio, or rows drawn like the new ones, from which it is
    estimated. With the true ratio the level is exact; with an estimated one it is as good as that.

    Parameters
    ----------
    detector : fitted detector
        Anything with ``score_samples``, higher = more nominal.
    X : array-like of shape (n, d)
        Held-out nominal rows.
    weight : callable
        Rows to density ratios, up to a common factor. It is given what you give: a frame, if you
        give frames.

    Attributes
    ----------
    reference : WeightedScores
    effective_size : float
        How many equally weighted rows the calibration rows are worth; few make p-values coarse.

    Examples
    --------
    >>> from rankad import RankAD
    >>> rng = np.random.default_rng(0)
    >>> detector = RankAD(random_state=0).fit(rng.normal(size=(500, 1)))
    >>> shifted = Reweighted(  # new rows are N(1, 1): density ratio exp(x - 1/2)
    ...     detector, rng.normal(size=(500, 1)), weight=lambda X: np.exp(X[:, 0])
    ... )
    >>> bool(100 < shifted.effective_size < 300)
    True
    >>> shifted.predict(np.array([[1.0], [-4.0]]), alpha=0.05)
    array([ 1, -1])
    """

    def __init__(self, detector: _Scores, X: ArrayLike, weight: Weight) -> None:
        self.detector = detector
        self.weight = weight
        self.reference = WeightedScores.of(detector.score_samples(X), weight(_as_array(X)))
        largest_share = float(self.reference.weights.max() / self.reference.weights.sum())
        if self.effective_size < _FEW or largest_share > _LARGE_SHARE:
            warn_user(
                f"The calibration rows are worth {self.effective_size:.0f} of the new kind "
                f"(effective size), and one of them has {largest_share:.1%} of the weight: "
                "p-values are rarely smaller than that. Give more calibration rows, or rows nearer "
                "to the new ones.",
                CalibrationWarning,
            )

    @classmethod
    def estimated(cls, detector: _Scores, X: ArrayLike, X_new: ArrayLike) -> Self:
        """With the density ratio estimated from rows drawn like the new ones, unlabeled.

        The odds of a logistic regression between both, in z-scored columns, are the ratio.
        Anomalies among the new rows are taken for shift: where they are many, their weight grows
        and they alarm less.
        """
        if hasattr(detector, "n_features_in_"):  # wrong columns would pass for a great shift
            scoring_rows(detector, X_new)
        return cls(detector, X, density_ratio(X, X_new))

    @property
    def effective_size(self) -> float:
        """How many equally weighted rows the calibration rows are worth."""
        return self.reference.effective_size

    def p_values(self, X: ArrayLike) -> FloatArray:
        """p-value of each row: small = anomalous.

        Of different rows they depend on one another through the weights: Benjamini and Hochberg's
        procedure on them is not known to keep its rate.
        """
        scores = self.detector.score_samples(X)
        return self.reference.p_values(scores, self.weight(_as_array(X)))

    def predict(self, X: ArrayLike, alpha: float | None = None) -> IntArray:
        """Label each row: -1 for an anomaly (``p <= alpha``), +1 for a nominal row.

        The level is by default the detector's own.
        """
        alpha = getattr(self.detector, "alpha", 0.05) if alpha is None else alpha
        require_probability("alpha", alpha)
        return np.where(self.p_values(X) <= alpha, -1, 1)


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
        bound = np.log(_MOST_RATIO)
        return np.asarray(np.exp(np.clip(log_ratio, -bound, bound)))

    return ratio


def _as_array(rows: ArrayLike) -> Any:
    """Rows as a weight takes them: frames as they are, lists as arrays."""
    return rows if hasattr(rows, "shape") else np.asarray(rows, dtype=np.float64)


def _checked(weights: FloatArray, n: int) -> FloatArray:
    weights = np.asarray(weights, dtype=np.float64)
    if weights.shape != (n,):
        raise ValueError(f"There must be one weight for each of {n} rows; got {weights.shape}.")
    if not (np.isfinite(weights) & (weights >= 0.0)).all():
        raise ValueError("Weights must be finite and not negative.")
    return weights
