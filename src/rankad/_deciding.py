"""What all detectors decide: p-values, labels, and which rows of a batch to call anomalies."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from rankad._fitting import FittingDetector
from rankad._typing import BoolArray, FloatArray, IntArray
from rankad.calibration import (
    FalseAlarmControl,
    StrataControl,
    StrataScores,
    StratumLabels,
    TrueAlarms,
)
from rankad.calibration.control import checked_alpha


class DecidingDetector(FittingDetector):
    """A detector that turns the scores of rows into p-values and decisions."""

    @property
    def offset_(self) -> float:
        """Rows that score below it are anomalies at the current ``alpha``.

        It follows ``alpha`` if that is set after ``fit``. It is minus infinity if the reference is
        too small for ``alpha``: then nothing alarms.
        """
        check_is_fitted(self, "reference_")
        return self.reference_.threshold(checked_alpha(self.alpha))

    def p_values(
        self, X: ArrayLike, *, strata: object = None, confidence: float | None = None
    ) -> FloatArray:
        """p-value of each row: small = anomalous.

        For a new nominal row ``P(p <= alpha) <= alpha``, if the reference is held out
        (``calibration="split"``) and the rows are independent draws. So if you answer every row
        with ``p <= 0.01``, on average at most 1 of 100 nominal rows gives you a false alarm.
        `calibration_record_` says what holds for rows of groups and for rows in the order of time.

        Rows that score below every reference score share the smallest p-value. Use `score_samples`
        to order such alarms.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to score.
        strata : array-like of shape (n_samples,), optional
            Stratum of each row, for example its country, machine or hour of day. Each row is
            compared with the reference rows of its own stratum, so alpha holds in every stratum.
            In a stratum without reference rows p is 1. See `StrataScores`.
        confidence : float, optional
            Return larger p-values, which hold for this one detector. With this probability over the
            draw of the reference, ``P(p <= t) <= t`` for all t at once. Given the reference, the
            p-values of different rows are independent. See `false_alarm_band`.

        Returns
        -------
        p : ndarray of shape (n_samples,)
        """
        is_exact = confidence is not None
        method = "p_values(confidence=...)" if is_exact else "p_values(strata=...)"
        if strata is not None:
            by_stratum = self._strata_control(method, strata, is_exact=is_exact)
            return by_stratum.p_values(self.score_samples(X), confidence)
        control = self._exact_control(method) if is_exact else self._control
        return control.p_values(self.score_samples(X), confidence)

    def predict(
        self,
        X: ArrayLike,
        alpha: float | None = None,
        *,
        strata: object = None,
        confidence: float | None = None,
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
        strata : array-like of shape (n_samples,), optional
            Stratum of each row. Then alpha holds in every stratum (see `p_values`).
        confidence : float, optional
            Alarm on fewer rows. With this probability over the draw of the reference, the
            false-alarm rate of this one detector is at most alpha. Without a confidence, the rate
            is at most alpha on average over such draws.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        # The threshold comes first, so that a refused alpha fails before rows are scored.
        if strata is not None:
            control, thresholds = self._stratum_thresholds(alpha, strata, confidence)
            return np.where(control.is_alarm(self.score_samples(X), thresholds), -1, 1)
        threshold = self._threshold(alpha, confidence)
        return np.where(self.score_samples(X) < threshold, -1, 1)

    def _threshold(self, alpha: float | None, confidence: float | None = None) -> float:
        """Score below which a row alarms."""
        if confidence is not None:
            control = self._exact_control("predict(confidence=...)")
            return control.threshold(self.alpha if alpha is None else alpha, confidence)
        return self.offset_ if alpha is None else self._control.threshold(alpha)

    def _stratum_thresholds(
        self, alpha: float | None, strata: object, confidence: float | None = None
    ) -> tuple[StrataControl, FloatArray]:
        """Score below which a row of each stratum alarms, and the control that compares with it."""
        is_exact = confidence is not None
        method = "predict(confidence=...)" if is_exact else "predict(strata=...)"
        control = self._strata_control(method, strata, is_exact=is_exact)
        return control, control.thresholds(alpha, self.alpha, confidence)

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

    def select(
        self,
        X: ArrayLike,
        fdr: float = 0.1,
        *,
        adaptive: bool = False,
        strata: object = None,
        confidence: float | None = None,
    ) -> BoolArray:
        """Select rows of a batch to call anomalies, with few false discoveries.

        The procedure of Benjamini and Hochberg is applied to the p-values. Each batch has a share
        of nominal rows among its selected rows, 0 if it has none. The mean share over batches and
        over detectors is at most ``fdr``. Of *all* rows selected in many batches, a larger share
        can be nominal: if anomalies are rare, most batches select little, and a few select false
        rows. `true_alarms` gives limits for one batch. If a share q of the rows that the reference
        was drawn from is bad, the mean share of clean rows is at most ``fdr / (1 - q)``. This is
        not proved for ``adaptive=True``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The whole batch. The decision about one row depends on all rows.
        fdr : float, default=0.1
            False-discovery rate.
        adaptive : bool, default=False
            Use Storey's form. It selects more rows if many rows are anomalies. Its rate is not
            proved with strata.
        strata : array-like of shape (n_samples,), optional
            Stratum of each row. The p-values are those of ``p_values(X, strata=strata)``. The rate
            holds for the whole batch, not for the selected rows of each stratum.
        confidence : float, optional
            Select fewer rows, by ``p_values(X, confidence=...)``. With this probability over the
            draw of the reference, the mean share over the batches of this one detector is at most
            fdr. Without a confidence, only the mean over such draws is.

        Returns
        -------
        is_selected : ndarray of bool, shape (n_samples,)

        Warns
        -----
        CalibrationWarning
            If no row is selected. It says why: the reference or a stratum is too small, the
            reference holds rows that score as low, the confidence is too strict, or the batch
            looks nominal. The last text is the same for each such batch, so Python shows it once.
            This line silences it:
            ``warnings.filterwarnings("ignore", "No row is selected: the batch looks nominal")``.

        Examples
        --------
        >>> from rankad.baselines import KLPE
        >>> rng = np.random.default_rng(0)
        >>> detector = KLPE(random_state=0).fit(rng.normal(size=(1000, 2)))
        >>> batch = np.concatenate([rng.normal(size=(20, 2)), [[9.0, 9.0], [-9.0, 9.0]]])
        >>> detector.select(batch, fdr=0.1).nonzero()[0]
        array([20, 21])
        """
        if strata is not None:
            by_stratum = self._strata_control("select", strata, is_exact=True)
            return by_stratum.selected(self.score_samples(X), fdr, adaptive, confidence)
        control = self._exact_control("select")
        return control.selected(self.score_samples(X), fdr, adaptive, confidence)

    def true_alarms(self, X: ArrayLike, *, confidence: float = 0.95) -> TrueAlarms:
        """Lower limits of the number of true alarms in a batch, at all alphas at once.

        "With 95% confidence, at least 12 of these 20 alarms are true." The confidence is over the
        draws of the reference and of the batch, and it holds for all alphas and all choices of rows
        together. So you may choose them after you have seen the limits. If a share q of the rows
        that the reference was drawn from is bad, the confidence is at least
        ``1 - (1 - confidence) / (1 - q)``.

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

    def _exact_control(self, method: str) -> FalseAlarmControl:
        """Control by a held-out reference. Refuse any other, in the name of the method."""
        self._control.require_exact(method)
        return self._control

    def _strata_scores(self, method: str) -> StrataScores:
        check_is_fitted(self, "reference_")
        if not hasattr(self, "strata_"):
            raise ValueError(
                f"{method} needs reference scores of each stratum. Call calibrate(X, strata=...) "
                "with new nominal rows, or fit(X, strata=...)."
            )
        return self.strata_

    def _strata_control(
        self, method: str, strata: object, *, is_exact: bool = False
    ) -> StrataControl:
        """Control by the reference of each row's stratum; an exact one, if a method needs it."""
        by_stratum = self._strata_scores(method)
        control = StrataControl(by_stratum, StratumLabels.from_values(strata))
        if is_exact:
            control.require_exact(method)
        control.warn_if_unseen()
        return control
