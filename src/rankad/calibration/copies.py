"""Copies of rows: how often each row occurs, and whether independent draws can explain it.

Equal rows are no fault by themselves: counts and codes repeat. Let ``f_k`` be the number of
distinct rows that occur k times, and ``m_k = k! E f_k``. If the rows are independent draws, then
``m_k = sum_i lambda_i^k exp(-lambda_i)`` over the possible rows i with ``lambda_i`` expected
occurrences. So the ``m_k`` are moments, and by the inequality of Cauchy and Schwarz

    ``m_k^2 <= m_(k-1) m_(k+1)``, which is ``E f_(k+1) >= k / (k + 1) (E f_k)^2 / E f_(k-1)``.

A table with every row twice has many pairs, but neither single rows nor triples. That contradicts
independent draws.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest, chi2

from rankad._typing import FloatArray, IntArray

HashArray = NDArray[np.uint64]

#: Probability that `has_copies` calls independent draws copies.
COPIES_LEVEL: Final = 0.001

#: Probability that `KnownRows.match` reports new rows.
_MATCH_LEVEL: Final = 1e-6

#: Number of hashes that `KnownRows` keeps: 80 kilobytes.
_MAX_KNOWN = 10_000

#: Number of rows that are hashed together.
_CHUNK = 8192

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


def row_hashes(rows: FloatArray) -> HashArray:
    """A number of 64 bits for each row, the same for equal rows and on every machine.

    >>> hashes = row_hashes(np.array([[0.0, 1.0], [1.0, 0.0], [-0.0, 1.0]]))
    >>> bool(hashes[0] == hashes[2]), bool(hashes[0] == hashes[1])
    (True, False)
    """
    hashes = np.zeros(len(rows), dtype=np.uint64)
    for start in range(0, len(rows), _CHUNK):  # a chunk stays in the cache
        chunk = hashes[start : start + _CHUNK]
        for column in rows[start : start + _CHUNK].T:
            chunk ^= np.ascontiguousarray(column + 0.0).view(np.uint64)  # -0.0 becomes 0.0
            chunk *= _MULTIPLIER
            chunk ^= chunk >> np.uint64(29)
            chunk *= _MULTIPLIER
            chunk ^= chunk >> np.uint64(32)
    return hashes


def first_occurrences(hashes: HashArray) -> IntArray:
    """Position of the first row of each distinct row, ascending.

    >>> first_occurrences(np.array([7, 3, 7, 3, 5], dtype=np.uint64))
    array([0, 1, 4])
    """
    return np.sort(np.unique(hashes, return_index=True)[1])


def has_copies(multiplicities: IntArray) -> bool:
    """Whether the multiplicities of the distinct rows contradict independent draws.

    Parameters
    ----------
    multiplicities : array of int, shape (n_distinct,)
        How often each distinct row occurs.

    Returns
    -------
    has_copies : bool
        For independent draws it is True with a probability of at most `COPIES_LEVEL`.

    Examples
    --------
    >>> bool(has_copies(np.full(500, 2))), bool(has_copies(np.ones(500, dtype=int)))
    (True, False)
    >>> draws = np.random.default_rng(0).poisson(2.0, size=1000)
    >>> bool(has_copies(np.unique(draws, return_counts=True)[1]))
    False
    """
    counts = np.bincount(multiplicities)
    if len(counts) < 3:  # no row occurs twice
        return False
    f = np.append(counts, 0).astype(np.float64)
    k = np.arange(2, len(counts))
    # Limits that all hold together with the probability 1 - COPIES_LEVEL. The f_k vary at most as
    # Poisson counts do, because the multiplicities are negatively associated.
    miss = COPIES_LEVEL / (3.0 * k.size)
    low_k = chi2.ppf(miss, 2.0 * f[k]) / 2.0
    high_before = chi2.isf(miss, 2.0 * (f[k - 1] + 1.0)) / 2.0
    high_after = chi2.isf(miss, 2.0 * (f[k + 1] + 1.0)) / 2.0
    return bool(np.any(high_after * high_before < k / (k + 1.0) * np.nan_to_num(low_k) ** 2))


def repeated_share(multiplicities: IntArray) -> float:
    """Estimated probability that a new row equals an old one (Good and Turing).

    >>> repeated_share(np.array([1, 1, 2]))
    0.5
    """
    return 1.0 - float((multiplicities == 1).sum()) / max(int(multiplicities.sum()), 1)


@dataclass(frozen=True, eq=False)
class KnownRows:
    """A small memory of rows: it tells whether other rows are mostly the same ones.

    It keeps the rows with the lowest hashes. They are a random sample, and the same one for other
    rows.

    Parameters
    ----------
    hashes : array of uint64
        The lowest hashes, ascending.
    limit : int
        Only rows with a hash up to this one can be looked up.
    repeated : float
        Share of rows that a new draw has in common with the known rows by chance (Good and Turing).

    Examples
    --------
    >>> rows = np.random.default_rng(0).normal(size=(500, 2))
    >>> known = KnownRows.from_hashes(row_hashes(rows))
    >>> known.match(row_hashes(rows[:20])), known.match(row_hashes(rows + 1.0))
    (1.0, 0.0)
    """

    hashes: HashArray
    limit: int
    repeated: float

    @classmethod
    def from_hashes(cls, hashes: HashArray, repeated: float | None = None) -> Self:
        """Memory of rows with these hashes. By default ``repeated`` is that of these rows."""
        if repeated is None:
            repeated = repeated_share(np.unique(hashes, return_counts=True)[1])
        n_sure = 2 * _MAX_KNOWN  # sorting so few is fast; they may hold repeated rows
        is_whole = len(hashes) <= n_sure
        lowest = np.unique(hashes if is_whole else np.partition(hashes, n_sure)[:n_sure])
        kept = lowest[:_MAX_KNOWN]
        knows_all = is_whole and len(kept) == len(lowest)
        return cls(kept, int(np.iinfo(np.uint64).max if knows_all else kept[-1]), repeated)

    def match(self, hashes: HashArray) -> float:
        """Share of the rows that are known, or 0 if chance can explain it."""
        sought = hashes[hashes <= np.uint64(self.limit)]
        n_known = int(np.isin(sought, self.hashes).sum())
        if n_known == 0:
            return 0.0
        test = binomtest(n_known, len(sought), self.repeated, alternative="greater")
        return n_known / len(sought) if test.pvalue <= _MATCH_LEVEL else 0.0

    def extended(self, hashes: HashArray) -> Self:
        """Memory of these rows and of others."""
        merged = np.union1d(self.hashes, hashes[hashes <= np.uint64(self.limit)])
        kept = merged[:_MAX_KNOWN]
        limit = self.limit if len(kept) == len(merged) else int(kept[-1])
        return type(self)(kept, limit, self.repeated)
