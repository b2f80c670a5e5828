"""A fitted detector under covariate shift: p-values by weighted calibration rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike

from rankad._base import BaseDetector
from rankad._rounding import EXACT
from rankad._typing import BoolArray, FloatArray, IntArray
from rankad._validation import scoring_rows
from rankad._warnings import warn_user
from rankad.calibration.bounds import require_probability
from rankad.calibration.copies import row_hashes
from rankad.calibration.density_ratio import density_ratio
from rankad.calibration.weighted import Weight, WeightedScores, imbalance
from rankad.exceptions import CalibrationWarning, UnresolvableAlphaError
from rankad.monitoring.frozen_model import FrozenModel

#: With a smaller effective size, p-values are so coarse that users should know.
_MIN_EFFECTIVE_SIZE = 50.0

#: The same holds if a single row has a larger share of the weight.
_MAX_WEIGHT_SHARE = 0.02

#: With a larger share of unsupported new rows, the false-alarm rate may be far above alpha.
_MAX_UNSUPPORTED = 0.02


class _Scores(Protocol):
    def score_samples(self, X: ArrayLike) -> FloatArray:
        """Score of each row."""


class Reweighted:
    """A fitted detector under covariate shift: p-values by weighted calibration rows.

    Use it if new rows have another distribution than the rows of ``fit``, but a nominal row is
    still nominal. Give it nominal rows that the detector's ``fit`` has *not* seen. Also give the
    density ratio, or use `estimated` with rows that are drawn like the new ones.

    A new row is *unsupported* if its ratio exceeds those of all calibration rows: no calibration
    row is like it. Its p-value then takes the largest of their ratios, so that an anomaly beyond
    the calibration rows still alarms. With the true ratio, a nominal row has
    ``P(p <= alpha) <= alpha + P(it is unsupported)``. With an estimated ratio, the rate is as good
    as the estimate. With ``X_new``, both are checked: see `unsupported_share` and `imbalance`.

    Parameters
    ----------
    detector : fitted detector
        Any detector with ``score_samples``, higher = more nominal.
    X : array-like of shape (n, d)
        Held-out nominal rows. Rows that trained a detector of rankad are refused.
    weight : callable
        Takes rows, and returns their density ratios up to a common factor. It gets rows as you give
        them: a frame, if you give a frame.
    X_new : array-like of shape (n_new, d), optional
        Rows that are drawn like the new rows, to check the ratio.

    Attributes
    ----------
    reference : WeightedScores
        Scores of the held-out rows, with their weights.
    effective_size : float
        Number of equally weighted rows that the held-out rows are worth. A small number makes
        p-values coarse.
    smallest_alpha : float
        ``1 / (effective_size + 1)``. `predict` refuses a smaller alpha.
    unsupported_share : float or None
        Share of unsupported rows in ``X_new``. Above .02 there is a warning.
    imbalance : float or None
        How far the moments of the weighted calibration rows are from those of ``X_new``. Above 1
        chance hardly explains it, and there is a warning: the ratio is wrong, or ``X_new`` has many
        anomalies.

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

    def __init__(
        self, detector: _Scores, X: ArrayLike, weight: Weight, *, X_new: ArrayLike | None = None
    ) -> None:
        self._calibrate(detector, X, weight, weight(_as_array(X)), X_new)

    @classmethod
    def estimated(
        cls, detector: _Scores, X: ArrayLike, X_new: ArrayLike, *, model: str = "auto"
    ) -> Self:
        """Estimate the density ratio from unlabeled rows that are drawn like the new rows.

        The ratio is the odds of a classifier between old and new rows (see
        `rankad.calibration.density_ratio`). Each calibration row is weighted by a classifier that
        has not learned from it. Anomalies among the new rows count as shift. If they are many,
        their weight grows and they alarm less.

        Parameters
        ----------
        detector : fitted detector
            Any detector with ``score_samples``, higher = more nominal.
        X : array-like of shape (n, d)
            Held-out nominal rows.
        X_new : array-like of shape (n_new, d)
            Rows that are drawn like the new rows.
        model : {"auto", "linear", "quadratic", "boosting"}, default="auto"
            Classifier. "auto" takes the simplest of the best.

        Returns
        -------
        reweighted : Reweighted
        """
        if hasattr(detector, "n_features_in_"):  # wrong columns would look like a large shift
            scoring_rows(detector, X_new)
        ratio = density_ratio(X, X_new, model=model)
        made = cls.__new__(cls)
        made._calibrate(detector, X, ratio, ratio.old_ratios, X_new)
        return made

    def _calibrate(
        self,
        detector: _Scores,
        X: ArrayLike,
        weight: Weight,
        weights: FloatArray,
        X_new: ArrayLike | None,
    ) -> None:
        """Score and weight the calibration rows, and warn of what makes p-values bad."""
        if isinstance(detector, BaseDetector):  # other detectors do not know what trained them
            hashes = row_hashes(scoring_rows(detector, X))
            detector._require_new(hashes, "Reweighted", also_reference=False)
        self.detector, self.weight = detector, weight
        self._frozen = FrozenModel.of(detector, "Make a new Reweighted.")
        # Another library's detector has no reference of ours, and then no stated rounding.
        rounding = getattr(getattr(detector, "reference_", None), "rounding", EXACT)
        scores = detector.score_samples(X)
        self.reference = WeightedScores.from_scores(scores, weights, rounding)
        self.unsupported_share = self.imbalance = None
        if X_new is not None:
            self.unsupported_share = float(1.0 - self.is_supported(X_new).mean())
            old, new = np.asarray(X, dtype=np.float64), np.asarray(X_new, dtype=np.float64)
            self.imbalance = imbalance(old, np.asarray(weights, dtype=np.float64), new)
        for warning in self._warnings():
            warn_user(warning, CalibrationWarning)

    def _warnings(self) -> Iterator[str]:
        largest_share = float(self.reference.weights.max() / self.reference.weights.sum())
        if self.effective_size < _MIN_EFFECTIVE_SIZE or largest_share > _MAX_WEIGHT_SHARE:
            yield (
                f"The calibration rows are worth {self.effective_size:.0f} of the new rows "
                f"(effective size), and one of them has {largest_share:.1%} of the weight. So "
                "p-values are coarse. Give more calibration rows, or rows nearer to the new ones."
            )
        if self.unsupported_share is not None and self.unsupported_share > _MAX_UNSUPPORTED:
            yield (
                f"{self.unsupported_share:.1%} of the new rows are unsupported: no calibration row "
                "is like them. The false-alarm rate may exceed alpha by this share. Give "
                "calibration rows nearer to the new ones, or fit again."
            )
        if self.imbalance is not None and self.imbalance > 1.0:
            yield (
                "The weighted calibration rows do not match the new rows: a mean of a column, of a "
                f"square or of a product differs {self.imbalance:.1f} times as much as chance "
                "explains. The density ratio is wrong, or many new rows are anomalies. Give more "
                "rows, or another ratio, or fit again on new nominal rows."
            )

    @property
    def effective_size(self) -> float:
        """Number of equally weighted rows that the calibration rows are worth."""
        return self.reference.effective_size

    @property
    def smallest_alpha(self) -> float:
        """Smallest alpha that `predict` takes: ``1 / (effective_size + 1)``."""
        return self.reference.smallest_alpha

    def is_supported(self, X: ArrayLike) -> BoolArray:
        """Whether each row is like some calibration row: its ratio is at most their largest ratio.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New rows.

        Returns
        -------
        is_supported : ndarray of bool, shape (n_samples,)
        """
        return self.reference.is_supported(self.weight(_as_array(X)))

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
        scores = self._frozen.scores(X)
        return self.reference.p_values(scores, self.weight(_as_array(X)))

    def predict(self, X: ArrayLike, alpha: float | None = None) -> IntArray:
        """Label each row: -1 for an anomaly (``p <= alpha``), +1 for a nominal row.

        An alpha below `smallest_alpha` is refused: the calibration rows are worth too few rows.

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
        if alpha < self.smallest_alpha:
            raise UnresolvableAlphaError(
                f"alpha={alpha} is too small: the calibration rows are worth "
                f"{self.effective_size:.1f} of the new rows (effective size), and an alpha needs "
                f"{1.0 / alpha - 1.0:.0f}. The smallest alpha is {self.smallest_alpha:.4g}. Give "
                "more calibration rows, or rows nearer to the new ones."
            )
        return np.where(self.p_values(X) <= alpha, -1, 1)


def _as_array(rows: ArrayLike) -> Any:
    """Rows as a weight takes them: frames as they are, lists as arrays."""
    return rows if hasattr(rows, "shape") else np.asarray(rows, dtype=np.float64)
