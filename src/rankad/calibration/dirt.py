"""Bad rows among the reference rows: what the false-alarm rate on clean rows can be.

Let n reference rows hold B bad ones. The n - B clean ones are exchangeable with a new clean row,
and the bad ones have any scores. Let j be the order of the threshold. A clean row that alarms
scores below the j-th smallest reference score, so at most j - 1 clean reference scores are at most
its own. So it scores below the j-th smallest of n - B clean scores. At least ``j - B`` of the j
lowest reference scores are clean, so whoever scores below the (j - B)-th smallest clean score
alarms. Without ties the rate on clean rows is thus

- at most the j-th of n - B uniform order statistics: Beta(j, n - B + 1 - j), if all bad rows score
  above the threshold;
- at least the (j - B)-th of them: Beta(j - B, n + 1 - j), if all bad rows score below it.

Given B, its mean is at most ``j / (n - B + 1)``. Let each reference row be bad with probability q,
or let the reference be a random part of a file of which a share q is bad. The mean of
``1 / (n - B + 1)`` is then at most ``1 / ((n + 1) (1 - q))``: it is smaller than that for a
binomial B, and B varies less for a part of a file (Hoeffding, 1963). So the mean rate is at most
``alpha / (1 - q)``.
"""

from __future__ import annotations

from math import floor, log
from numbers import Real
from typing import Any

from scipy.stats import beta, betabinom


def most_bad(n_rows: int, dirty_share: float, miss: float) -> int:
    """Largest number of bad rows among ``n_rows``; more have a probability of at most ``miss``.

    It holds for rows that are bad independently of each other with a probability of at most the
    share, for a random part of a file with at most this share, and for rows that themselves have at
    most this share. The limit is Chernoff's, which is valid for all three (Hoeffding, 1963).

    >>> most_bad(1000, 0.02, miss=0.05), most_bad(1000, 0.0, miss=0.05), most_bad(3, 0.9, miss=0.05)
    (31, 0, 3)
    """
    if dirty_share == 0.0:
        return 0
    n_bad = min(floor(dirty_share * n_rows + 1e-9), n_rows)
    while n_bad < n_rows and _log_tail(n_bad + 1, n_rows, dirty_share) > log(miss):
        n_bad += 1
    return n_bad


def _log_tail(n_bad: int, n_rows: int, share: float) -> float:
    """Logarithm of Chernoff's limit of the probability of so many bad rows or more."""
    x = n_bad / n_rows
    if x <= share:
        return 0.0
    rest = 0.0 if x == 1.0 else (1.0 - x) * log((1.0 - x) / (1.0 - share))
    return -n_rows * (x * log(x / share) + rest)


def largest_mean_rate(order: int, n_reference: int, dirty_share: float) -> float:
    """Upper limit of the mean rate on clean rows, ``j / ((n + 1) (1 - share))``.

    >>> round(largest_mean_rate(10, 999, 0.02), 5)
    0.0102
    """
    return min(1.0, order / ((n_reference + 1) * (1.0 - dirty_share)))


def low_rate(order: int, n_reference: int, n_bad: int, miss: float) -> float:
    """Lower limit of the rate on clean rows, if at most ``n_bad`` reference rows are bad."""
    if order <= n_bad:
        return 0.0
    return float(beta(float(order - n_bad), float(n_reference + 1 - order)).ppf(miss))


def high_rate(order: int, n_reference: int, n_bad: int, miss: float) -> float:
    """Upper limit of the rate on clean rows, if at most ``n_bad`` reference rows are bad."""
    if n_reference - n_bad < order:
        return 1.0
    return float(beta(float(order), float(n_reference - n_bad + 1 - order)).isf(miss))


def fewest_alarms(n_rows: int, order: int, n_reference: int, n_bad: int, miss: float) -> int:
    """Lower limit of the number of alarms on clean rows; fewer have the probability ``miss``."""
    if order <= n_bad:
        return 0
    return int(betabinom(n_rows, float(order - n_bad), float(n_reference + 1 - order)).ppf(miss))


def most_alarms(n_rows: int, order: int, n_reference: int, n_bad: int, miss: float) -> int:
    """Upper limit of the number of alarms on clean rows; more have the probability ``miss``."""
    if n_reference - n_bad < order:
        return n_rows
    law = betabinom(n_rows, float(order), float(n_reference - n_bad + 1 - order))
    return int(law.isf(miss))


def checked_share(value: Any) -> float:
    """A share of bad rows as a float. Refuse a value that is not at least 0 and below 1."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0.0 <= float(value) < 1.0:
        raise ValueError(
            f"dirty_share must be a number of at least 0 and below 1; got {value!r}. It is the "
            "largest share of bad rows that you expect, for example 0.02."
        )
    return float(value)
