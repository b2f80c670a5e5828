"""Dependence of rows on the rows before them, and what it makes the rows worth.

The promise of a random hold-out needs rows that are independent draws. Rows of a stream, and rows
of groups that stand together, are like their neighbors in the file. Then a held-out row has near
relatives among the training rows, and a new row has none.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from scipy.special import gammainc, gammaincc
from scipy.stats import rankdata

from rankad._typing import FloatArray

#: Probability that `serial_p_value` is below it although the rows are independent draws.
DEPENDENCE_LEVEL: Final = 0.001

#: Rows that are tested at most: this many stretches of consecutive rows, spread over the file.
_N_STRETCHES, _STRETCH = 40, 500

#: Lengths of the blocks whose means are tested, and how many blocks a test needs.
_BLOCK_LENGTHS = (1, 10, 100)
_MIN_BLOCKS = 40

#: A column is tested if the skewness of its sum of products is at most this. A column in which
#: nearly all rows have one value has a larger one, and its few other rows say little about order.
_MAX_SKEWNESS = 0.3

#: Rows that the memory is estimated from at most.
_MAX_ROWS_FOR_MEMORY = 100_000


def serial_p_value(rows: FloatArray) -> float:
    """p-value of the hypothesis that the order of the rows says nothing about them.

    The columns are turned into ranks. Neighbors in the file are compared by
    ``sum_i <u_i, u_(i+1)>``, where ``u_i`` are the centered ranks of a row, and so are the means of
    blocks of 10 and of 100 rows. Mean, variance and skewness of the sum over all orders of the rows
    are known. The smallest of the p-values counts, times their number. Rows that are independent,
    or exchangeable, get a value below a with a probability of at most about a, whatever their
    distribution. Columns in which nearly all rows have one value are left out, and so are clocks:
    columns that never fall, or never rise, if others vary.

    Parameters
    ----------
    rows : array of shape (n, d)
        Rows in the order of the file. Above 20,000, stretches of 500 rows are tested.

    Returns
    -------
    p : float
        1 if there are fewer than 40 rows, or if no column can be tested.

    Examples
    --------
    >>> rows = np.random.default_rng(0).normal(size=(400, 2))
    >>> serial_p_value(rows) > 0.01, serial_p_value(np.cumsum(rows, axis=0)) < 1e-9
    (True, True)
    """
    tested = rows[_tested(len(rows))]
    values = centered_ranks(_without_clocks(tested))
    lengths = [length for length in _BLOCK_LENGTHS if len(values) >= _MIN_BLOCKS * length]
    p_values = [_neighbors_p_value(_block_means(values, length)) for length in lengths]
    return min(1.0, len(p_values) * min(p_values)) if p_values else 1.0


def memory(rows: FloatArray) -> float:
    """How many consecutive rows are worth one independent row; about 1 for independent rows.

    It is the integrated autocorrelation time ``1 + 2 sum_k rho_k`` of the ranks of the column that
    remembers longest. A detector can depend on that column alone. The sum is cut off at five times
    its value (Sokal).

    >>> rng = np.random.default_rng(0)
    >>> bool(memory(rng.normal(size=(4000, 2))) < 1.2)
    True
    """
    times = [_integrated_time(rho) for rho in _autocorrelations(rows)]
    return max(1.0, *times) if times else 1.0


def relatedness(rows: FloatArray, below: float = 0.2) -> int:
    """First lag at which the mean autocorrelation of the columns' ranks is small.

    >>> relatedness(np.random.default_rng(0).normal(size=(1000, 2)))
    1
    """
    autocorrelations = _autocorrelations(rows)
    if not autocorrelations:
        return 1
    mean = np.mean(autocorrelations, axis=0)
    is_small = mean < below
    return int(is_small.argmax()) if is_small.any() else len(mean)


def _autocorrelations(rows: FloatArray) -> list[FloatArray]:
    """Autocorrelation of the ranks of each column that varies."""
    values = centered_ranks(_without_clocks(rows[:_MAX_ROWS_FOR_MEMORY]))
    return [autocorrelation(column) for column in values.T]


def _without_clocks(rows: FloatArray) -> FloatArray:
    """The columns that vary, but for those that never fall or never rise, if others vary.

    A time stamp or a number of rows says nothing about the dependence of the other columns.
    """
    steps = np.diff(rows, axis=0)
    varies = (steps != 0.0).any(axis=0)
    is_clock = (steps >= 0.0).all(axis=0) | (steps <= 0.0).all(axis=0)
    is_kept = varies & ~is_clock
    return rows[:, is_kept if is_kept.any() else varies]


def _integrated_time(rho: FloatArray) -> float:
    times = 2.0 * np.cumsum(rho) - 1.0
    is_long_enough = np.arange(len(times)) >= 5.0 * times
    return float(times[is_long_enough.argmax() if is_long_enough.any() else -1])


def centered_ranks(rows: FloatArray) -> FloatArray:
    """Rank of each value in its column, as a share, minus a half."""
    return np.asarray((rankdata(rows, axis=0) - 0.5) / len(rows) - 0.5)


def autocorrelation(values: FloatArray) -> FloatArray:
    """Autocorrelation of values that vary, at the lags 0, 1, ..., n - 1."""
    n = len(values)
    spectrum = np.fft.rfft(values - values.mean(), 2 * n)
    products = np.fft.irfft(np.abs(spectrum) ** 2, 2 * n)[:n]
    return np.asarray(products / products[0])


def _tested(n: int) -> slice | np.ndarray[tuple[int], np.dtype[np.intp]]:
    """Rows to test: all, or stretches that are spread evenly."""
    if n <= _N_STRETCHES * _STRETCH:
        return slice(None)
    starts = np.linspace(0, n - _STRETCH, _N_STRETCHES).astype(np.intp)
    return (starts[:, None] + np.arange(_STRETCH)).reshape(-1)


def _block_means(values: FloatArray, length: int) -> FloatArray:
    n_blocks = len(values) // length
    means = values[: n_blocks * length].reshape(n_blocks, length, -1).mean(axis=1)
    return np.asarray(means - means.mean(axis=0))


def _neighbors_p_value(values: FloatArray) -> float:
    """Two-sided p-value of the products of neighbors, by the law over all orders of the rows."""
    n = len(values)
    skewness = _skewness_of_products(values)
    is_tested = skewness <= _MAX_SKEWNESS
    if not is_tested.any():
        return 1.0
    values = values[:, is_tested]
    covariance = values.T @ values / n
    total = float((values[:-1] * values[1:]).sum())
    mean = -float(np.trace(covariance))  # n - 1 products, each -trace / (n - 1) in the mean
    z = (total - mean) / np.sqrt((n - 1) * (covariance**2).sum())
    # A sum of columns is less skewed than that of the most skewed one. A gamma law has this
    # skewness (Pearson III); the limit 1e-3 makes it normal.
    shape = (2.0 / max(float(skewness[is_tested].max()), 1e-3)) ** 2
    at = max(shape + z * np.sqrt(shape), 0.0)
    return float(min(1.0, 2.0 * min(gammainc(shape, at), gammaincc(shape, at))))


def _skewness_of_products(values: FloatArray) -> FloatArray:
    """Skewness of the sum of products of neighbors, for each column; infinite without variance.

    The products ``u v`` of independent values have the third moment ``(E u^3)^2``.
    """
    variance = (values**2).mean(axis=0)
    varies = variance > 1e-12
    third = (values**3).mean(axis=0) / np.where(varies, variance, 1.0) ** 1.5
    return np.where(varies, third**2 / np.sqrt(len(values)), np.inf)
