"""The base class of all detectors: how a fit runs, and the methods that they share."""

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
    TrueAlarms,
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
    """Check the parameters before a fit, and show its progress if ``verbose`` is set."""

    @wraps(fit)
    def fit_with_progress(self: Any, *args: Any, **kwargs: Any) -> Any:
        with progress_shown(getattr(self, "verbose", False)):
            return fit(self, *args, **kwargs)

    return cast("Fit", _fit_context(prefer_skip_nested_validation=False)(fit_with_progress))


class BaseDetector(OutlierMixin, BaseEstimator):  # type: ignore[misc]
    """Base class of all detectors: a model gives scores, a reference gives p-values.

    A detector has the parameters ``alpha``, ``calibration``, ``calibration_size`` and
    ``random_state``. Its ``fit`` learns a model from rows. This class does the calibration. The
    reference and the scores of new rows come from the same model; a subclass that overrides
    `score_samples` loses the promise.

    Attributes
    ----------
    reference_ : ReferenceScores
        Sorted scores that p-values compare with.
    calibration_indices_ : ndarray of int
        Rows of ``fit`` whose scores are its reference, ascending: the held-out rows, or all rows.
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
        """Validate, hold out, learn and calibrate. ``learn`` takes rows and a random state."""
        fitted, rows, rng, holdout = self._begin_fit(X)

        def learn_rows(rows: FloatArray, full_model: Any = None) -> Any:
            return learn(rows, rng)

        model = learn_rows(rows[holdout.training])
        reference = holdout.reference(model, learn_rows, rows)
        return self._end_fit(fitted, model, holdout, reference)

    def _begin_fit(self, X: ArrayLike) -> tuple[Self, FloatArray, np.random.RandomState, Holdout]:
        """Return a copy to fit, the checked rows, the random state, and which rows to hold out.

        This detector does not change before ``_end_fit``. So a fit that fails changes nothing.
        """
        fitted = copy(self)
        _delete_fitted_attributes(fitted)
        rows = training_rows(fitted, X)
        rng = check_random_state(self.random_state)
        return fitted, rows, rng, HOLDOUTS[self.calibration](len(rows), self.calibration_size, rng)

    def _end_fit(
        self,
        fitted: Self,
        model: Model,
        holdout: Holdout,
        reference: ReferenceScores,
        **attributes: Any,
    ) -> Self:
        """Take over the fitted attributes of the copy, and delete those of an earlier fit."""
        attributes |= {
            "_model": model,
            "reference_": reference,
            "calibration_indices_": holdout.calibration,
        }
        fitted.__dict__.update(attributes, _fitted_names=tuple(attributes))
        logger.info("calibrated on %d rows", reference.size)
        fitted._control.warn_if_too_coarse(self.alpha)
        _delete_fitted_attributes(self)
        self.__dict__.update(fitted.__dict__)
        return self

    def _scores(self, rows: FloatArray) -> FloatArray:
        """Score of each row, without checks."""
        return self._model(rows, getattr(self, "n_jobs", None))

    @property
    def _control(self) -> FalseAlarmControl:
        check_is_fitted(self, "reference_")
        return FalseAlarmControl(self.reference_)

    def _exact_control(self, method: str) -> FalseAlarmControl:
        """Control by a held-out reference. Refuse any other, in the name of the method."""
        self._control.require_exact(method)
        return self._control

    @property
    def offset_(self) -> float:
        """Rows that score below it are anomalies at the current ``alpha``.

        It follows ``alpha`` if that is set after ``fit``. It is minus infinity if the reference is
        too small for ``alpha``: then nothing alarms.
        """
        check_is_fitted(self, "reference_")
        return self.reference_.threshold(checked_alpha(self.alpha))

    def score_samples(self, X: ArrayLike) -> FloatArray:
        """Score of each row. Higher means more nominal.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
        """
        check_is_fitted(self, "reference_")
        scores = self._scores(scoring_rows(self, X))
        if np.isnan(scores).any():
            raise ValueError(
                f"The score of row {int(np.isnan(scores).argmax())} is NaN. Remove this row, or "
                f"change the detector, {self}, so that every row gets a score."
            )
        return scores

    def p_values(self, X: ArrayLike, *, confidence: float | None = None) -> FloatArray:
        """p-value of each row: small = anomalous.

        For a new nominal row ``P(p <= alpha) <= alpha``, if the reference is held out
        (``calibration="split"``). So if you answer every row with ``p <= 0.01``, on average at
        most 1 of 100 nominal rows gives you a false alarm.

        Rows that score below every reference score share the smallest p-value. Use `score_samples`
        to order such alarms.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to score.
        confidence : float, optional
            Return larger p-values, which hold for this one detector. With this probability over the
            draw of the reference, ``P(p <= t) <= t`` for all t at once. Given the reference, the
            p-values of different rows are independent. See `false_alarm_band`.

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

        If you answer every alarm, on average you check at most a share ``alpha`` of the nominal
        rows in vain. ``alpha`` can change at every call, without a new fit.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to label.
        alpha : float, optional
            False-alarm rate. The default is the constructor's alpha.
        confidence : float, optional
            Alarm on fewer rows. With this probability over the draw of the reference, the
            false-alarm rate of this one detector is at most alpha. Without a confidence, the rate
            is at most alpha on average over such draws.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        # The threshold comes first, so that a refused alpha fails before rows are scored.
        if confidence is not None:
            control = self._exact_control("predict(confidence=...)")
            threshold = control.threshold(self.alpha if alpha is None else alpha, confidence)
        else:
            threshold = self.offset_ if alpha is None else self._control.threshold(alpha)
        return np.where(self.score_samples(X) < threshold, -1, 1)

    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Score minus ``offset_``. It is negative for the rows that ``predict(X)`` labels -1.

        If the reference is too small for the constructor's alpha (`fit` warned), nothing alarms and
        every value is infinite. `score_samples` still orders the rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        decision : ndarray of shape (n_samples,)
        """
        scores = self.score_samples(X)
        return scores - self.offset_

    def calibrate(self, X: ArrayLike, *, replace: bool = False) -> Self:
        """Add nominal rows to the reference, without a new fit.

        More reference rows allow a smaller alpha. The rows must be new: ``fit`` has not seen them,
        and they have the distribution of future rows. If the reference was not held out
        (``calibration="train"`` or ``"cross"``), the new rows replace it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New nominal rows.
        replace : bool, default=False
            Use these rows as the whole reference. Set it if nominal rows have changed, because
            then the old reference rows no longer have the distribution of future rows.

        Returns
        -------
        self : object
            This detector.
        """
        scores = self.score_samples(X)
        new = HeldOutScores.from_scores(scores) if replace else self.reference_.extended(scores)
        self.reference_ = new
        self._control.warn_if_too_coarse(self.alpha)
        return self

    def select(
        self,
        X: ArrayLike,
        fdr: float = 0.1,
        *,
        adaptive: bool = False,
        confidence: float | None = None,
    ) -> BoolArray:
        """Select rows of a batch to call anomalies, with few false discoveries.

        The procedure of Benjamini and Hochberg is applied to the p-values. Each batch has a share
        of nominal rows among its selected rows, 0 if it has none. The mean share over batches and
        over detectors is at most ``fdr``. Of *all* rows selected in many batches, a larger share
        can be nominal: if anomalies are rare, most batches select little, and a few select false
        rows. `true_alarms` gives limits for one batch.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The whole batch. The decision about one row depends on all rows.
        fdr : float, default=0.1
            False-discovery rate.
        adaptive : bool, default=False
            Use Storey's form. It selects more rows if many rows are anomalies.
        confidence : float, optional
            Select fewer rows, by ``p_values(X, confidence=...)``. With this probability over the
            draw of the reference, the mean share over the batches of this one detector is at most
            fdr. Without a confidence, only the mean over such draws is.

        Returns
        -------
        is_selected : ndarray of bool, shape (n_samples,)

        Examples
        --------
        >>> from rankad.baselines import KLPE
        >>> rng = np.random.default_rng(0)
        >>> detector = KLPE(random_state=0).fit(rng.normal(size=(1000, 2)))
        >>> batch = np.concatenate([rng.normal(size=(20, 2)), [[9.0, 9.0], [-9.0, 9.0]]])
        >>> detector.select(batch, fdr=0.1).nonzero()[0]
        array([20, 21])
        """
        control = self._exact_control("select")
        return control.selected(self.score_samples(X), fdr, adaptive, confidence)

    def true_alarms(self, X: ArrayLike, *, confidence: float = 0.95) -> TrueAlarms:
        """Lower limits of the number of true alarms in a batch, at all alphas at once.

        "With 95% confidence, at least 12 of these 20 alarms are true." The confidence is over the
        draws of the reference and of the batch, and it holds for all alphas and all choices of rows
        together. So you may choose them after you have seen the limits.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The whole batch.
        confidence : float, default=0.95
            Probability that no limit is too large.

        Returns
        -------
        alarms : TrueAlarms

        Examples
        --------
        >>> from rankad.baselines import KLPE
        >>> rng = np.random.default_rng(0)
        >>> detector = KLPE(random_state=0).fit(rng.normal(size=(4000, 2)))
        >>> batch = np.concatenate([rng.normal(size=(180, 2)), rng.normal(9.0, size=(20, 2))])
        >>> alarms = detector.true_alarms(batch)
        >>> int((detector.p_values(batch) <= 0.01).sum()), alarms.at(alpha=0.01)
        (23, 18)
        """
        control = self._exact_control("true_alarms")
        return control.true_alarms(self.score_samples(X), confidence)

    def false_alarm_bounds(
        self, alpha: float | None = None, *, confidence: float = 0.95
    ) -> FalseAlarmBounds:
        """What the false-alarm rate of this one detector can be, for an alpha.

        The rate is random, because the reference is drawn at random, and its law is exact. With the
        confidence, you answer in the long run false alarms on at most a share ``limit`` of the
        nominal rows. The rate is lower if reference scores tie at the threshold.

        Parameters
        ----------
        alpha : float, optional
            False-alarm rate asked for. The default is the constructor's alpha.
        confidence : float, default=0.95
            Probability of the interval, and of the limit.

        Returns
        -------
        bounds : FalseAlarmBounds

        Examples
        --------
        >>> from rankad.baselines import KLPE
        >>> nominal = np.random.default_rng(0).normal(size=(4000, 2))
        >>> bounds = KLPE(random_state=0).fit(nominal).false_alarm_bounds(alpha=0.05)
        >>> round(bounds.low, 3), round(bounds.high, 3), round(bounds.limit, 3)
        (0.037, 0.064, 0.062)
        """
        control = self._exact_control("false_alarm_bounds")
        return control.bounds(self.alpha if alpha is None else alpha, confidence)

    def false_alarm_band(self, confidence: float = 0.95, method: str = "auto") -> FloatArray:
        """Upper limits of the false-alarm rate at the alphas ``j / (n + 1)``, for all j at once.

        n is the size of the reference. If you answer all alarms with ``p <= j / (n + 1)``, then,
        with the confidence, in the long run at most a share ``limits[j - 1]`` of the nominal rows
        raises a false alarm. This also holds if you choose j after you have seen the alarms.

        Parameters
        ----------
        confidence : float, default=0.95
            Probability, over the draw of the reference, that no rate exceeds its limit.
        method : {"auto", "monte_carlo", "combined", "simes", "grid", "dkw"}, default="auto"
            How the limits are computed. "auto" is close to the rates at every alpha:
            "monte_carlo" for up to 2,000 reference scores, "combined" for more.

        Returns
        -------
        limits : ndarray of shape (n_reference,)
        """
        return self._exact_control("false_alarm_band").band(confidence, method)

    def alpha_for(self, *, events_per_day: float, alarms_per_day: float) -> float:
        """Alpha for a budget of false alarms a day.

        If all rows are nominal, this alpha gives on average at most ``alarms_per_day`` false alarms
        to answer in a day. It is refused if the reference is too small for it.

        Parameters
        ----------
        events_per_day : float
            Rows scored a day.
        alarms_per_day : float
            False alarms that are acceptable in a day, on average.

        Returns
        -------
        alpha : float

        Examples
        --------
        >>> from rankad.baselines import KLPE
        >>> nominal = np.random.default_rng(0).normal(size=(4000, 2))
        >>> KLPE(random_state=0).fit(nominal).alpha_for(events_per_day=2000, alarms_per_day=10)
        0.005
        """
        return self._exact_control("alpha_for").alpha_for(events_per_day, alarms_per_day)

    def false_alarms_per_day(
        self, events_per_day: int, alpha: float | None = None, *, confidence: float = 0.95
    ) -> FalseAlarmsPerDay:
        """How many false alarms to expect in one day.

        If all rows of a day are nominal, somebody has to answer between ``low`` and ``high`` false
        alarms on that day, with the confidence, and at most ``mean`` on average.

        Parameters
        ----------
        events_per_day : int
            Rows scored a day, all nominal.
        alpha : float, optional
            False-alarm rate asked for. The default is the constructor's alpha.
        confidence : float, default=0.95
            Probability that the count of one day lies between ``low`` and ``high``.

        Returns
        -------
        alarms : FalseAlarmsPerDay

        Examples
        --------
        >>> from rankad.baselines import KLPE
        >>> nominal = np.random.default_rng(0).normal(size=(4000, 2))
        >>> alarms = KLPE(random_state=0).fit(nominal).false_alarms_per_day(1000, alpha=0.05)
        >>> alarms.low, alarms.high
        (32, 70)
        """
        control = self._exact_control("false_alarms_per_day")
        alpha = self.alpha if alpha is None else alpha
        return control.alarms_per_day(events_per_day, alpha, confidence)

    def audit(
        self,
        X: ArrayLike,
        alpha: float | None = None,
        *,
        confidence: float = 0.95,
        rule_confidence: float | None = None,
    ) -> Audit:
        """Count the false alarms on fresh nominal rows, and compare the count with alpha.

        Each row is nominal, so each alarm on it would be answered in vain. The interval of the rate
        holds for any reference, if the rows are fresh, nominal, and have the distribution of future
        rows. If the reference was held out, the count is also compared with the smallest and the
        largest count that this reference allows: see `Audit.verdict`. `Audit.detectable_rate` says
        how large a rate this audit can notice.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Fresh nominal rows.
        alpha : float, optional
            False-alarm rate asked for. The default is the constructor's alpha.
        confidence : float, default=0.95
            Probability of the interval, and of the range of counts.
        rule_confidence : float, optional
            Audit ``predict(X, alpha, confidence=rule_confidence)``.

        Returns
        -------
        audit : Audit

        Examples
        --------
        >>> from rankad.baselines import KLPE
        >>> rng = np.random.default_rng(0)
        >>> detector = KLPE(random_state=0).fit(rng.normal(size=(1000, 2)))
        >>> audit = detector.audit(rng.normal(size=(500, 2)), alpha=0.05)
        >>> audit.verdict, round(audit.detectable_rate, 2)
        ('consistent with what was asked for', 0.1)
        """
        labels = self.predict(X, alpha, confidence=rule_confidence)
        alpha = self.alpha if alpha is None else alpha
        n_alarms = int((labels == -1).sum())
        return self._control.audit(n_alarms, len(labels), alpha, confidence, rule_confidence)

    def audit_selection(
        self,
        X: ArrayLike,
        batch_size: int,
        fdr: float = 0.1,
        *,
        adaptive: bool = False,
        confidence: float = 0.95,
        rule_confidence: float | None = None,
    ) -> Audit:
        """Count the batches of fresh nominal rows in which `select` selects any row.

        In a nominal batch every selected row is false. So the share of nominal batches with a
        selected row must be at most ``fdr`` on average. What is false among the selected rows of a
        batch *with* anomalies cannot be counted on nominal rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Fresh nominal rows. They are cut into batches, in their order; the last rows, if they
            fill no batch, are not used.
        batch_size : int
            Number of rows in a batch.
        fdr : float, default=0.1
            False-discovery rate asked for.
        adaptive : bool, default=False
            Audit Storey's form.
        confidence : float, default=0.95
            Probability of the interval, and of the range of counts.
        rule_confidence : float, optional
            Audit ``select(batch, fdr, confidence=rule_confidence)``.

        Returns
        -------
        audit : Audit
            Its ``n_rows`` is the number of batches, and its ``n_alarms`` the number of batches with
            a selected row.

        Examples
        --------
        >>> from rankad.baselines import KLPE
        >>> rng = np.random.default_rng(0)
        >>> detector = KLPE(random_state=0).fit(rng.normal(size=(1000, 2)))
        >>> audit = detector.audit_selection(rng.normal(size=(1000, 2)), batch_size=20)
        >>> audit.n_rows, audit.max_alarms, audit.verdict
        (50, 14, 'consistent with what was asked for')
        """
        return self._exact_control("audit_selection").audit_selection(
            *(self.score_samples(X), batch_size, fdr, confidence),
            adaptive=adaptive,
            rule_confidence=rule_confidence,
        )


def _delete_fitted_attributes(detector: BaseDetector) -> None:
    """Delete what an earlier fit has stored, and nothing that a subclass has."""
    names = detector.__dict__.pop("_fitted_names", ())
    for name in (*names, "n_features_in_", "feature_names_in_"):
        detector.__dict__.pop(name, None)
