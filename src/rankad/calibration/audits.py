"""Audits: what a count of alarms on fresh nominal rows says, and what it can notice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import Self

import numpy as np
from scipy.special import betaincinv
from scipy.stats import binom

from rankad._typing import BoolArray, FloatArray
from rankad.calibration.bounds import rate_interval, require_probability
from rankad.calibration.dirt import checked_share, fewest_alarms, most_alarms, most_bad

#: Number of simulated references that the limits of selections come from.
N_SIMULATED = 999

#: Probability with which `Audit.detectable_rate` is noticed.
POWER = 0.8


@dataclass(frozen=True)
class Audit:
    """False alarms counted on fresh nominal rows, and what the count says about alpha.

    A count outside ``min_alarms`` to ``max_alarms`` is a fault: it has a probability of at most
    ``1 - confidence``, over the draws of the reference and of the fresh rows, if both have the same
    distribution. An audit with few rows or a small reference notices only large faults:
    `detectable_rate` and `power_at` say how large. For example, with 100 reference scores and 2,000
    fresh rows at alpha = .05, a rate of .1 is noticed with probability .45 only.

    Parameters
    ----------
    alpha : float
        False-alarm rate asked for. For a selection, the fdr.
    n_alarms, n_rows : int
        Number of alarms, and number of fresh rows. For a selection, the number of batches with a
        selected row, and the number of batches.
    confidence : float
        Probability of the interval, and of the range of counts.
    low, high : float
        Interval that contains the detector's own rate with the confidence (Clopper and Pearson), if
        the fresh rows were drawn independently. For rows that are like each other, as those of one
        stream or one group, it is too narrow.
    max_alarms, min_alarms : int or None
        Largest and smallest count that the reference allows, from the exact law of the count. None
        if the reference was not held out, or is too small for alpha.
    rule_confidence : float or None
        Confidence of the rule under audit, for example of ``predict(X, alpha, confidence=...)``.
    n_bad : int
        Largest number of bad rows among the fresh ones, as the dirty share of the audit says. Their
        alarms may be true. So the interval is one of the rate on clean rows, and the range of
        counts is wider by these rows.

    Examples
    --------
    >>> audit = Audit.from_counts(0.05, n_alarms=100, n_rows=1000, confidence=0.95)
    >>> audit.rate, audit.verdict
    (0.1, 'more false alarms than asked for')
    >>> audit = Audit.from_counts(0.05, 61, 1000, 0.95, order=50, n_reference=999)
    >>> audit.min_alarms, audit.max_alarms, audit.verdict
    (32, 70, 'consistent with what was asked for')
    >>> round(audit.detectable_rate, 3), round(audit.power_at(0.1), 3)
    (0.078, 0.999)
    """

    alpha: float
    n_alarms: int
    n_rows: int
    confidence: float
    low: float
    high: float
    max_alarms: int | None = None
    min_alarms: int | None = None
    rule_confidence: float | None = None
    n_bad: int = 0

    @classmethod
    def from_counts(
        cls,
        alpha: float,
        n_alarms: int,
        n_rows: int,
        confidence: float,
        *,
        order: int = 0,
        n_reference: int = 0,
        has_ties: bool = False,
        rule_confidence: float | None = None,
        dirty_share: float = 0.0,
    ) -> Self:
        """Audit of ``n_alarms`` alarms on ``n_rows`` fresh nominal rows.

        Given the order j of the threshold among n held-out reference scores, it also has the
        smallest and the largest count that they allow. Where scores tie at the threshold, alarms
        may be rarer, so the smallest count is 0. At most ``dirty_share`` of the fresh rows and of
        the rows that the reference was drawn from are bad.
        """
        require_probability("confidence", confidence)
        share, risk = checked_share(dirty_share), 1.0 - confidence
        # The number of bad rows may be larger than these limits, so it takes a part of the risk.
        left = risk / 2.0 if share > 0.0 else risk
        n_bad = most_bad(n_rows, share, risk / 2.0)
        low, high = clean_rate_interval(n_alarms, n_rows, n_bad, 1.0 - left)
        min_alarms = max_alarms = None
        if 1 <= order <= n_reference:
            n_bad_reference = most_bad(n_reference, share, left / 2.0)
            miss = left / 4.0 if share > 0.0 else left / 2.0
            clean = n_rows - n_bad, order, n_reference, n_bad_reference, miss
            min_alarms = 0 if has_ties else fewest_alarms(*clean)
            max_alarms = most_alarms(*clean) + n_bad
        return cls(
            *(alpha, n_alarms, n_rows, confidence, low, high, max_alarms, min_alarms),
            rule_confidence=rule_confidence,
            n_bad=n_bad,
        )

    @classmethod
    def from_selections(
        cls,
        fdr: float,
        n_alarms: int,
        n_rows: int,
        confidence: float,
        *,
        max_alarms: int,
        rule_confidence: float | None = None,
    ) -> Self:
        """Audit of a selection: ``n_alarms`` of ``n_rows`` nominal batches had a selected row.

        `max_selections` gives ``max_alarms``. Few selections are no fault.
        """
        low, high = rate_interval(n_alarms, n_rows, confidence)
        return cls(
            *(fdr, n_alarms, n_rows, confidence, low, high, max_alarms, 0),
            rule_confidence=rule_confidence,
        )

    @property
    def rate(self) -> float:
        """Share of the fresh rows that alarm."""
        return self.n_alarms / self.n_rows

    @property
    def verdict(self) -> str:
        """What the count says about alpha.

        A rate above alpha is no fault by itself: over the draw of the reference, the rate varies
        about alpha. A count outside the range that the reference allows is a fault: these rows
        have another distribution than the reference.
        """
        if self.max_alarms is not None and self.n_alarms > self.max_alarms:
            return "more false alarms than the reference allows: the rows have another distribution"
        if self.min_alarms is not None and self.n_alarms < self.min_alarms:
            return (
                "fewer false alarms than the reference allows: the rows have another distribution"
            )
        if self.low > self.alpha:
            above = "more false alarms than asked for"
            return above if self.max_alarms is None else f"{above}, as the reference allows"
        if self.high < self.alpha:
            return "fewer false alarms than asked for"
        return "consistent with what was asked for"

    @property
    def detectable_rate(self) -> float:
        """Smallest rate above alpha that such an audit notices with probability .8.

        A detector with this rate has more alarms than ``max_alarms`` in 4 of 5 audits. Without
        ``max_alarms``, it is the rate at which the interval lies above alpha in 4 of 5 audits. It
        is infinite if no count is too large.
        """
        first_too_many, n_clean = self._consistent_counts[1] + 1, self.n_rows - self.n_bad
        if first_too_many > n_clean:
            return inf
        return float(betaincinv(first_too_many, n_clean + 1 - first_too_many, POWER))

    def power_at(self, rate: float) -> float:
        """Probability that such an audit notices a detector with this false-alarm rate.

        With bad rows among the fresh ones, it is the least such probability.

        Parameters
        ----------
        rate : float
            True false-alarm rate of a detector, from 0 to 1.

        Returns
        -------
        power : float
        """
        if not 0.0 <= rate <= 1.0:
            raise ValueError(f"rate must be at least 0 and at most 1; got {rate!r}.")
        least, most = self._consistent_counts
        law = binom(self.n_rows - self.n_bad, rate)
        # The bad rows may alarm or not, whichever hides the fault.
        return float(law.cdf(least - 1 - self.n_bad) + law.sf(most))

    @cached_property
    def _consistent_counts(self) -> tuple[int, int]:
        """Smallest and largest count that is no fault."""
        if self.min_alarms is not None and self.max_alarms is not None:
            return self.min_alarms, self.max_alarms
        # The interval lies above alpha if so many alarms are too rare at alpha, and likewise below.
        law = binom(self.n_rows - self.n_bad, self.alpha)
        risk = (1.0 - self.confidence) / (2.0 if self.n_bad > 0 else 1.0)
        return int(law.ppf(risk / 2.0)), int(law.isf(risk / 2.0)) + self.n_bad


def clean_rate_interval(
    n_alarms: int, n_rows: int, n_bad: int, confidence: float
) -> tuple[float, float]:
    """Interval of the rate on clean rows, if at most ``n_bad`` of the rows are bad.

    The lower end is that for bad rows that all alarm, the upper end that for bad rows that do not.

    >>> [round(end, 3) for end in clean_rate_interval(60, 1000, 0, 0.95)]
    [0.046, 0.077]
    >>> [round(end, 3) for end in clean_rate_interval(60, 1000, 20, 0.95)]
    [0.029, 0.078]
    """
    n_clean = n_rows - n_bad
    if n_clean == 0:
        return 0.0, 1.0
    low = rate_interval(max(n_alarms - n_bad, 0), n_clean, confidence)[0]
    return low, rate_interval(min(n_alarms, n_clean), n_clean, confidence)[1]


def max_selections(
    has_selection: Callable[[FloatArray], BoolArray],
    n_batches: int,
    batch_size: int,
    n_reference: int,
    confidence: float,
) -> int:
    """Largest number of nominal batches with a selected row that the reference allows.

    The reference and all batches are draws from one distribution. Without ties the law of the
    number of such batches is then the same for every distribution. It is simulated with uniform
    scores. More batches than the returned number have a probability of at most
    ``(1 - confidence) / 2``, over the draws of the reference, of the rows and of the simulation.

    Parameters
    ----------
    has_selection : callable
        Takes the p-values of batches, one batch in a row, and returns for each whether anything is
        selected.
    n_batches, batch_size : int
        Number of batches, and of rows in each.
    n_reference : int
        Number n of held-out reference scores.
    confidence : float
        Probability of the range of counts.

    Returns
    -------
    max_alarms : int

    Examples
    --------
    >>> max_selections(lambda p: p.min(axis=1) <= 0.01, 20, 1, 99, confidence=0.95)
    2
    """
    require_probability("confidence", confidence)
    rng = np.random.default_rng(0)
    counts = np.empty(N_SIMULATED, dtype=np.int64)
    for simulation in range(N_SIMULATED):
        sums = np.cumsum(rng.standard_exponential(n_reference + 1))
        reference = sums[:-1] / sums[-1]  # sorted uniform variables
        new = rng.uniform(size=(n_batches, batch_size))
        p = (1.0 + np.searchsorted(reference, new, side="right")) / (n_reference + 1.0)
        counts[simulation] = has_selection(p).sum()
    # A rank among the simulated counts is an exact p-value of a Monte-Carlo test.
    n_above = int(np.floor((1.0 - confidence) / 2.0 * (N_SIMULATED + 1) + 1e-9)) - 1
    if n_above < 0:
        return n_batches
    return int(np.sort(counts)[N_SIMULATED - 1 - n_above])
