"""What every calibrated detector does: it learns, is given reference scores, and decides."""

from __future__ import annotations

from copy import copy
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
from rankad.calibration.bands import conditional_p_values
from rankad.calibration.control import FalseAlarmControl, remedy, require_level
from rankad.calibration.reference import HeldOutScores, ReferenceScores
from rankad.calibration.strategies import CALIBRATIONS
from rankad.exceptions import CalibrationWarning


class CalibratedDetectorMixin(FalseAlarmControl, OutlierMixin):  # type: ignore[misc]
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
        return self.reference_.threshold(require_level(self.alpha))

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

    def p_values(self, X: ArrayLike, *, confidence: float | None = None) -> FloatArray:
        """p-value of each row: small = anomalous.

        For a new nominal row, ``P(p <= alpha) <= alpha`` where the reference is held out
        (``calibration="split"``). Rows below every reference score share the smallest p-value;
        rank such alarms by `score_samples`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        confidence : float, optional
            Larger p-values that hold for this very detector: with this probability over the draw of
            its reference, ``P(p <= t) <= t`` for all t at once, and those of different rows are
            independent (see `rankad.calibration.false_alarm_band`).

        Returns
        -------
        p : ndarray of shape (n_samples,)
        """
        if confidence is not None:
            self._require_exact("p_values(confidence=...)")
        scores = self.score_samples(X)
        p = self.reference_.p_values(scores)
        if confidence is None:
            return p
        return conditional_p_values(p, self.reference_.size, confidence)

    def predict(
        self, X: ArrayLike, alpha: float | None = None, *, confidence: float | None = None
    ) -> IntArray:
        """Label each row: -1 for an anomaly (``p <= alpha``), +1 for a nominal row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        alpha : float, optional
            False-alarm level, any, without refitting; by default the constructor's.
        confidence : float, optional
            Alarm only so seldom that with this probability, over the draw of the reference, the
            false-alarm rate of this very detector is at most alpha. Without it, it is so on
            average.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        scores = self.score_samples(X)
        if confidence is not None:
            threshold = self._confident_threshold(
                self.alpha if alpha is None else alpha, confidence
            )
        else:
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

    def calibrate(self, X: ArrayLike, *, replace: bool = False) -> Self:
        """Add nominal rows to the reference, without refitting; more rows resolve finer levels.

        The rows must be new: not seen by ``fit``, and drawn like the rows to come. A reference that
        was not held out (``calibration="train"`` or ``"cross"``) is replaced, not extended.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        replace : bool, default=False
            Let these rows be the whole reference: where nominal rows have changed, the old ones are
            no longer drawn like those to come.

        Returns
        -------
        self : object
        """
        scores = self.score_samples(X)
        if replace:
            self._set_reference(HeldOutScores.of(scores))
        else:
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
                f"nothing can alarm. {remedy(reference, self.alpha)}",
                CalibrationWarning,
            )


def _forget_fit(detector: CalibratedDetectorMixin) -> None:
    """Remove what a fit has learned: by scikit-learn's custom, the attributes that end in ``_``."""
    for name in [name for name in detector.__dict__ if name.endswith("_")]:
        delattr(detector, name)
