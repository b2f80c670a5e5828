"""False alarms under control: decisions on scores, and what can be said of the false ones."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Any

from rankad._typing import BoolArray, FloatArray
from rankad._warnings import warn_user
from rankad.calibration.bands import conditional_p_values, false_alarm_band
from rankad.calibration.bounds import (
    Audit,
    FalseAlarmBounds,
    reference_needed,
    require_probability,
    safe_order,
)
from rankad.calibration.budgets import FalseAlarmsPerDay
from rankad.calibration.discoveries import (
    benjamini_hochberg,
    estimated_share,
    reference_for_discoveries,
)
from rankad.calibration.reference import ReferenceScores
from rankad.exceptions import CalibrationWarning, UnresolvableAlphaError


@dataclass(frozen=True)
class FalseAlarmControl:
    """p-values, thresholds and discoveries for scores, and bounds, budgets and audits of alarms.

    Knows reference scores and scores alone, not the detector that gave them.

    >>> import numpy as np
    >>> from rankad.calibration import HeldOutScores
    >>> control = FalseAlarmControl(HeldOutScores.from_scores(np.arange(99.0)))
    >>> control.p_values(np.array([-1.0, 49.0]))
    array([0.01, 0.51])
    >>> control.threshold(0.05)
    4.0
    """

    reference: ReferenceScores

    def p_values(self, scores: FloatArray, confidence: float | None = None) -> FloatArray:
        """p-value of each score; with a confidence, those that hold for this very reference."""
        p = self.reference.p_values(scores)
        if confidence is None:
            return p
        return conditional_p_values(p, self.reference.size, confidence)

    def threshold(self, alpha: Any, confidence: float | None = None) -> float:
        """Score below which a row alarms at a level; refused where none can."""
        order = self.order(alpha) if confidence is None else self._safe_order(alpha, confidence)
        return self.reference.score_of_order(order)

    def selected(self, scores: FloatArray, fdr: float, adaptive: bool) -> BoolArray:
        """Which of a batch of scores to call anomalies: see `RankAD.select`."""
        p = self.reference.p_values(scores)
        is_selected = benjamini_hochberg(p, fdr, adaptive=adaptive)
        n_lowest = int((p <= self.reference.smallest_alpha).sum())
        if n_lowest > 0 and not is_selected.any():
            threshold = fdr / estimated_share(p) if adaptive else fdr
            needed = reference_for_discoveries(len(p), min(threshold, 0.999), n_lowest)
            warn_user(
                f"{n_lowest} of {len(p)} rows have the smallest p-value there is with "
                f"{self.reference.size} reference points, which is too coarse to select them at "
                f"fdr={fdr}: give at least {needed} (fit on more rows, or call calibrate()).",
                CalibrationWarning,
            )
        return is_selected

    def bounds(self, alpha: float, confidence: float) -> FalseAlarmBounds:
        """What the false-alarm rate can be at a level, given the size of the reference."""
        order = self.order(alpha)
        return FalseAlarmBounds.from_order(
            alpha,
            order,
            self.reference.size,
            confidence,
            has_ties=self.reference.is_tied(order),
        )

    def band(self, confidence: float, method: str) -> FloatArray:
        """Upper limits of the rates at the levels ``j / (n + 1)``, for all at once."""
        return false_alarm_band(self.reference.size, confidence, method)

    def alpha_for(self, events_per_day: float, alarms_per_day: float) -> float:
        """The level for a budget of false alarms; refused where the reference cannot resolve it."""
        if not 0.0 < events_per_day < inf:
            raise ValueError(f"events_per_day must be positive and finite; got {events_per_day!r}.")
        if not 0.0 < alarms_per_day < events_per_day:
            raise ValueError(
                f"alarms_per_day must lie between 0 and events_per_day={events_per_day}, "
                f"exclusive; got {alarms_per_day!r}."
            )
        alpha = alarms_per_day / events_per_day
        self.order(alpha)
        return alpha

    def alarms_per_day(
        self, events_per_day: int, alpha: float, confidence: float
    ) -> FalseAlarmsPerDay:
        """How many false alarms a day to expect, and between which counts a day's will be."""
        order = self.order(alpha)
        return FalseAlarmsPerDay.from_order(
            order,
            self.reference.size,
            events_per_day,
            confidence,
            has_ties=self.reference.is_tied(order),
        )

    def audit(self, n_alarms: int, n_rows: int, alpha: float, confidence: float) -> Audit:
        """What a count of alarms among fresh nominal rows tells of the rate."""
        is_exact = self.reference.guarantee == "exact"
        return Audit.from_counts(
            alpha,
            n_alarms,
            n_rows,
            confidence,
            order=self.reference.order(alpha) if is_exact else 0,
            n_reference=self.reference.size,
        )

    def order(self, alpha: Any) -> int:
        """Which of the reference scores is the threshold of a level; refused where none is."""
        order = self.reference.order(checked_alpha(alpha))
        if order < 1:
            raise UnresolvableAlphaError(
                f"alpha={alpha} is finer than {self.reference.size} reference points can resolve."
                f" {remedy(self.reference, float(alpha))}"
            )
        return order

    def _safe_order(self, alpha: Any, confidence: float) -> int:
        order = safe_order(checked_alpha(alpha), confidence, self.reference.size)
        if order < 1:
            needed = reference_needed(alpha, confidence)
            raise UnresolvableAlphaError(
                f"With {self.reference.size} reference points no alarm is safe at alpha={alpha} "
                f"with confidence {confidence}: that needs at least {needed}. Fit on more rows, "
                "raise calibration_size, or call calibrate()."
            )
        return order

    def require_exact(self, what: str) -> None:
        """Refuse what only holds for held-out reference scores."""
        if self.reference.guarantee != "exact":
            raise ValueError(
                f"{what} needs held-out reference scores, and these are {self.reference}: fit with "
                "calibration='split', or call calibrate() with new nominal rows."
            )

    def warn_if_too_coarse(self, alpha: float) -> None:
        """Warn where nothing can alarm at a level."""
        if self.reference.order(checked_alpha(alpha)) < 1:
            warn_user(
                f"alpha={alpha} is finer than {self.reference.size} reference points can resolve: "
                f"nothing can alarm. {remedy(self.reference, alpha)}",
                CalibrationWarning,
            )


def checked_alpha(alpha: Any) -> float:
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
