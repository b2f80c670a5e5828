"""False alarms under control: what every calibrated detector can say of them and do about them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from rankad._typing import BoolArray, FloatArray, IntArray
from rankad._warnings import warn_user
from rankad.calibration.bands import false_alarm_band
from rankad.calibration.bounds import (
    Audit,
    FalseAlarmBounds,
    reference_needed,
    require_probability,
    safe_order,
)
from rankad.calibration.budgets import FalseAlarmsPerDay, level_for_budget
from rankad.calibration.discoveries import (
    benjamini_hochberg,
    estimated_share,
    reference_for_discoveries,
)
from rankad.calibration.reference import ReferenceScores
from rankad.exceptions import CalibrationWarning, UnresolvableAlphaError


class FalseAlarmControl:
    """Discoveries, bounds, budgets and audits of a detector with reference scores."""

    alpha: float
    calibration: str
    reference_: ReferenceScores

    if TYPE_CHECKING:

        def p_values(self, X: ArrayLike) -> FloatArray:
            """p-value of each row."""

        def predict(self, X: ArrayLike, alpha: float | None = None) -> IntArray:
            """Label each row."""

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
        self._require_exact("select")
        p = self.p_values(X)
        is_selected = benjamini_hochberg(p, fdr, adaptive=adaptive)
        n_lowest = int((p <= self.reference_.smallest_alpha).sum())
        if n_lowest > 0 and not is_selected.any():
            level = fdr / estimated_share(p) if adaptive else fdr
            needed = reference_for_discoveries(len(p), min(level, 0.999), n_lowest)
            warn_user(
                f"{n_lowest} of {len(p)} rows have the smallest p-value there is with "
                f"{self.reference_.size} reference points, which is too coarse to select them at "
                f"fdr={fdr}: give at least {needed} (fit on more rows, or call calibrate()).",
                CalibrationWarning,
            )
        return is_selected

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
        self._require_exact("false_alarm_bounds")
        alpha = self.alpha if alpha is None else alpha
        order = self._explicit_order(alpha)
        return FalseAlarmBounds.of_order(
            alpha,
            order,
            self.reference_.size,
            confidence,
            has_ties=self.reference_.is_tied(order),
        )

    def false_alarm_band(self, confidence: float = 0.95, method: str = "auto") -> FloatArray:
        """Upper limits of the false-alarm rates at the levels ``j / (n + 1)``, for all at once.

        See `rankad.calibration.false_alarm_band`; n is the size of the reference.
        """
        self._require_exact("false_alarm_band")
        return false_alarm_band(self.reference_.size, confidence, method)

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
        self._require_exact("alpha_for")
        alpha = level_for_budget(events_per_day=events_per_day, alarms_per_day=alarms_per_day)
        self._explicit_order(alpha)
        return alpha

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
        self._require_exact("false_alarms_per_day")
        order = self._explicit_order(self.alpha if alpha is None else alpha)
        return FalseAlarmsPerDay.of_order(
            order,
            self.reference_.size,
            events_per_day,
            confidence,
            has_ties=self.reference_.is_tied(order),
        )

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
        is_exact = self.reference_.guarantee == "exact"
        return Audit.of_counts(
            alpha,
            int((labels == -1).sum()),
            len(labels),
            confidence,
            order=self.reference_.order(alpha) if is_exact else 0,
            n_reference=self.reference_.size,
        )

    def _explicit_threshold(self, alpha: Any) -> float:
        return self.reference_.score_of_order(self._explicit_order(alpha))

    def _explicit_order(self, alpha: Any) -> int:
        """Which of the reference scores is the threshold of a level that was asked for."""
        check_is_fitted(self, "reference_")
        order = self.reference_.order(require_level(alpha))
        if order < 1:
            raise UnresolvableAlphaError(
                f"alpha={alpha} is finer than {self.reference_.size} reference points can resolve."
                f" {remedy(self.reference_, float(alpha))}"
            )
        return order

    def _confident_threshold(self, alpha: Any, confidence: float) -> float:
        self._require_exact("predict(confidence=...)")
        order = safe_order(require_level(alpha), confidence, self.reference_.size)
        if order < 1:
            needed = reference_needed(alpha, confidence)
            raise UnresolvableAlphaError(
                f"With {self.reference_.size} reference points no alarm is safe at alpha={alpha} "
                f"with confidence {confidence}: that needs at least {needed}. Fit on more rows, "
                "raise calibration_size, or call calibrate()."
            )
        return self.reference_.score_of_order(order)

    def _require_exact(self, what: str) -> None:
        """Refuse what only holds for held-out reference scores."""
        check_is_fitted(self, "reference_")
        if self.reference_.guarantee != "exact":
            raise ValueError(
                f"{what} needs held-out reference scores, and calibration={self.calibration!r} has "
                "none: fit with calibration='split', or call calibrate() with new nominal rows."
            )


def require_level(alpha: Any) -> float:
    """A level, or a clear error."""
    require_probability("alpha", alpha)
    return float(alpha)


def remedy(reference: ReferenceScores, alpha: float) -> str:
    """What to do where the reference cannot resolve a level."""
    needed = reference_needed(alpha)
    return (
        f"The smallest possible alpha is {reference.smallest_alpha:.4g}; for {alpha} give at least "
        f"{needed} reference points: fit on more rows, raise calibration_size, or call calibrate()."
    )
