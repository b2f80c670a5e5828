"""Control of false alarms by stratum: decisions on the scores of rows whose strata are known."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from rankad._typing import BoolArray, FloatArray
from rankad._warnings import warn_user, warn_user_once
from rankad.calibration.audits import Audit
from rankad.calibration.bounds import (
    reference_needed,
    require_probability,
    safe_order,
)
from rankad.calibration.control import FalseAlarmControl, checked_alpha
from rankad.calibration.discoveries import benjamini_hochberg
from rankad.calibration.nothing_selected import ComparedRows, NothingSelected, Words
from rankad.calibration.reference import ReferenceScores
from rankad.calibration.strata import StrataScores
from rankad.calibration.stratum_labels import N_NAMED, StratumLabels, named
from rankad.exceptions import CalibrationWarning, UnresolvableAlphaError

_WORDS_OF_STRATA: Final = Words(
    "their strata",
    "reference rows",
    within=" in a stratum",
    whom="each of these strata ",
    remedy="call calibrate(X, strata=...).",
)


@dataclass(frozen=True)
class StrataControl:
    """p-values, alarms, selections and audits of rows, each row by its own stratum.

    It knows scores and reference scores only, not the detector.

    >>> strata = StrataScores.from_scores(np.arange(108.0), ["a"] * 99 + ["b"] * 9)
    >>> control = StrataControl(strata, StratumLabels.from_values(["a", "b", "b"]))
    >>> control.p_values(np.array([-1.0, -1.0, 100.0]))
    array([0.01, 0.1 , 0.3 ])
    """

    strata: StrataScores
    labels: StratumLabels

    def p_values(self, scores: FloatArray, confidence: float | None = None) -> FloatArray:
        """p-value of each score; with a confidence, p-values that hold for these references."""
        self.labels.require_rows(len(scores))
        p = np.empty(len(scores))
        parts = zip(self._references, self.labels.rows_of_keys(), strict=True)
        for reference, rows in parts:
            if reference.size == 0:  # a band has no scores to rest on
                p[rows] = 1.0
            else:
                p[rows] = FalseAlarmControl(reference).p_values(scores[rows], confidence)
        return p

    def thresholds(
        self, alpha: float | None, default: float, confidence: float | None = None
    ) -> FloatArray:
        """Score below which a row alarms, for each stratum. It is minus infinity where none can.

        An alpha that no stratum of the rows can resolve is refused, if it is not the default.
        """
        asked = checked_alpha(default if alpha is None else alpha)
        orders = self._orders(asked, confidence)
        coarse = [key for key, order in zip(self.labels.keys, orders, strict=True) if order < 1]
        if coarse and alpha is not None:
            advice = _advice(self.strata, coarse, asked, confidence)
            if len(coarse) == len(orders):
                raise UnresolvableAlphaError(f"{advice} All rows of X are in such strata.")
            warn_user(advice, CalibrationWarning)
        if confidence is None:
            return np.array([each.threshold(asked) for each in self._references])
        parts = zip(self._references, orders, strict=True)
        return np.array([reference.score_of_order(order) for reference, order in parts])

    def _orders(self, alpha: float, confidence: float | None) -> list[int]:
        """Order of the score that is the threshold of each stratum; 0 if nothing can alarm."""
        if confidence is None:
            return [reference.order(alpha) for reference in self._references]
        sizes = {reference.size for reference in self._references}
        order_of_size = {size: safe_order(alpha, confidence, size) for size in sizes}
        return [order_of_size[reference.size] for reference in self._references]

    def is_alarm(self, scores: FloatArray, thresholds: FloatArray) -> BoolArray:
        """Which scores are below the threshold of their stratum."""
        self.labels.require_rows(len(scores))
        return np.asarray(scores < thresholds[self.labels.codes])

    def selected(
        self, scores: FloatArray, fdr: float, adaptive: bool, confidence: float | None = None
    ) -> BoolArray:
        """Which scores of a batch to call anomalies (see `RankAD.select`)."""
        p = self.p_values(scores, confidence)
        is_selected = benjamini_hochberg(p, fdr, adaptive=adaptive)
        if len(p) > 0 and not is_selected.any():
            nothing = NothingSelected(
                self._compared(scores, p), fdr, adaptive, confidence, _WORDS_OF_STRATA
            )
            warn_user_once(nothing.reason, CalibrationWarning)
        return is_selected

    def _compared(self, scores: FloatArray, p_used: FloatArray) -> list[ComparedRows]:
        """The rows of each stratum, and how many reference rows they are compared with."""
        p = self.p_values(scores)
        parts = zip(self._references, self.labels.rows_of_keys(), strict=True)
        return [ComparedRows(p[rows], p_used[rows], each.size) for each, rows in parts]

    def audits(
        self,
        is_alarm: BoolArray,
        alpha: float,
        confidence: float,
        rule_confidence: float | None = None,
        dirty_share: float = 0.0,
    ) -> dict[Hashable, Audit]:
        """What the alarms on fresh nominal rows say about the rate in each stratum.

        With the confidence, all statements hold at once (Bonferroni).
        """
        require_probability("confidence", confidence)
        n_rows = self.labels.counts()
        n_alarms = np.bincount(self.labels.codes, weights=is_alarm, minlength=len(n_rows))
        of_each = 1.0 - (1.0 - confidence) / len(n_rows)
        audits = {}
        for key, alarms, rows in zip(self.labels.keys, n_alarms, n_rows, strict=True):
            counts = int(alarms), int(rows), alpha, of_each
            audits[key] = self._audit(key, *counts, rule_confidence, dirty_share)
        return audits

    def _audit(
        self,
        key: Hashable,
        n_alarms: int,
        n_rows: int,
        alpha: float,
        confidence: float,
        rule_confidence: float | None,
        dirty_share: float,
    ) -> Audit:
        """Audit of one stratum. A shared reference has no law that the count could have."""
        if self.strata.shares(key):
            counts = alpha, n_alarms, n_rows, confidence
            return Audit.from_counts(*counts, dirty_share=dirty_share)
        control = FalseAlarmControl(self.strata.reference_of(key))
        return control.audit(n_alarms, n_rows, alpha, confidence, rule_confidence, dirty_share)

    def require_exact(self, method: str) -> None:
        """Refuse references that were not held out, or are shared, in the name of a method."""
        if self.strata.guarantee != "exact":
            raise ValueError(
                f"{method} needs held-out reference scores in every stratum; got {self.strata}. "
                "Call calibrate(X, strata=..., replace=True) with new nominal rows."
            )
        _require_own(self.strata, self.labels.keys, method)

    def warn_if_unseen(self) -> None:
        """Warn about rows of strata that have no reference rows.

        If such strata share a reference on purpose, warn only of keys that look like known ones.
        """
        unseen = [key for key in self.labels.keys if key not in self.strata]
        if unseen and self.strata.pool_below > 0:
            known = {str(key) for key in self.strata}
            unseen = [key for key in unseen if str(key) in known]
        if not unseen:
            return
        what = "share a reference" if self.strata.pool_below > 0 else "have p = 1 and never alarm"
        warn_user(
            f"Rows of strata without reference rows {what}: {named(unseen)}. Known strata are "
            f"{named(list(self.strata))}. Text and numbers are different keys. Call calibrate(X, "
            "strata=...) with nominal rows of these strata.",
            CalibrationWarning,
        )

    @cached_property
    def _references(self) -> list[ReferenceScores]:
        """The reference that rows of each key are compared with."""
        return [self.strata.reference_of(key) for key in self.labels.keys]


def control_of_stratum(strata: StrataScores, key: Hashable, method: str) -> FalseAlarmControl:
    """Control of false alarms in one stratum. Refuse one without an exact reference of its own."""
    if key not in strata:
        raise ValueError(
            f"{method} has no reference rows of the stratum {key!r}. Known strata are "
            f"{named(list(strata))}. Call calibrate(X, strata=...) with rows of this stratum."
        )
    _require_own(strata, [key], method)
    control = FalseAlarmControl(strata[key])
    control.require_exact(method)
    return control


def warn_if_strata_too_coarse(strata: StrataScores, alpha: float) -> None:
    """Warn if nothing can alarm at an alpha in some strata."""
    alpha = checked_alpha(alpha)
    coarse = [key for key in strata if strata.reference_of(key).order(alpha) < 1]
    if coarse:
        warn_user(_advice(strata, coarse, alpha), CalibrationWarning)


def _require_own(strata: StrataScores, keys: Sequence[Hashable], method: str) -> None:
    """Refuse strata that share a reference, in the name of a method that needs their own."""
    sharing = [key for key in keys if strata.shares(key)]
    if sharing:
        raise ValueError(
            f"{method} needs a reference of each stratum, but strata with fewer than "
            f"{strata.pool_below} rows share one: {named(sharing)}. Leave out their rows, or give "
            "each its own reference: calibrate(X, strata=..., pool_below=0)."
        )


def _advice(
    strata: StrataScores,
    coarse: Sequence[Hashable],
    alpha: float,
    confidence: float | None = None,
) -> str:
    """What to do about strata that cannot alarm at an alpha."""
    asked = f"{alpha=}" if confidence is None else f"{alpha=} with {confidence=}"
    needed = reference_needed(alpha, confidence)
    sizes = {key: strata[key].size if key in strata else 0 for key in coarse[:N_NAMED]}
    more = f" and {len(coarse) - N_NAMED} more" if len(coarse) > N_NAMED else ""
    advice = (
        f"Nothing can alarm at {asked} in strata with too few reference rows (stratum: rows): "
        f"{sizes}{more}. Each needs at least {needed}: call calibrate(X, strata=...) with more "
        "nominal rows."
    )
    if confidence is not None or strata.pool_below > 0:
        return advice
    return (
        f"{advice} If it is enough that alpha holds for all small strata together, let them share "
        f"a reference: calibrate(X, strata=..., pool_below={needed})."
    )
