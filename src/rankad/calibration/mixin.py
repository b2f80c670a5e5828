"""What every calibrated detector does: it learns, is given reference scores, and decides."""

from __future__ import annotations

from copy import copy
from numbers import Real
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import OutlierMixin, _fit_context
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from rankad._progress import logger, progress_shown
from rankad._typing import FloatArray, IntArray
from rankad._validation import scoring_rows, training_rows
from rankad._warnings import warn_user
from rankad.calibration.reference import ReferenceScores
from rankad.calibration.strategies import CALIBRATIONS
from rankad.exceptions import CalibrationWarning, UnresolvableAlphaError


class CalibratedDetectorMixin(OutlierMixin):  # type: ignore[misc]
    """The public face of a detector whose scores become p-values.

    A detector has the parameters ``alpha``, ``calibration``, ``calibration_size`` and
    ``random_state``, and says how it learns (`_learn`) and scores (`_scores`).
    """

    alpha: float
    calibration: str
    calibration_size: float
    random_state: Any
    reference_: ReferenceScores

    if TYPE_CHECKING:

        def _learn(self, rows: FloatArray, rng: np.random.RandomState) -> None: ...

        def _scores(self, rows: FloatArray) -> FloatArray: ...

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Learn from nominal rows, and calibrate.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Nominal rows: numpy, pandas, polars or Arrow.
        y : Ignored

        Returns
        -------
        self : object
        """
        # On a copy: a fit that fails leaves this detector as it was, one that succeeds leaves
        # nothing of an earlier fit.
        attempt = copy(self)
        _forget_fit(attempt)
        with progress_shown(getattr(self, "verbose", False)):
            rows = training_rows(attempt, X)
            rng = check_random_state(self.random_state)
            attempt._set_reference(CALIBRATIONS[self.calibration](attempt, rows, rng))
            logger.info("calibrated on %d rows", attempt.reference_.size)
        _forget_fit(self)
        self.__dict__.update(attempt.__dict__)
        return self

    @property
    def offset_(self) -> float:
        """Score below which a row is an anomaly at the level ``alpha``, even if set after ``fit``.

        Minus infinity where the reference cannot resolve the level: nothing alarms.
        """
        check_is_fitted(self, "reference_")
        return self.reference_.threshold(_require_level(self.alpha))

    def score_samples(self, X: ArrayLike) -> FloatArray:
        """Score of each row: higher = more nominal.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        scores : ndarray of shape (n_samples,)
        """
        check_is_fitted(self, "reference_")
        scores = self._scores(scoring_rows(self, X))
        if np.isnan(scores).any():
            raise ValueError(
                f"{self} has no score for row {int(np.isnan(scores).argmax())}: it came out as NaN."
            )
        return scores

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
        scores = self.score_samples(X)
        return self.reference_.p_values(scores)

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
        scores = self.score_samples(X)
        threshold = self.offset_ if alpha is None else self._explicit_threshold(alpha)
        return np.where(scores < threshold, -1, 1)

    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Score minus ``offset_``: negative exactly for the anomalies at the constructor's alpha.

        Where the reference is too small for that alpha (`fit` warned), nothing can alarm and every
        value is infinite; `score_samples` still orders the rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        decision : ndarray of shape (n_samples,)
        """
        scores = self.score_samples(X)
        return scores - self.offset_

    def calibrate(self, X: ArrayLike) -> Self:
        """Add nominal rows to the reference, without refitting; more rows resolve finer levels.

        The rows must be new: not seen by ``fit``, and drawn like the rows to come. A reference that
        was not held out (``calibration="train"`` or ``"cross"``) is replaced, not extended.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        self : object
        """
        scores = self.score_samples(X)
        self._set_reference(self.reference_.extended(scores))
        return self

    def _training_scores(self, rows: FloatArray) -> FloatArray:
        return self._scores(rows)

    def _for_fold(self) -> Self:
        """Copy to learn from a part of the rows."""
        return copy(self)

    def _settle(self, rows: FloatArray) -> None:
        """Nothing to choose."""

    def _set_reference(self, reference: ReferenceScores) -> None:
        self.reference_ = reference
        if self.offset_ == -np.inf:
            warn_user(
                f"alpha={self.alpha} is finer than {reference.size} reference points can resolve: "
                f"nothing can alarm. {_remedy(reference, self.alpha)}",
                CalibrationWarning,
            )

    def _explicit_threshold(self, alpha: Any) -> float:
        threshold = self.reference_.threshold(_require_level(alpha))
        if threshold == -np.inf:
            raise UnresolvableAlphaError(
                f"alpha={alpha} is finer than {self.reference_.size} reference points can resolve."
                f" {_remedy(self.reference_, float(alpha))}"
            )
        return threshold


def _require_level(alpha: Any) -> float:
    if not isinstance(alpha, Real) or not 0.0 < float(alpha) < 1.0:
        raise ValueError(f"alpha must be a number between 0 and 1, exclusive; got {alpha!r}.")
    return float(alpha)


def _forget_fit(detector: CalibratedDetectorMixin) -> None:
    """Remove what a fit has learned: by scikit-learn's custom, the attributes that end in ``_``."""
    for name in [name for name in detector.__dict__ if name.endswith("_")]:
        delattr(detector, name)


def _remedy(reference: ReferenceScores, alpha: float) -> str:
    needed = int(np.ceil(1.0 / alpha)) - 1
    return (
        f"The smallest possible alpha is {reference.smallest_alpha:.4g}; for {alpha} give at least "
        f"{needed} reference points: fit on more rows, raise calibration_size, or call calibrate()."
    )
