"""Bands: upper limits of the false-alarm rate at all alphas at once.

A band is b_1 <= ... <= b_n. With the confidence, the order statistics of n uniform variables are
all below it. Then the false-alarm rates of the thresholds at all n reference scores are also below
it (Bates, Candes, Lei, Romano and Sesia, 2023). Each band is a function of the orders asked for.
So with millions of scores, only those orders are computed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import log, log1p, pi, sqrt
from typing import Final

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv, gammaln

from rankad._typing import FloatArray, IntArray
from rankad.calibration.bounds import rate_interval, require_probability

#: Number of samples that tune the band "monte_carlo", and the confidence of the tuning.
_N_SAMPLES = 10_000
_TUNING_CONFIDENCE = 0.99

#: Number of deltas that the tuning tries, and of uniform numbers that it holds at once.
_N_DELTAS = 21
_MAX_NUMBERS = 1_000_000

#: There is no asymptotic band for fewer scores, and "auto" does not simulate for more.
_MIN_ASYMPTOTIC = 16
MAX_SIMULATED = 2_000

#: Relative distance between the orders of the band "grid". More scores make it smaller.
_GRID_STEP, _MIN_GRID_STEP = 0.02, 0.001

#: Shares of delta for Simes' band and for "dkw" in "combined". The rest is for "grid", because a
#: smaller delta widens that band little.
_SIMES_SHARE, _DKW_SHARE = 0.8, 0.1


def simes_band(orders: IntArray, n: int, delta: float) -> FloatArray:
    """Band by a generalized Simes inequality, with ``k = n / 2``: tight at small alphas.

    ``b_{n+1-i} = 1 - delta^(1/k) (prod_{j<k} (i - j) / (n - j))^(1/k)`` for ``i >= k``, else 1.

    >>> simes_band(np.array([11, 51]), 1000, 0.1).round(4)
    array([0.0184, 0.0736])
    """
    k = max(n // 2, 1)
    i = n + 1 - orders
    inside = i >= k
    logs = np.where(inside, gammaln(i + 1.0) - gammaln(np.maximum(i - k, 0) + 1.0), -np.inf)
    logs -= gammaln(n + 1.0) - gammaln(n - k + 1.0)
    return np.where(inside, -np.expm1((log(delta) + logs) / k), 1.0)


def dkw_band(orders: IntArray, n: int, delta: float) -> FloatArray:
    """Band of constant width, by the one-sided inequality of Dvoretzky, Kiefer and Wolfowitz.

    >>> dkw_band(np.array([11, 51]), 1000, 0.1).round(4)
    array([0.0439, 0.0839])
    """
    return np.minimum((orders - 1) / n + sqrt(log(1.0 / delta) / (2.0 * n)), 1.0)


def asymptotic_band(orders: IntArray, n: int, delta: float) -> FloatArray:
    """Band by the law of the iterated logarithm: tight in the middle, valid only for large n."""
    if n < _MIN_ASYMPTOTIC:
        return np.ones(len(orders))
    loglog = log(log(n))
    width = -log(-log(1.0 - delta)) + 2.0 * loglog + 0.5 * log(loglog) - 0.5 * log(pi)
    spread = np.sqrt(orders * (n - orders)) / (n * sqrt(n))
    return np.asarray(np.minimum(orders / n + width / sqrt(2.0 * loglog) * spread, 1.0))


def grid_band(orders: IntArray, n: int, delta: float) -> FloatArray:
    """Exact limits at orders in geometric progression, by Bonferroni's inequality.

    Each order statistic has a Beta law. It is below the next one, so an order between two of the
    grid takes the limit of the next one. With more scores the grid is finer, and the band comes
    closer to alpha.

    >>> grid_band(np.array([10_000, 50_000]), 1_000_000, 0.05).round(4)
    array([0.0104, 0.051 ])
    """
    step = max(_GRID_STEP * min(1.0, sqrt(1e4 / n)), _MIN_GRID_STEP)
    n_grid = int(np.ceil(log(n) / log1p(step))) + 1
    grid = np.unique(np.ceil(np.geomspace(1, n, n_grid)).astype(np.int64))
    limits = betaincinv(grid, n + 1 - grid, 1.0 - delta / len(grid))
    return np.asarray(limits[np.searchsorted(grid, orders)])


def combined_band(orders: IntArray, n: int, delta: float) -> FloatArray:
    """The lowest of three bands, each with a share of delta.

    Simes' band is tight at small alphas, "dkw" at large ones, "grid" between them.
    """
    simes_delta, dkw_delta = _SIMES_SHARE * delta, _DKW_SHARE * delta
    lowest = np.minimum(simes_band(orders, n, simes_delta), dkw_band(orders, n, dkw_delta))
    return np.minimum(lowest, grid_band(orders, n, delta - simes_delta - dkw_delta))


def monte_carlo_band(orders: IntArray, n: int, delta: float) -> FloatArray:
    """The lower of Simes' band and the asymptotic band, tuned by simulation.

    Both bands take the same delta, between half of the given delta and the given delta. It is the
    largest one at which, by the simulation, a sample leaves the band with probability at most the
    given delta. The simulation is 99% sure of that. If there is none, the band is Simes' band.
    """
    tuned_delta = _tuned_delta(n, delta)
    if tuned_delta is None:
        return simes_band(orders, n, delta)
    return _lower_band(orders, n, tuned_delta)


@lru_cache(maxsize=128)
def _tuned_delta(n: int, delta: float) -> float | None:
    if n < _MIN_ASYMPTOTIC:
        return None
    deltas = [float(share) for share in np.linspace(delta, delta / 2.0, _N_DELTAS)]
    bands = [_lower_band(np.arange(1, n + 1), n, candidate) for candidate in deltas]
    for candidate, n_outside in zip(deltas, _n_outside(bands, n), strict=True):
        if rate_interval(n_outside, _N_SAMPLES, 2.0 * _TUNING_CONFIDENCE - 1.0)[1] <= delta:
            return candidate
    return None


def _lower_band(orders: IntArray, n: int, delta: float) -> FloatArray:
    return np.minimum(simes_band(orders, n, delta), asymptotic_band(orders, n, delta))


def _n_outside(bands: Sequence[FloatArray], n: int) -> list[int]:
    """How many simulated samples of n uniform variables leave each of the bands."""
    rng = np.random.default_rng(0)
    n_left, n_outside = _N_SAMPLES, [0] * len(bands)
    while n_left > 0:
        n_now = min(n_left, max(_MAX_NUMBERS // n, 1))
        # Sums of exponential variables, divided by the last sum, are uniform order statistics.
        sums = np.cumsum(rng.standard_exponential((n_now, n + 1)), axis=1)
        sample = sums[:, :-1] / sums[:, -1:]
        for index, band in enumerate(bands):
            n_outside[index] += int((sample > band).any(axis=1).sum())
        n_left -= n_now
    return n_outside


BANDS: Final[dict[str, Callable[[IntArray, int, float], FloatArray]]] = {
    "monte_carlo": monte_carlo_band,
    "combined": combined_band,
    "simes": simes_band,
    "grid": grid_band,
    "dkw": dkw_band,
}


def false_alarm_band(
    n_reference: int,
    confidence: float = 0.95,
    method: str = "auto",
    orders: ArrayLike | None = None,
) -> FloatArray:
    """Upper limits of the false-alarm rate at the alphas ``j / (n + 1)``, for all j at once.

    Parameters
    ----------
    n_reference : int
        Number n of held-out reference scores.
    confidence : float, default=0.95
        Probability, over the draw of the reference, that no rate exceeds its limit.
    method : {"auto", "monte_carlo", "combined", "simes", "grid", "dkw"}, default="auto"
        "auto" is tight at every alpha. Up to 2,000 scores it is "monte_carlo": the lower of two
        bands, tuned by simulation. Beyond that it is "combined": the lowest of the bands "simes",
        "grid" and "dkw". Each of those three is tight at some alphas only.
    orders : array-like of int, optional
        Only these j, between 1 and n.

    Returns
    -------
    limits : ndarray
        One limit for each j.

    Examples
    --------
    >>> false_alarm_band(1000, method="simes", orders=[10, 50]).round(3)  # at 1% and 5%
    array([0.018, 0.074])
    """
    require_probability("confidence", confidence)
    if n_reference < 1:
        raise ValueError(f"n_reference must be at least 1; got {n_reference!r}.")
    if method not in ("auto", *BANDS):
        raise ValueError(f"method must be one of auto, {', '.join(BANDS)}; got {method!r}.")
    if method == "auto":
        method = "monte_carlo" if n_reference <= MAX_SIMULATED else "combined"
    wanted = np.arange(1, n_reference + 1) if orders is None else np.asarray(orders, dtype=np.int64)
    if not ((wanted >= 1) & (wanted <= n_reference)).all():
        raise ValueError(
            f"orders must lie between 1 and n_reference={n_reference}; got {wanted.min()} to "
            f"{wanted.max()}."
        )
    # Rounded, so that 1 - .95 and .05 share a simulation.
    return BANDS[method](wanted, n_reference, round(1.0 - confidence, 12))


def conditional_p_values(
    p_values: ArrayLike, n_reference: int, confidence: float = 0.95, method: str = "auto"
) -> FloatArray:
    """p-values that hold for this one reference, with the confidence (Bates et al., 2023).

    The p-value ``j / (n + 1)`` becomes ``u = b_j``, and 1 becomes 1. The smallest value is b_1.
    With the confidence over the draw of the reference, ``P(u <= t) <= t`` for all t at once. Given
    the reference, the values of different rows are independent.

    >>> conditional_p_values([0.1, 0.5, 1.0], n_reference=9, confidence=0.9).round(2)
    array([0.44, 0.75, 1.  ])
    """
    p = np.asarray(p_values, dtype=np.float64)
    if not ((p > 0.0) & (p <= 1.0)).all():
        raise ValueError(
            "p_values must be above 0 and at most 1, as those of a held-out reference are; got "
            f"values from {p.min()} to {p.max()}."
        )
    # Rounded up: a p-value between two orders counts as the higher one.
    in_orders = np.ceil(p * (n_reference + 1) - 1e-6).astype(np.int64)
    orders, places = np.unique(in_orders, return_inverse=True)
    limits = np.ones(len(orders))
    is_inside = orders <= n_reference
    limits[is_inside] = false_alarm_band(n_reference, confidence, method, orders[is_inside])
    return np.asarray(limits[places])
