"""What the false-alarm rate of one calibrated detector can be: exact laws.

Let n held-out reference scores have no ties. Then the rule ``p <= alpha`` alarms below the j-th
smallest of them, with ``j = floor(alpha (n + 1))``. The share of nominal rows that alarm is random
over the draw of the reference. Its law is Beta(j, n + 1 - j) for any data; ties make it smaller.
Everything here follows from that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import nan
from numbers import Real
from typing import Any, Self

from scipy.special import betainc
from scipy.stats import beta, binomtest

from rankad.calibration.dirt import checked_share, high_rate, largest_mean_rate, low_rate, most_bad
from rankad.calibration.reference import order_of


def law_of_order(order: int, n_reference: int) -> Any:
    """Law of the rate of alarms below the j-th of n reference scores: Beta(j, n + 1 - j).

    >>> float(law_of_order(1, 1).mean())
    0.5
    """
    if not 1 <= order <= n_reference:
        raise ValueError(
            f"There is no score {order} of {n_reference} reference scores: alpha must be at least "
            f"1 / {n_reference + 1} and below 1."
        )
    # As floats: the moments of whole numbers overflow above two million scores.
    return beta(float(order), float(n_reference + 1 - order))


def safe_order(alpha: float, confidence: float, n_reference: int) -> int:
    """Largest j for which the rate of alarms below the j-th score is safely within alpha.

    With the confidence the rate is at most alpha, and so is the mean rate. j is 0 if no score is
    low enough: then nothing may alarm.

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
    """Number of held-out reference scores that an alpha needs.

    Parameters
    ----------
    alpha : float
        False-alarm rate asked for.
    confidence : float, optional
        Without it, the reference is large enough that a row can alarm: ``1 / alpha - 1`` scores.
        With it, the rate is also at most alpha with this confidence. That mostly needs
        ``log(1 - confidence) / log(1 - alpha)`` scores.
    share : float, default=0.0
        Share of alpha that the mean rate must reach. It needs a confidence.

    Returns
    -------
    n_reference : int
        The smallest such number. A slightly larger number may fall short of the share, until the
        next order is safe.

    Examples
    --------
    >>> reference_needed(0.01), reference_needed(0.01, confidence=0.95)
    (99, 299)
    >>> reference_needed(0.01, confidence=0.95, share=0.8)
    5988
    """
    require_probability("alpha", alpha)
    if not 0.0 <= share < 1.0:
        raise ValueError(f"share must be at least 0 and below 1; got {share!r}.")
    if confidence is None:
        if share > 0.0:
            raise ValueError(
                f"share={share} needs a confidence: without one, all of alpha is used. Give a "
                "confidence, or leave out share."
            )
        return smallest_number(lambda n: order_of(alpha, n) >= 1, 1)
    require_probability("confidence", confidence)

    def uses_the_share(order: int) -> bool:
        return order >= share * alpha * (_min_reference(order, alpha, confidence) + 1)

    # The share that is used does not always rise with the order, so the first order is searched.
    max_order = smallest_number(uses_the_share, 1)
    order = next(order for order in range(1, max_order + 1) if uses_the_share(order))
    return _min_reference(order, alpha, confidence)


def _min_reference(order: int, alpha: float, confidence: float) -> int:
    """Fewest reference scores for which the j-th is a safe threshold at alpha.

    Beta(j, n + 1 - j) is at most alpha with the probability that at least j of n independent events
    happen, if each has the probability alpha.
    """
    return smallest_number(
        lambda n: (
            order <= order_of(alpha, n) and bool(betainc(order, n + 1 - order, alpha) >= confidence)
        ),
        order,
    )


def smallest_number(holds: Callable[[int], bool], first: int) -> int:
    """Smallest number from ``first`` on for which ``holds`` is true. It must stay true above.

    >>> smallest_number(lambda n: n * n > 50, 1)
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
    """What the realized false-alarm rate at an alpha can be, over the draw of the reference.

    If reference scores tie at the threshold, alarms are rarer than the law says. Then only
    ``limit`` and ``high`` hold, ``low`` is 0, and ``mean`` is an upper limit of the mean.

    With a dirty share, everything is about clean rows, and holds wherever the bad reference rows
    score. ``mean`` is then an upper limit of the mean rate, and ``std`` is NaN, because it depends
    on these scores.

    Parameters
    ----------
    alpha : float
        False-alarm rate asked for.
    n_reference : int
        Number of held-out reference scores.
    confidence : float
        Probability of the interval, and of the limit.
    mean, std : float
        Mean and standard deviation of the rate. The mean is at most alpha.
    low, high : float
        Interval that holds the rate with the confidence, with equal tails.
    limit : float
        Upper limit of the rate, with the confidence.
    has_ties : bool
        Whether reference scores tie at the threshold.
    dirty_share : float
        Largest share of bad rows among the rows that the reference was drawn from.

    Examples
    --------
    >>> bounds = FalseAlarmBounds.from_order(0.05, order=50, n_reference=999, confidence=0.95)
    >>> round(bounds.low, 3), round(bounds.high, 3), round(bounds.limit, 3)
    (0.037, 0.064, 0.062)
    >>> dirty = FalseAlarmBounds.from_order(0.05, 50, 999, 0.95, dirty_share=0.02)
    >>> round(dirty.mean, 3), round(dirty.low, 3), round(dirty.high, 3), round(dirty.limit, 3)
    (0.051, 0.01, 0.068, 0.067)
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
    dirty_share: float = 0.0

    @classmethod
    def from_order(
        cls,
        alpha: float,
        order: int,
        n_reference: int,
        confidence: float,
        *,
        has_ties: bool = False,
        dirty_share: float = 0.0,
    ) -> Self:
        """Bounds of the rate of alarms below the j-th of n reference scores."""
        require_probability("confidence", confidence)
        share = checked_share(dirty_share)
        law = law_of_order(order, n_reference)
        if share > 0.0:
            dirty = alpha, order, n_reference, confidence, share
            return cls._with_dirt(*dirty, has_ties=has_ties)
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

    @classmethod
    def _with_dirt(
        cls,
        alpha: float,
        order: int,
        n_reference: int,
        confidence: float,
        share: float,
        *,
        has_ties: bool,
    ) -> Self:
        """Bounds of the rate on clean rows. The number of bad rows takes a part of the risk."""
        risk = 1.0 - confidence
        n_bad = most_bad(n_reference, share, risk / 3.0)
        n_bad_of_limit = most_bad(n_reference, share, risk / 2.0)
        return cls(
            alpha,
            n_reference,
            confidence,
            mean=largest_mean_rate(order, n_reference, share),
            std=nan,
            low=0.0 if has_ties else low_rate(order, n_reference, n_bad, risk / 3.0),
            high=high_rate(order, n_reference, n_bad, risk / 3.0),
            limit=high_rate(order, n_reference, n_bad_of_limit, risk / 2.0),
            has_ties=has_ties,
            dirty_share=share,
        )


def rate_interval(n_alarms: int, n_rows: int, confidence: float = 0.95) -> tuple[float, float]:
    """Interval that holds a rate with the confidence, given a count (Clopper, Pearson).

    >>> low, high = rate_interval(3, 100)
    >>> round(low, 4), round(high, 4)
    (0.0062, 0.0852)
    """
    require_probability("confidence", confidence)
    if n_rows == 0:
        raise ValueError("n_rows=0 gives no rate. Give at least 1 row.")
    interval = binomtest(n_alarms, n_rows).proportion_ci(confidence, method="exact")
    return float(interval.low), float(interval.high)


def require_probability(name: str, value: Any) -> None:
    """Refuse a value that is not strictly between 0 and 1."""
    if not isinstance(value, Real) or not 0.0 < float(value) < 1.0:
        raise ValueError(f"{name} must be a number between 0 and 1, exclusive; got {value!r}.")
