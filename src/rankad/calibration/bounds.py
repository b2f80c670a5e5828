"""What the false-alarm rate of one calibrated detector can be: exact laws, bands, audits.

With n held-out reference scores without ties, the rule ``p <= alpha`` alarms below the j-th
smallest of them, ``j = floor(alpha (n + 1))``. The share of nominal points that do is itself random
over the draw of the reference, with law Beta(j, n + 1 - j), whatever the data (with ties it is
stochastically smaller). Everything here follows from that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any, Self

from scipy.special import betainc
from scipy.stats import beta, betabinom, binomtest

from rankad.calibration.reference import order_of


def false_alarm_law(alpha: float, n_reference: int) -> Any:
    """Law of the realised false-alarm rate at a level, as a frozen distribution of scipy.

    Raises where the reference cannot resolve the level: nothing alarms, and the rate is 0.

    >>> law = false_alarm_law(0.05, 999)
    >>> round(float(law.mean()), 3), law.ppf([0.025, 0.975]).round(3)
    (0.05, array([0.037, 0.064]))
    """
    require_probability("alpha", alpha)
    order = order_of(alpha, n_reference)
    if order < 1:
        raise ValueError(
            f"alpha={alpha} is finer than {n_reference} reference points can resolve; it needs at "
            f"least {reference_needed(alpha)}."
        )
    return law_of_order(order, n_reference)


def law_of_order(order: int, n_reference: int) -> Any:
    """Law of the rate of alarms below the j-th smallest of n reference scores: Beta(j, n + 1 - j).

    >>> float(law_of_order(1, 1).mean())
    0.5
    """
    if not 1 <= order <= n_reference:
        raise ValueError(
            f"There is no {order}-th of {n_reference} reference scores: the level must lie between "
            f"1 / {n_reference + 1} and {n_reference} / {n_reference + 1}."
        )
    return beta(order, n_reference + 1 - order)


def safe_order(alpha: float, confidence: float, n_reference: int) -> int:
    """The largest j such that alarms below the j-th score are within alpha, with confidence.

    On average they are within it, too, however low the confidence. 0 where not even those below the
    lowest score are: then nothing may alarm.

    >>> [safe_order(0.05, 0.95, n) for n in (50, 100, 1000, 10_000)]
    [0, 2, 39, 464]
    """
    require_probability("alpha", alpha)
    require_probability("confidence", confidence)
    low, high = 0, order_of(alpha, n_reference)
    while low < high:  # the limit rises with j
        middle = (low + high + 1) // 2
        if middle <= n_reference and law_of_order(middle, n_reference).ppf(confidence) <= alpha:
            low = middle
        else:
            high = middle - 1
    return low


def reference_needed(alpha: float, confidence: float | None = None, share: float = 0.0) -> int:
    """Held-out reference scores that a level needs.

    Without confidence: so many that anything can alarm, ``1 / alpha - 1``. With it: so many that
    with that confidence the rate is at most alpha and anything can alarm, mostly
    ``log(1 - confidence) / log(1 - alpha)``; or, with a share of alpha, that so much of the level
    is used on average. It is the least such number: a few more than that may fall short of the
    share, until the next order is safe.

    >>> reference_needed(0.01), reference_needed(0.01, confidence=0.95)
    (99, 299)
    >>> reference_needed(0.01, confidence=0.95, share=0.8)
    5988
    """
    require_probability("alpha", alpha)
    if not 0.0 <= share < 1.0:
        raise ValueError(f"share must lie in [0, 1); got {share!r}.")
    if confidence is None:
        if share > 0.0:
            raise ValueError("A share of the level needs a confidence: without one all is used.")
        return _smallest_number(lambda n: order_of(alpha, n) >= 1, 1)
    require_probability("confidence", confidence)

    def uses_the_share(order: int) -> bool:
        return order >= share * alpha * (_min_reference(order, alpha, confidence) + 1)

    # What is used of the level does not quite rise with the order: the first that does is sought.
    max_order = _smallest_number(uses_the_share, 1)
    order = next(order for order in range(1, max_order + 1) if uses_the_share(order))
    return _min_reference(order, alpha, confidence)


def _min_reference(order: int, alpha: float, confidence: float) -> int:
    """The fewest reference scores whose j-th is safe at the level.

    Beta(j, n + 1 - j) is at most alpha exactly as often as n events of probability alpha happen j
    times.
    """
    return _smallest_number(
        lambda n: (
            order <= order_of(alpha, n) and bool(betainc(order, n + 1 - order, alpha) >= confidence)
        ),
        order,
    )


def _smallest_number(holds: Callable[[int], bool], first: int) -> int:
    """The smallest number from ``first`` on for which ``holds`` is true; it must stay true above.

    >>> _smallest_number(lambda n: n * n > 50, 1)
    8
    """
    low, high = first - 1, first
    while not holds(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


@dataclass(frozen=True)
class FalseAlarmBounds:
    """What the realised false-alarm rate at a level can be, over the draw of the reference.

    Where reference scores tie at the threshold, alarms are rarer than the law has it: then only
    ``limit`` and ``high`` hold, ``low`` is 0, and ``mean`` is an upper limit of the mean.

    Parameters
    ----------
    alpha : float
        The level asked for.
    n_reference : int
        Held-out reference scores.
    confidence : float
        Probability of the interval, and of the limit.
    mean, std : float
        Of the rate; the mean is at most alpha.
    low, high : float
        Interval that holds the rate with the confidence, equal tails.
    limit : float
        What the rate is at most, with the confidence.
    has_ties : bool
        Whether reference scores tie at the threshold.
    """

    alpha: float
    n_reference: int
    confidence: float
    mean: float
    std: float
    low: float
    high: float
    limit: float
    has_ties: bool = False

    @classmethod
    def from_order(
        cls,
        alpha: float,
        order: int,
        n_reference: int,
        confidence: float,
        *,
        has_ties: bool = False,
    ) -> Self:
        """Bounds of the rate of alarms below the j-th of n reference scores."""
        require_probability("confidence", confidence)
        law = law_of_order(order, n_reference)
        low, high = law.ppf([(1.0 - confidence) / 2.0, (1.0 + confidence) / 2.0])
        return cls(
            alpha,
            n_reference,
            confidence,
            mean=float(law.mean()),
            std=float(law.std()),
            low=0.0 if has_ties else float(low),
            high=float(high),
            limit=float(law.ppf(confidence)),
            has_ties=has_ties,
        )


@dataclass(frozen=True)
class Audit:
    """False alarms counted on fresh nominal rows, beside what was asked for.

    Parameters
    ----------
    alpha : float
        The level asked for.
    n_alarms, n_rows : int
        Alarms among the fresh rows.
    confidence : float
        Of the interval.
    low, high : float
        The detector's own rate lies between them, with the confidence (Clopper and Pearson).
    max_alarms : int or None
        What the count is at most, with the confidence, if the fresh rows are drawn like the
        reference: beta-binomial. None where the reference was not held out, or cannot resolve the
        level.
    """

    alpha: float
    n_alarms: int
    n_rows: int
    confidence: float
    low: float
    high: float
    max_alarms: int | None = None

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
    ) -> Self:
        """Audit of so many alarms among so many fresh nominal rows.

        With the place j of the threshold among n held-out reference scores, also beside the count
        that these allow.
        """
        low, high = rate_interval(n_alarms, n_rows, confidence)
        max_alarms = None
        if 1 <= order <= n_reference:
            law = betabinom(n_rows, order, n_reference + 1 - order)
            max_alarms = int(law.ppf((1.0 + confidence) / 2.0))
        return cls(alpha, n_alarms, n_rows, confidence, low, high, max_alarms)

    @property
    def rate(self) -> float:
        """Share of the fresh rows that alarm."""
        return self.n_alarms / self.n_rows

    @property
    def verdict(self) -> str:
        """What the count says of the level.

        A rate above alpha is nothing wrong by itself: over the draw of the reference it scatters
        about alpha. More alarms than the reference allows are: the rows are drawn otherwise.
        """
        if self.max_alarms is not None and self.n_alarms > self.max_alarms:
            return "more false alarms than the reference allows: these rows are drawn otherwise"
        if self.low > self.alpha:
            above = "more false alarms than asked for"
            return above if self.max_alarms is None else f"{above}, as the reference allows"
        if self.high < self.alpha:
            return "fewer false alarms than asked for"
        return "consistent with what was asked for"


def rate_interval(n_alarms: int, n_rows: int, confidence: float = 0.95) -> tuple[float, float]:
    """Interval that holds a rate, given a count, with at least the confidence (Clopper, Pearson).

    >>> low, high = rate_interval(3, 100)
    >>> round(low, 4), round(high, 4)
    (0.0062, 0.0852)
    """
    require_probability("confidence", confidence)
    if n_rows == 0:
        raise ValueError("0 rows make no rate.")
    interval = binomtest(n_alarms, n_rows).proportion_ci(confidence, method="exact")
    return float(interval.low), float(interval.high)


def require_probability(name: str, value: Any) -> None:
    """Refuse what is not strictly between 0 and 1."""
    if not isinstance(value, Real) or not 0.0 < float(value) < 1.0:
        raise ValueError(f"{name} must be a number between 0 and 1, exclusive; got {value!r}.")
