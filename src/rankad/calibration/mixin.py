"""What every calibrated detector can do once it has reference scores."""

import warnings
from numbers import Real
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import OutlierMixin
from sklearn.utils.validation import check_is_fitted

from rankad._typing import FloatArray, IntArray
from rankad.calibration.reference import ReferenceScores
from rankad.exceptions import CalibrationWarning, UnresolvableAlphaError


class CalibratedDetectorMixin(OutlierMixin):  # type: ignore[misc]
    """p-values, decisions at any level, and recalibration, for any detector with scores.

    The detector has a parameter ``alpha`` and a method ``score_samples`` (higher = more nominal),
    and calls `_set_reference` at the end of ``fit``.
    """

    alpha: float
    reference_: ReferenceScores
    offset_: float

    if TYPE_CHECKING:

        def score_samples(self, X: ArrayLike) -> FloatArray:
            """Score of each row, higher = more nominal: the detector's own."""
            ...

    def p_values(self, X: ArrayLike) -> FloatArray:
        """p-value of each row: small = anomalous.

        For a new nominal row, ``P(p <= alpha) <= alpha`` where the reference is held out
        (``calibration="split"``). Rows below every reference score share the smallest p-value;
        rank such alarms by `score_samples`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        p : ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        return self.reference_.p_values(self.score_samples(X))

    def predict(self, X: ArrayLike, alpha: float | None = None) -> IntArray:
        """Label each row: -1 for an anomaly (``p <= alpha``), +1 for a nominal row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        alpha : float, optional
            False-alarm level, any, without refitting; by default the constructor's.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        threshold = self.offset_ if alpha is None else self._explicit_threshold(alpha)
        return np.where(self.score_samples(X) < threshold, -1, 1)

    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Score minus ``offset_``: negative exactly for the anomalies at the constructor's alpha.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        decision : ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        return self.score_samples(X) - self.offset_

    def calibrate(self, X: ArrayLike) -> Self:
        """Add nominal rows to the reference, without refitting; more rows resolve finer levels.

        The rows must be new: not seen by ``fit``, and drawn like the rows to come. A reference of
        training scores (``calibration="train"``) is replaced, not extended.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        self : object
        """
        check_is_fitted(self)
        self._set_reference(self.reference_.extended(self.score_samples(X)))
        return self

    def _set_reference(self, reference: ReferenceScores) -> None:
        self.reference_ = reference
        self.offset_ = reference.threshold(self.alpha)
        if self.offset_ == -np.inf:
            warnings.warn(
                f"alpha={self.alpha} is finer than {reference.size} reference points can resolve: "
                f"nothing can alarm. {_remedy(reference, self.alpha)}",
                CalibrationWarning,
                stacklevel=3,
            )

    def _explicit_threshold(self, alpha: Any) -> float:
        if not isinstance(alpha, Real) or not 0.0 < float(alpha) < 1.0:
            raise ValueError(f"alpha must be a number between 0 and 1, exclusive; got {alpha!r}.")
        threshold = self.reference_.threshold(float(alpha))
        if threshold == -np.inf:
            raise UnresolvableAlphaError(
                f"alpha={alpha} is finer than {self.reference_.size} reference points can resolve."
                f" {_remedy(self.reference_, float(alpha))}"
            )
        return threshold


def _remedy(reference: ReferenceScores, alpha: float) -> str:
    needed = int(np.ceil(1.0 / alpha)) - 1
    return (
        f"The smallest possible alpha is {reference.smallest_alpha:.4g}; for {alpha} give at least "
        f"{needed} reference points: fit on more rows, raise calibration_size, or call calibrate()."
    )
