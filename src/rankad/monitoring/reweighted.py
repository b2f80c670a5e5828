"""A fitted detector under covariate shift: p-values by weighted calibration rows."""

from __future__ import annotations

from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike

from rankad._rounding import EXACT
from rankad._typing import FloatArray, IntArray
from rankad._validation import scoring_rows
from rankad._warnings import warn_user
from rankad.calibration.bounds import require_probability
from rankad.calibration.weighted import Weight, WeightedScores, density_ratio
from rankad.exceptions import CalibrationWarning

#: With a smaller effective size, p-values are so coarse that users should know.
_MIN_EFFECTIVE_SIZE = 50.0

#: The same holds if a single row has a larger share of the weight.
_MAX_WEIGHT_SHARE = 0.02


class _Scores(Protocol):
    def score_samples(self, X: ArrayLike) -> FloatArray:
        """Score of each row."""


class Reweighted:
    """A fitted detector under covariate shift: p-values by weighted calibration rows.

    Use it if new rows have another distribution than the rows of ``fit``, but a nominal row is
    still nominal. Give it nominal rows that the detector's ``fit`` has *not* seen. Also give the
    density ratio, or use `estimated` with rows that are drawn like the new ones. With the true
    ratio the false-alarm rate is guaranteed. With an estimated ratio it is as good as the estimate.

    Parameters
    ----------
    detector : fitted detector
        Any detector with ``score_samples``, higher = more nominal.
    X : array-like of shape (n, d)
        Held-out nominal rows.
    weight : callable
        Takes rows, and returns their density ratios up to a common factor. It gets rows as you give
        them: a frame, if you give a frame.

    Attributes
    ----------
    reference : WeightedScores
        Scores of the held-out rows, with their weights.
    effective_size : float
        Number of equally weighted rows that the held-out rows are worth. A small number makes
        p-values coarse.

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
        # Another library's detector has no reference of ours, and then no stated rounding.
        rounding = getattr(getattr(detector, "reference_", None), "rounding", EXACT)
        self.reference = WeightedScores.from_scores(
            detector.score_samples(X), weight(_as_array(X)), rounding
        )
        largest_share = float(self.reference.weights.max() / self.reference.weights.sum())
        if self.effective_size < _MIN_EFFECTIVE_SIZE or largest_share > _MAX_WEIGHT_SHARE:
            warn_user(
                f"The calibration rows are worth {self.effective_size:.0f} of the new rows "
                f"(effective size), and one of them has {largest_share:.1%} of the weight. So "
                "p-values are coarse. Give more calibration rows, or rows nearer to the new ones.",
                CalibrationWarning,
            )

    @classmethod
    def estimated(cls, detector: _Scores, X: ArrayLike, X_new: ArrayLike) -> Self:
        """Estimate the density ratio from unlabeled rows that are drawn like the new rows.

        The ratio is the odds of a logistic regression between old and new rows, in z-scored
        columns. Anomalies among the new rows count as shift. If they are many, their weight grows
        and they alarm less.

        Parameters
        ----------
        detector : fitted detector
            Any detector with ``score_samples``, higher = more nominal.
        X : array-like of shape (n, d)
            Held-out nominal rows.
        X_new : array-like of shape (n_new, d)
            Rows that are drawn like the new rows.

        Returns
        -------
        reweighted : Reweighted
        """
        if hasattr(detector, "n_features_in_"):  # wrong columns would look like a large shift
            scoring_rows(detector, X_new)
        return cls(detector, X, density_ratio(X, X_new))

    @property
    def effective_size(self) -> float:
        """Number of equally weighted rows that the calibration rows are worth."""
        return self.reference.effective_size

    def p_values(self, X: ArrayLike) -> FloatArray:
        """p-value of each row: small = anomalous.

        The p-values of different rows depend on one another through the weights. It is not known
        whether the procedure of Benjamini and Hochberg keeps its rate with them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New rows.

        Returns
        -------
        p : ndarray of shape (n_samples,)
        """
        scores = self.detector.score_samples(X)
        return self.reference.p_values(scores, self.weight(_as_array(X)))

    def predict(self, X: ArrayLike, alpha: float | None = None) -> IntArray:
        """Label each row: -1 for an anomaly (``p <= alpha``), +1 for a nominal row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New rows.
        alpha : float, optional
            False-alarm rate. The default is the detector's alpha.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        alpha = getattr(self.detector, "alpha", 0.05) if alpha is None else alpha
        require_probability("alpha", alpha)
        return np.where(self.p_values(X) <= alpha, -1, 1)


def _as_array(rows: ArrayLike) -> Any:
    """Rows as a weight takes them: frames as they are, lists as arrays."""
    return rows if hasattr(rows, "shape") else np.asarray(rows, dtype=np.float64)
