"""What all detectors share: how a fit is composed, and methods that only delegate."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import wraps
from numbers import Real
from typing import Any, ClassVar, Final, Self, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from rankad._borrowed import Interval, StrOptions, _fit_context
from rankad._progress import logger, progress_shown
from rankad._typing import BoolArray, FloatArray, IntArray
from rankad._validation import scoring_rows, training_rows
from rankad.calibration import (
    CALIBRATION_SIZE_CONSTRAINT,
    HOLDOUTS,
    Audit,
    FalseAlarmBounds,
    FalseAlarmControl,
    FalseAlarmsPerDay,
    HeldOutScores,
    Holdout,
    ReferenceScores,
)
from rankad.calibration.control import checked_alpha
from rankad.models import Model

Fit = TypeVar("Fit", bound=Callable[..., Any])

#: Constraints of the parameters that every detector has.
COMMON_CONSTRAINTS: Final[dict[str, list[Any]]] = {
    "alpha": [Interval(Real, 0, 1, closed="neither")],
    "calibration": [StrOptions(set(HOLDOUTS))],
    "calibration_size": CALIBRATION_SIZE_CONSTRAINT,
    "random_state": ["random_state"],
}


def validated_fit(fit: Fit) -> Fit:
    """Check the parameters before a fit, and show its progress where ``verbose`` asks for it."""

    @wraps(fit)
    def shown(self: Any, *args: Any, **kwargs: Any) -> Any:
        with progress_shown(getattr(self, "verbose", False)):
            return fit(self, *args, **kwargs)

    return cast("Fit", _fit_context(prefer_skip_nested_validation=False)(shown))


class BaseDetector(OutlierMixin, BaseEstimator):  # type: ignore[misc]
    """What all detectors share: scores come from their model, decisions from their reference.

    A detector has the parameters ``alpha``, ``calibration``, ``calibration_size`` and
    ``random_state``. Its ``fit`` learns a model from rows, and leaves the rest to this class.

    Attributes
    ----------
    reference_ : ReferenceScores
        Sorted scores that p-values compare with.
    calibration_indices_ : ndarray of int
        Rows of ``fit`` whose scores made its reference, ascending: those held out, or all.
    offset_ : float
        Rows that score below it are anomalies at the false-alarm rate ``alpha``.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = COMMON_CONSTRAINTS

    alpha: float
    calibration: str
    calibration_size: float
    random_state: Any
    reference_: ReferenceScores
    calibration_indices_: IntArray
    _model: Model

    def _fit(self, X: ArrayLike, learn: Callable[[FloatArray, np.random.RandomState], Any]) -> Self:
        """Validate, hold out, learn, calibrate; ``learn`` takes rows and random numbers."""
        fitted, rows, rng, holdout = self._begin_fit(X)

        def learn_rows(rows: FloatArray, like: Any = None) -> Any:
            return learn(rows, rng)

        model = learn_rows(rows[holdout.training])
        reference = holdout.reference(model, learn_rows, rows)
        return self._end_fit(fitted, model, holdout, reference)

    def _begin_fit(self, X: ArrayLike) -> tuple[Self, FloatArray, np.random.RandomState, Holdout]:
        """A copy to fit, the rows checked, random numbers, and which rows to hold out.

        This detector stays as it is until `_end_fit`: a fit that fails changes nothing.
        """
        fitted = copy(self)
        _forget_fit(fitted)
        rows = training_rows(fitted, X)
        rng = check_random_state(self.random_state)
        return fitted, rows, rng, HOLDOUTS[self.calibration](len(rows), self.calibration_size, rng)

    def _end_fit(
        self, fitted: Self, model: Model, holdout: Holdout, reference: ReferenceScores
    ) -> Self:
        """Take over what was learned, and keep nothing of an earlier fit."""
        logger.info("calibrated on %d rows", reference.size)
        fitted._model = model
        fitted.reference_ = reference
        fitted.calibration_indices_ = holdout.calibration
        fitted._control.warn_if_too_coarse(self.alpha)
        _forget_fit(self)
        self.__dict__.update(fitted.__dict__)
        return self

    def _scores(self, rows: FloatArray) -> FloatArray:
        """Score of each row, unchecked."""
        return self._model(rows, getattr(self, "n_jobs", None))

    @property
    def _control(self) -> FalseAlarmControl:
        check_is_fitted(self, "reference_")
        return FalseAlarmControl(self.reference_)

    def _exact_control(self, what: str) -> FalseAlarmControl:
        self._control.require_exact(what)
        return self._control

    @property
    def offset_(self) -> float:
        """Score below which a row is an anomaly at the level ``alpha``, even if set after ``fit``.

        Minus infinity where the reference cannot resolve the level: nothing alarms.
        """
        check_is_fitted(self, "reference_")
        return self.reference_.threshold(checked_alpha(self.alpha))

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
        control = self._control
        if confidence is not None:
            control.require_exact("p_values(confidence=...)")
        return control.p_values(self.score_samples(X), confidence)

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
            Alarm more rarely: so that with this probability, over the draw of the reference, the
            false-alarm rate of this very detector is at most alpha. Without it, it is so on
            average.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        # Before any row is scored: a level that is refused need not wait for the scores.
        if confidence is not None:
            control = self._exact_control("predict(confidence=...)")
            threshold = control.threshold(self.alpha if alpha is None else alpha, confidence)
        else:
            threshold = self.offset_ if alpha is None else self._control.threshold(alpha)
        return np.where(self.score_samples(X) < threshold, -1, 1)

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
        new = HeldOutScores.from_scores(scores) if replace else self.reference_.extended(scores)
        self.reference_ = new
        self._control.warn_if_too_coarse(self.alpha)
        return self

    def select(self, X: ArrayLike, fdr: float = 0.1, *, adaptive: bool = False) -> BoolArray:
        """Which rows of a batch to call anomalies, so that few of those are false.

        By Benjamini and Hochberg's procedure on the p-values: of the rows selected, the expected
        share of nominal ones is at most ``fdr``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The whole batch: which rows are selected depends on all.
        fdr : float, default=0.1
            False-discovery rate.
        adaptive : bool, default=False
            Storey's form, which finds more where many rows are anomalies.

        Returns
        -------
        is_selected : ndarray of bool, shape (n_samples,)
        """
        control = self._exact_control("select")
        return control.selected(self.score_samples(X), fdr, adaptive)

    def false_alarm_bounds(
        self, alpha: float | None = None, *, confidence: float = 0.95
    ) -> FalseAlarmBounds:
        """What the false-alarm rate of this very detector can be, at a level.

        It is random, by the draw of the reference, and has an exact law; where reference scores
        tie at the threshold it is lower than that.

        Parameters
        ----------
        alpha : float, optional
            By default the constructor's.
        confidence : float, default=0.95
            Of the interval and of the limit.

        Returns
        -------
        FalseAlarmBounds
        """
        control = self._exact_control("false_alarm_bounds")
        return control.bounds(self.alpha if alpha is None else alpha, confidence)

    def false_alarm_band(self, confidence: float = 0.95, method: str = "auto") -> FloatArray:
        """Upper limits of the false-alarm rates at the levels ``j / (n + 1)``, for all at once.

        See `rankad.calibration.false_alarm_band`; n is the size of the reference.
        """
        return self._exact_control("false_alarm_band").band(confidence, method)

    def alpha_for(self, *, events_per_day: float, alarms_per_day: float) -> float:
        """The level for a budget of false alarms; refused where the reference cannot resolve it.

        Parameters
        ----------
        events_per_day : float
            Rows scored a day.
        alarms_per_day : float
            False alarms that are acceptable, on average.

        Returns
        -------
        alpha : float
        """
        return self._exact_control("alpha_for").alpha_for(events_per_day, alarms_per_day)

    def false_alarms_per_day(
        self, events_per_day: int, alpha: float | None = None, *, confidence: float = 0.95
    ) -> FalseAlarmsPerDay:
        """How many false alarms a day to expect, and between which counts a day's will be.

        Parameters
        ----------
        events_per_day : int
            Rows scored a day, all nominal.
        alpha : float, optional
            By default the constructor's.
        confidence : float, default=0.95

        Returns
        -------
        FalseAlarmsPerDay
        """
        control = self._exact_control("false_alarms_per_day")
        alpha = self.alpha if alpha is None else alpha
        return control.alarms_per_day(events_per_day, alpha, confidence)

    def audit(self, X: ArrayLike, alpha: float | None = None, *, confidence: float = 0.95) -> Audit:
        """Count the false alarms among fresh nominal rows, and say what that tells of the rate.

        Its interval assumes nothing of the reference, only that the rows given are fresh, nominal,
        and drawn like those to come. Where the reference was held out, the count is also compared
        with what that allows: see `Audit.verdict`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        alpha : float, optional
            By default the constructor's.
        confidence : float, default=0.95

        Returns
        -------
        Audit
        """
        labels = self.predict(X, alpha)
        alpha = self.alpha if alpha is None else alpha
        return self._control.audit(int((labels == -1).sum()), len(labels), alpha, confidence)


def _forget_fit(detector: BaseDetector) -> None:
    """Remove what a fit has learned: by scikit-learn's custom, the attributes that end in ``_``."""
    for name in [name for name in detector.__dict__ if name.endswith("_")]:
        delattr(detector, name)
    detector.__dict__.pop("_model", None)
