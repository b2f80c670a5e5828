"""Serial dependence of a stream of scores: a test for it, and how long its memory is."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil, sqrt
from typing import Final

import numpy as np
from scipy.signal import fftconvolve
from scipy.stats import norm, rankdata

from rankad._typing import FloatArray, IntArray

#: Consecutive scores whose order is tested together. A drift is slower than that.
WINDOW: Final = 32

#: Probability that a test calls independent scores dependent.
LEVEL: Final = 0.001

#: A block is this many times as long as the memory. With 8 the means of neighboring blocks of an
#: AR(1) stream correlate by .03, which moves no bet.
MEMORIES_PER_BLOCK: Final = 8


@dataclass(frozen=True)
class SerialTest:
    """Bartels' rank test of serial dependence (1982), summed over windows of 32 scores.

    The ratio of von Neumann compares each rank of a window with the next. If the scores of each
    window are exchangeable, its mean is 2 and its variance is known. Scores that only drift from
    window to window pass the test, and scores that depend on the ones just before do not. The
    evidence is one-sided: neighbors that are alike.

    Parameters
    ----------
    n_windows : int
        Windows so far.
    total : float
        Sum of 2 minus the ratio, over the windows.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> bool(SerialTest().after(rng.normal(size=1000)).z < 3)
    True
    >>> bool(SerialTest().after(rng.normal(size=1000).cumsum()).z > 10)
    True
    """

    n_windows: int = 0
    total: float = 0.0

    def after(self, scores: FloatArray) -> "SerialTest":
        """The test after more windows. Scores after the last whole window do not count."""
        n_windows = len(scores) // WINDOW
        windows = scores[: n_windows * WINDOW].reshape(n_windows, WINDOW)
        total = self.total
        for excess in _excess(windows).tolist():
            total += excess  # one by one, so that the sum is the same however the scores come
        return SerialTest(self.n_windows + n_windows, total)

    @property
    def z(self) -> float:
        """Evidence of dependence, about standard normal without it. It is 0 at the start."""
        return self.total / sqrt(max(self.n_windows, 1) * _VARIANCE)

    @property
    def is_dependent(self) -> bool:
        """Whether the evidence is enough, at the k-th doubling of the scores.

        The levels of all doublings together are `LEVEL`.
        """
        doubling = max(1, (self.n_windows // 2).bit_length() - 1)
        return self.z > float(norm.isf(LEVEL * 0.5**doubling))

    @property
    def next_check(self) -> int:
        """Number of windows at the next check: 4, 8, 16, and so on."""
        return 4 << (self.n_windows // 4).bit_length()


def _excess(windows: FloatArray) -> FloatArray:
    """2 minus the ratio of von Neumann of the ranks of each row; 0 if all are tied."""
    ranks = rankdata(windows, axis=1)
    spread = ((ranks - (WINDOW + 1) / 2.0) ** 2).sum(axis=1)
    jumps = (np.diff(ranks, axis=1) ** 2).sum(axis=1)
    return np.asarray(
        2.0 - np.divide(jumps, spread, out=np.full(len(ranks), 2.0), where=spread > 0)
    )


#: Variance of the ratio (Bartels 1982), for n = 32 scores without ties.
_VARIANCE: Final = (
    4.0 * (WINDOW - 2) * (5 * WINDOW**2 - 2 * WINDOW - 9) / (5 * WINDOW * (WINDOW + 1))
) / (WINDOW - 1) ** 2


def runs_of(in_order: FloatArray, run_starts: IntArray) -> Iterator[FloatArray]:
    """The runs of consecutive scores."""
    return iter(np.split(in_order, run_starts[run_starts > 0]))


def block_length(in_order: FloatArray, run_starts: IntArray) -> int:
    """Length of the blocks of a stream whose summaries are nearly independent, at least 8.

    It is eight times the memory: one plus twice the sum of the autocorrelations of the ranks, up to
    the lag that is five times as long as the memory so far (Sokal's window). That misses a slow
    cycle under strong noise. So sums up to the lags 1, 2, 4, ... count too, less their standard
    error.

    >>> rng = np.random.default_rng(0)
    >>> smooth = np.convolve(rng.normal(size=5009), np.ones(10), mode="valid")  # memory 10
    >>> block_length(smooth, np.array([0]))
    98
    """
    memory = 1.0 + 2.0 * np.cumsum(autocorrelations(in_order, run_starts))
    is_enough = np.arange(1, len(memory) + 1) >= 5.0 * memory
    at = int(is_enough.argmax()) if is_enough.any() else len(memory) - 1
    lags = 2 ** np.arange(len(memory).bit_length())
    errors = np.sqrt(2.0 * (2.0 * lags + 1.0) / len(in_order))  # relative, by Bartlett
    longest = max(1.0, float(memory[at]), float((memory[lags - 1] * (1.0 - errors)).max()))
    return ceil(MEMORIES_PER_BLOCK * longest)


def is_serially_dependent(in_order: FloatArray, run_starts: IntArray) -> bool:
    """Whether a sum of the first 1, 2, 4, ... autocorrelations is too large for independence.

    The test calls about `LEVEL` of independent sequences dependent.

    >>> rng = np.random.default_rng(0)
    >>> noise = rng.normal(size=2000)
    >>> [is_serially_dependent(noise + cycle, np.array([0])) for cycle in
    ...  (0.0, np.sin(np.arange(2000) / 50))]
    [False, True]
    """
    correlations = autocorrelations(in_order, run_starts)
    lags = 2 ** np.arange((len(correlations) // 4).bit_length() or 1)
    z = np.cumsum(correlations)[lags - 1] * np.sqrt(len(in_order) / lags)
    return bool(z.max() > norm.isf(LEVEL / len(z)))


def autocorrelations(in_order: FloatArray, run_starts: IntArray) -> FloatArray:
    """Autocorrelations of the ranks within runs, at the lags 1, 2, ..., up to a quarter of all."""
    centered = rankdata(in_order) - (len(in_order) + 1) / 2.0
    n_lags = max(1, len(in_order) // 4)
    sums = np.zeros(n_lags + 1)
    for run in runs_of(centered, run_starts):
        products = fftconvolve(run, run[::-1])[len(run) - 1 :][: n_lags + 1]
        sums[: len(products)] += products
    return np.asarray(sums[1:] / max(sums[0], 1e-300))
