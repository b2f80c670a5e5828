"""Control of false alarms: decisions on scores, and bounds on the number of false alarms."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor, inf, log10
from numbers import Integral
from typing import Any, Final

from rankad._typing import BoolArray, FloatArray
from rankad._warnings import warn_user, warn_user_once
from rankad.calibration.audits import Audit, max_selections
from rankad.calibration.bands import conditional_p_values, false_alarm_band
from rankad.calibration.bounds import (
    FalseAlarmBounds,
    reference_needed,
    require_probability,
    safe_order,
)
from rankad.calibration.budgets import FalseAlarmsPerDay
from rankad.calibration.discoveries import benjamini_hochberg, has_discovery
from rankad.calibration.nothing_selected import ComparedRows, NothingSelected, Words
from rankad.calibration.reference import ReferenceScores
from rankad.calibration.remedies import FitSize, ways_to_more
from rankad.calibration.true_alarms import TrueAlarms
from rankad.exceptions import CalibrationWarning, UnresolvableAlphaError


@dataclass(frozen=True)
class FalseAlarmControl:
    """p-values, thresholds and selections for scores, and bounds, budgets and audits of alarms.

    It knows scores and reference scores only, not the detector. ``fit``, if it is given, makes the
    advice of errors possible for the rows at hand.

    >>> import numpy as np
    >>> from rankad.calibration import HeldOutScores
    >>> control = FalseAlarmControl(HeldOutScores.from_scores(np.arange(99.0)))
    >>> control.p_values(np.array([-1.0, 49.0]))
    array([0.01, 0.51])
    >>> control.threshold(0.05)
    4.0
    """

    reference: ReferenceScores
    fit: FitSize | None = None

    def p_values(self, scores: FloatArray, confidence: float | None = None) -> FloatArray:
        """p-value of each score; with a confidence, p-values that hold for this one reference."""
        p = self.reference.p_values(scores)
        if confidence is None:
            return p
        return conditional_p_values(p, self.reference.size, confidence)

    def threshold(self, alpha: Any, confidence: float | None = None) -> float:
        """Score below which a row alarms at an alpha. Refuse an alpha that is too small."""
        if confidence is None:
            self.order(alpha, offers_cross=True)
            return self.reference.threshold(float(alpha))
        return self.reference.score_of_order(self._safe_order(alpha, confidence))

    def selected(
        self, scores: FloatArray, fdr: float, adaptive: bool, confidence: float | None = None
    ) -> BoolArray:
        """Which scores of a batch to call anomalies (see `RankAD.select`)."""
        p = self.p_values(scores, confidence)
        is_selected = benjamini_hochberg(p, fdr, adaptive=adaptive)
        if len(p) > 0 and not is_selected.any():
            rows = ComparedRows(self.reference.p_values(scores), p, self.reference.size)
            words = Words(
                f"{self.reference.size} reference scores",
                "reference scores",
                within="",
                whom="",
                remedy="fit on more rows, or call calibrate().",
            )
            nothing = NothingSelected([rows], fdr, adaptive, confidence, words)
            warn_user_once(nothing.reason, CalibrationWarning)
        return is_selected

    def true_alarms(self, scores: FloatArray, confidence: float) -> TrueAlarms:
        """Lower limits of the number of true alarms in a batch, for all choices at once."""
        return TrueAlarms.from_p_values(self.reference.p_values(scores), confidence)

    def bounds(self, alpha: float, confidence: float, dirty_share: float = 0.0) -> FalseAlarmBounds:
        """What the false-alarm rate can be at an alpha, given the size of the reference."""
        order = self.order(alpha)
        return FalseAlarmBounds.from_order(
            alpha,
            order,
            self.reference.size,
            confidence,
            has_ties=self.reference.is_tied(order),
            dirty_share=dirty_share,
        )

    def band(self, confidence: float, method: str) -> FloatArray:
        """Upper limits of the rate at the alphas ``j / (n + 1)``, for all j at once."""
        return false_alarm_band(self.reference.size, confidence, method)

    def alpha_for(self, events_per_day: float, alarms_per_day: float) -> float:
        """Alpha for a budget of false alarms. Refuse it if the reference is too small."""
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
        """How many false alarms to expect in one day."""
        order = self.order(alpha)
        return FalseAlarmsPerDay.from_order(
            order,
            self.reference.size,
            events_per_day,
            confidence,
            has_ties=self.reference.is_tied(order),
        )

    def audit(
        self,
        n_alarms: int,
        n_rows: int,
        alpha: float,
        confidence: float,
        rule_confidence: float | None = None,
        dirty_share: float = 0.0,
    ) -> Audit:
        """What a count of alarms on fresh nominal rows says about the rate."""
        order, size = 0, self.reference.size
        if self.reference.guarantee == "exact":
            order = (
                self.reference.order(alpha)
                if rule_confidence is None
                else safe_order(alpha, rule_confidence, size)
            )
        return Audit.from_counts(
            *(alpha, n_alarms, n_rows, confidence),
            order=order,
            n_reference=size,
            has_ties=self.reference.is_tied(order),
            rule_confidence=rule_confidence,
            dirty_share=dirty_share,
        )

    def audit_selection(
        self,
        scores: FloatArray,
        batch_size: int,
        fdr: float,
        confidence: float,
        *,
        adaptive: bool = False,
        rule_confidence: float | None = None,
    ) -> Audit:
        """What the number of nominal batches with a selected row says about the selection."""
        if not isinstance(batch_size, Integral) or not 1 <= batch_size <= len(scores):
            raise ValueError(
                f"batch_size must be a whole number from 1 to the number of rows, {len(scores)}; "
                f"got {batch_size!r}."
            )
        require_probability("fdr", fdr)
        require_probability("confidence", confidence)
        n, n_batches = self.reference.size, len(scores) // int(batch_size)

        def has_selection(p: FloatArray) -> BoolArray:
            if rule_confidence is not None:
                p = conditional_p_values(p.ravel(), n, rule_confidence).reshape(p.shape)
            return has_discovery(p, fdr, adaptive=adaptive)

        batches = scores[: n_batches * batch_size].reshape(n_batches, batch_size)
        return Audit.from_selections(
            *(fdr, int(has_selection(self.reference.p_values(batches)).sum())),
            *(n_batches, confidence),
            max_alarms=max_selections(has_selection, n_batches, int(batch_size), n, confidence),
            rule_confidence=rule_confidence,
        )

    def order(self, alpha: Any, *, offers_cross: bool = False) -> int:
        """Order j of the score that is the threshold of an alpha. Refuse an alpha without one."""
        order = self.reference.order(checked_alpha(alpha))
        if order < 1:
            raise UnresolvableAlphaError(
                f"alpha={alpha} is too small for {_size(self.reference)}. "
                f"{advice_for_alpha(self.reference, float(alpha), self.fit, offers_cross)}"
            )
        return order

    def _safe_order(self, alpha: Any, confidence: float) -> int:
        order = safe_order(checked_alpha(alpha), confidence, self.reference.size)
        if order < 1:
            needed = reference_needed(alpha, confidence)
            raise UnresolvableAlphaError(
                f"alpha={alpha} with confidence={confidence} is too strict for "
                f"{_size(self.reference)}. Give at least {needed} reference scores: "
                f"{ways_to_more(self.reference, needed, self.fit)}."
            )
        return order

    def require_exact(self, method: str) -> None:
        """Refuse a reference that was not held out, in the name of the method that needs one."""
        if self.reference.guarantee != "exact":
            raise ValueError(
                f"{method} needs independent held-out rows; got {self.reference}. "
                f"{_REMEDIES[self.reference.guarantee]}"
            )

    def require_mean_rate(self, method: str) -> None:
        """Refuse a reference that was not held out, for a method that needs the mean rate only."""
        if self.reference.guarantee in ("none", "empirical"):
            raise ValueError(
                f"{method} needs held-out reference scores; got {self.reference}. "
                f"{_REMEDIES[self.reference.guarantee]}"
            )

    def warn_if_too_coarse(self, alpha: float) -> None:
        """Warn if nothing can alarm at an alpha."""
        if self.reference.order(checked_alpha(alpha)) < 1:
            warn_user(
                f"alpha={alpha} is too small for {_size(self.reference)}, so "
                f"nothing can alarm. {advice_for_alpha(self.reference, alpha, self.fit, True)}",
                CalibrationWarning,
            )


_HOLD_OUT = "Fit with calibration='split', or call calibrate() with new nominal rows."
_REMEDIES: Final = {
    "none": _HOLD_OUT,
    "empirical": _HOLD_OUT,
    "groups": "Call calibrate(X, replace=True) with one new nominal row of each of many groups.",
    "time": "Take new nominal rows that are far apart in time, and call "
    "set_params(calibration_split='random').calibrate(X, replace=True).",
}


def checked_alpha(alpha: Any) -> float:
    """Alpha as a float. Refuse a value that is not strictly between 0 and 1."""
    require_probability("alpha", alpha)
    return float(alpha)


def advice_for_alpha(
    reference: ReferenceScores,
    alpha: float,
    fit: FitSize | None = None,
    offers_cross: bool = False,
) -> str:
    """What to do if the reference is too small for an alpha."""
    needed = reference_needed(alpha)
    return (
        f"The smallest alpha that can alarm is {_rounded_up(reference.smallest_alpha)}. For "
        f"{alpha}, give at least {needed} reference {reference.unit}: "
        f"{ways_to_more(reference, needed, fit, offers_cross=offers_cross)}."
    )


def _size(reference: ReferenceScores) -> str:
    unit = reference.unit.removesuffix("s") if reference.size == 1 else reference.unit
    return f"{reference.size} reference {unit}"


def _rounded_up(value: float) -> str:
    """The value with four digits, rounded up: an alpha rounded down would be refused again.

    >>> _rounded_up(1 / 61), _rounded_up(1 / 100)
    ('0.0164', '0.01')
    """
    unit = 10.0 ** (floor(log10(value)) - 3)
    return f"{ceil(value / unit - 1e-9) * unit:.4g}"
