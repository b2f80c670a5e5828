"""The base class of all detectors: the methods that they share."""

from __future__ import annotations

from collections.abc import Hashable
from functools import partial
from typing import ClassVar, overload

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from rankad._deciding import DecidingDetector
from rankad._out_of_fold import judge_of, out_of_fold_scores, units_of_rows
from rankad._progress import progress_shown
from rankad._typing import FloatArray
from rankad._validation import feature_names, row_labels, scoring_rows, training_rows
from rankad.calibration import (
    Audit,
    FalseAlarmBounds,
    FalseAlarmsPerDay,
    Sample,
    SuspiciousRows,
)
from rankad.calibration.control import checked_alpha
from rankad.calibration.strata import labels_of_rows
from rankad.calibration.strata_control import control_of_stratum
from rankad.explanations import Explanation
from rankad.explanations.explaining import Judge, explained, require_max_features
from rankad.explanations.nominal_rows import NominalRows


class BaseDetector(DecidingDetector):
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
    calibration_record_ : CalibrationRecord
        What is promised, on which rows, and what was tested.
    strata_ : StrataScores
        Reference scores of each stratum. It exists after a fit or a calibration with strata.
    offset_ : float
        Rows that score below it are anomalies at the false-alarm rate ``alpha``.
    """

    #: Share of the rows, the farthest ones, that do not train the judges of `suspicious_rows`.
    _left_out_as_far: ClassVar[float] = 0.0

    def suspicious_rows(
        self, X: ArrayLike, *, groups: ArrayLike | None = None, strata: object = None
    ) -> SuspiciousRows:
        """Rows of a file that a person should look at first: the rows of ``fit``, before a fit.

        Each row is scored by a copy of this detector that has not learned from it: the copies
        learn from four of five folds. This detector does not change, and needs no fit. If
        ``calibration_split`` is not "random", a fold has whole runs of consecutive rows.

        Bad rows that are like each other would vouch for one another. So copies of `RankAD` and of
        neighbor detectors do not learn from the tenth of the rows that lies farthest from random
        rows. On ten real sets with 5% of bad rows this finds more of them, where ``robust=True``
        finds no more. So ``robust`` stays as it is set. With 1% of bad rows the very first rows are
        bad a little less often. Other detectors learn from all other rows: a forest finds fewer bad
        rows without the tenth. The tenth was chosen on five of the sets and looked at once on the
        others: see ``docs/dirty_rows.md``. All this takes as long as about five fits of `RankAD`.

        Look at the first rows, drop those that are bad, and fit on the others. Do not drop rows
        without looking: each nominal row that is missing in the reference makes the p-values of
        nominal rows smaller.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows that are mostly nominal: an array, or a frame of pandas, polars or Arrow.
        groups : array-like of shape (n_samples,), optional
            Group of each row. No row is scored by a model that has learned from its group. Without
            groups, this holds for the copies of a row, if they are at most 1% of the rows.
        strata : array-like of shape (n_samples,), optional
            Stratum of each row. A row is then compared with the rows of its own stratum.

        Returns
        -------
        rows : SuspiciousRows
            All rows, the most suspicious first, with their p-values and scores.

        Examples
        --------
        >>> from rankad.baselines import KLPE
        >>> rows = np.random.default_rng(0).normal(size=(500, 2))
        >>> rows[[7, 70, 300]] = [[9.0, 9.0], [9.0, 9.1], [-8.0, 5.0]]
        >>> suspicious = KLPE(random_state=0).suspicious_rows(rows)
        >>> suspicious.first(3)
        SuspiciousRows(3 rows, the most suspicious first)
        row 70: p = 0.002, score -13.45
        row 7: p = 0.004, score -13.37
        row 300: p = 0.006, score -9.255
        """
        self._validate_params()
        judge = judge_of(self)
        rows = training_rows(judge, X)
        labels = labels_of_rows(strata, len(rows), np.arange(len(rows)))
        are_in_time = self.calibration_split != "random"
        units = units_of_rows(rows, groups, are_in_time=are_in_time)
        with progress_shown(getattr(self, "verbose", False)):
            scores = out_of_fold_scores(judge, rows, units, self._left_out_as_far)
        return SuspiciousRows.from_scores(scores, labels, row_labels(X, len(rows)))

    def explain(
        self,
        X: ArrayLike,
        alpha: float | None = None,
        *,
        max_features: int = 3,
        rows: ArrayLike | None = None,
        strata: object = None,
    ) -> Explanation:
        """Explain each alarm by the fewest features whose change makes the row nominal.

        Nominal means that the p-value is above alpha. The changed features take the values that
        they have in one nominal row. So every proposed value occurs, flags and codes stay flags and
        codes, and correlated features fit together.

        If no change of ``max_features`` features suffices, strongly correlated features (every two
        with a correlation of at least .8, up to sign) change as groups, at most ``max_features``
        groups. If that does not suffice either, the row is not explained, and the explanation shows
        its nearest nominal row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows. Those that alarm are explained.
        alpha : float, optional
            Rows with a p-value of at most alpha alarm. The default is the constructor's alpha.
        max_features : int, default=3
            Largest number of features, or of groups of features, to change.
        rows : array-like of shape (n_rows, n_features), optional
            Nominal rows whose values may be proposed. The default is the rows that ``fit`` has
            kept, at most 2,000 of those that train. Rows that alarm themselves are not used.
        strata : array-like of shape (n_samples,), optional
            Stratum of each row. Then p-values are those of ``p_values(X, strata=strata)``.

        Returns
        -------
        explanation : Explanation
            One `rankad.explanations.Reason` for each row. It converts to a pandas frame, and it
            counts the reasons that many alarms share.

        Notes
        -----
        A reason says what the detector would have to see to be silent. It does not say what caused
        the anomaly. The search tries the changes that bring the row nearest to a nominal row, a few
        hundred for each number of features, and takes the one with the highest score. It leaves out
        every feature that this change does not need. It is no exhaustive search: a smaller set can
        exist.

        Examples
        --------
        >>> from rankad import RankAD
        >>> nominal = np.random.default_rng(0).normal(size=(500, 3))
        >>> detector = RankAD(random_state=0).fit(nominal)
        >>> explanation = detector.explain([[0.0, 9.0, 0.0], [0.1, 0.2, 0.0]])
        >>> explanation
        1 of 2 rows alarm at alpha=0.05. 1 is nominal if at most 3 features change.
          row 0: p = 0.00794, nominal (p = 0.96) if x1 9 -> 0.2614
          row 1: p = 0.921, no alarm
        >>> explanation[0].features
        ('x1',)
        """
        check_is_fitted(self, "reference_")
        n_features = require_max_features(max_features)
        checked = scoring_rows(self, X)
        with progress_shown(getattr(self, "verbose", False)):
            return explained(
                checked,
                partial(self._model, n_jobs=getattr(self, "n_jobs", None)),
                self._judge(len(checked), alpha, strata),
                self._pool(rows),
                max_features=n_features,
                feature_names=feature_names(self),
                index=row_labels(X, len(checked)),
            )

    def _judge(self, n_rows: int, alpha: float | None, strata: object) -> Judge:
        """What decides which of the rows to explain alarm."""
        asked = checked_alpha(self.alpha if alpha is None else alpha)
        if strata is not None:
            by_stratum = self._strata_control("explain(strata=...)", strata)
            by_stratum.labels.require_rows(n_rows)
            thresholds = by_stratum.thresholds(alpha, self.alpha)[by_stratum.labels.codes]
            return Judge(asked, thresholds, by_stratum.p_values)
        if alpha is None:
            self._warn_if_too_coarse()
        threshold = self._threshold(alpha)
        return Judge(asked, np.full(n_rows, threshold), self._control.p_values)

    def _pool(self, rows: ArrayLike | None) -> NominalRows:
        """Nominal rows whose values an explanation may propose."""
        if rows is not None:
            try:
                return NominalRows.from_rows(scoring_rows(self, rows))
            except ValueError as error:
                raise ValueError(f"rows, the nominal rows, cannot be used. {error}") from error
        if self._kept_rows is None:
            raise ValueError(
                "explain needs nominal rows, because it proposes their values, and "
                "fit(..., keep_rows=False) has kept none. Give some: explain(X, rows=X_nominal)."
            )
        return self._kept_rows

    def false_alarm_bounds(
        self,
        alpha: float | None = None,
        *,
        stratum: Hashable | None = None,
        confidence: float = 0.95,
        dirty_share: float = 0.0,
    ) -> FalseAlarmBounds:
        """What the false-alarm rate of this one detector can be, for an alpha.

        The rate is random, because the reference is drawn at random, and its law is exact. With the
        confidence, you answer in the long run false alarms on at most a share ``limit`` of the
        nominal rows. The rate is lower if reference scores tie at the threshold.

        Parameters
        ----------
        alpha : float, optional
            False-alarm rate asked for. The default is the constructor's alpha.
        stratum : hashable, optional
            Bounds of the rate in this stratum, of ``predict(X, alpha, strata=...)``.
        confidence : float, default=0.95
            Probability of the interval, and of the limit.
        dirty_share : float, default=0.0
            Largest share of bad rows among the rows that the reference was drawn from, such as the
            rows of ``fit``. With a stratum, it is the share in that stratum, which can be far
            larger than in the file. The bounds are then those of the rate on *clean* rows. They
            hold wherever the bad rows score: the mean is at most ``alpha / (1 - dirty_share)``. The
            rate can be far lower, down to 0, because bad rows take the lowest places of the
            reference.

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
        >>> dirty = KLPE(random_state=0).fit(nominal).false_alarm_bounds(0.05, dirty_share=0.02)
        >>> round(dirty.low, 3), round(dirty.high, 3), round(dirty.limit, 3)
        (0.01, 0.068, 0.066)
        """
        if stratum is None:
            control = self._exact_control("false_alarm_bounds")
        else:
            strata = self._strata_scores("false_alarm_bounds(stratum=...)")
            control = control_of_stratum(strata, stratum, "false_alarm_bounds")
        asked = self.alpha if alpha is None else alpha
        return control.bounds(asked, confidence, dirty_share)

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
        to answer in a day. It is refused if the reference is too small for it. The number is as
        good as the promise of the reference: with ``groups`` it is for rows of new groups, and with
        ``calibration_split="time"`` it is near, not proved.

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
        self._control.require_mean_rate("alpha_for")
        return self._control.alpha_for(events_per_day, alarms_per_day)

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

    @overload
    def audit(
        self,
        X: ArrayLike,
        alpha: float | None = None,
        *,
        confidence: float = 0.95,
        rule_confidence: float | None = None,
        dirty_share: float = 0.0,
    ) -> Audit: ...

    @overload
    def audit(
        self,
        X: ArrayLike,
        alpha: float | None = None,
        *,
        strata: object,
        confidence: float = 0.95,
        rule_confidence: float | None = None,
        dirty_share: float = 0.0,
    ) -> dict[Hashable, Audit]: ...

    def audit(
        self,
        X: ArrayLike,
        alpha: float | None = None,
        *,
        strata: object = None,
        confidence: float = 0.95,
        rule_confidence: float | None = None,
        dirty_share: float = 0.0,
    ) -> Audit | dict[Hashable, Audit]:
        """Count the false alarms on fresh nominal rows, and compare the count with alpha.

        Each row is nominal, so each alarm on it would be answered in vain. The interval of the rate
        holds for any reference, if the rows are fresh, nominal, drawn independently, and have the
        distribution of future rows. For rows of groups or in the order of time it is too narrow: a
        warning says so, if near rows of X are alike. Then give one row of each group, or rows that
        are far apart in time. Rows that the detector knows are refused. If the reference was
        held out, the count is also compared with the smallest and the largest count that this
        reference allows: see `Audit.verdict`. `Audit.detectable_rate` says how large a rate this
        audit can notice.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Fresh nominal rows.
        alpha : float, optional
            False-alarm rate asked for. The default is the constructor's alpha.
        strata : array-like of shape (n_samples,), optional
            Stratum of each row. Each stratum gets its own audit, of ``predict(X, alpha,
            strata=strata)``.
        confidence : float, default=0.95
            Probability of the interval, and of the range of counts; with strata, that those of all
            strata hold at once (Bonferroni).
        rule_confidence : float, optional
            Audit ``predict(X, alpha, confidence=rule_confidence)``.
        dirty_share : float, default=0.0
            Largest share of bad rows, both in X and among the rows that the reference was drawn
            from. With strata, it is the largest share in any stratum. Alarms on so many rows may be
            true. The interval is then one of the rate on clean rows, and the range of counts is
            wider: see `Audit.n_bad`.

        Returns
        -------
        audit : Audit or dict of Audit
            With strata, the audit of each stratum, by its key.

        Examples
        --------
        >>> from rankad.baselines import KLPE
        >>> rng = np.random.default_rng(0)
        >>> detector = KLPE(random_state=0).fit(rng.normal(size=(1000, 2)))
        >>> audit = detector.audit(rng.normal(size=(500, 2)), alpha=0.05)
        >>> audit.verdict, round(audit.detectable_rate, 2)
        ('consistent with what was asked for', 0.1)
        """
        rows = self._rows_to_audit(X, "audit", strata)
        levels = self.alpha if alpha is None else alpha, confidence, rule_confidence
        if strata is not None:
            control, thresholds = self._stratum_thresholds(alpha, strata, rule_confidence)
            is_alarm = control.is_alarm(self._checked_scores(rows), thresholds)
            return control.audits(is_alarm, *levels, dirty_share)
        threshold = self._threshold(alpha, rule_confidence)
        n_alarms = int((self._checked_scores(rows) < threshold).sum())
        return self._control.audit(n_alarms, len(rows), *levels, dirty_share)

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
        batch *with* anomalies cannot be counted on nominal rows. A bad row among the fresh ones may
        be selected with good reason, and counts as a fault here, so give clean rows.

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
        control = self._exact_control("audit_selection")
        rows = self._rows_to_audit(X, "audit_selection")
        return control.audit_selection(
            *(self._checked_scores(rows), batch_size, fdr, confidence),
            adaptive=adaptive,
            rule_confidence=rule_confidence,
        )

    def _rows_to_audit(self, X: ArrayLike, method: str, strata: object = None) -> FloatArray:
        """Rows that are new to the detector. Warn if they are no independent draws."""
        check_is_fitted(self, "reference_")
        rows = scoring_rows(self, X)
        labels = labels_of_rows(strata, len(rows), np.arange(len(rows)))
        sample = Sample.tested(rows, strata=labels)
        self._require_new(sample.hashes, method, also_reference=True)
        sample.warn_of_counts()
        return rows
