"""A fitted detector under covariate shift: p-values by weighted calibration rows."""

from __future__ import annotations

from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike

from rankad._typing import FloatArray, IntArray
from rankad._validation import scoring_rows
from rankad._warnings import warn_user
from rankad.calibration.bounds import require_probability
from rankad.calibration.weighted import Weight, WeightedScores, density_ratio
from rankad.exceptions import CalibrationWarning

#: With an effective size below this, p-values are so coarse that users should know.
_FEW = 50.0

#: So would they where a single row has more of the weight than this.
_LARGE_SHARE = 0.02


class _Scores(Protocol):
    def score_samples(self, X: ArrayLike) -> FloatArray:
        """Score of each row."""


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
        self.reference = WeightedScores.from_scores(detector.score_samples(X), weight(_as_array(X)))
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


def _as_array(rows: ArrayLike) -> Any:
    """Rows as a weight takes them: frames as they are, lists as arrays."""
    return rows if hasattr(rows, "shape") else np.asarray(rows, dtype=np.float64)
