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
from scipy.stats import binom, chi2

from rankad._typing import FloatArray, IntArray

HashArray = NDArray[np.uint64]

#: Probability that `copied_times` calls independent draws copies.
COPIES_LEVEL: Final = 0.001

#: Probability that `KnownRows.match` reports independent draws.
_MATCH_LEVEL: Final = 1e-4

#: Number of hashes that `KnownRows` keeps: 160 kilobytes with their counts.
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
    hashes = np.full(len(rows), _MULTIPLIER)  # not 0, which a row of zeros would keep
    for start in range(0, len(rows), _CHUNK):  # a chunk stays in the cache
        chunk = hashes[start : start + _CHUNK]
        for column in rows[start : start + _CHUNK].T:
            chunk ^= np.ascontiguousarray(column + 0.0).view(np.uint64)  # -0.0 becomes 0.0
            chunk *= _MULTIPLIER
            chunk ^= chunk >> np.uint64(29)
            chunk *= _MULTIPLIER
            chunk ^= chunk >> np.uint64(32)
    return hashes


def group_hashes(hashes: HashArray, codes: IntArray) -> HashArray:
    """A number of 64 bits for each group: equal for groups of equal rows, in any order.

    >>> hashes = np.array([7, 3, 5, 3, 7], dtype=np.uint64)
    >>> groups = group_hashes(hashes, np.array([0, 0, 1, 2, 2]))
    >>> bool(groups[0] == groups[2]), bool(groups[0] == groups[1])
    (True, False)
    """
    sums = np.bincount(codes).astype(np.uint64)  # groups of different sizes differ
    np.add.at(sums, codes, hashes)
    return sums


def copied_times(multiplicities: IntArray) -> int:
    """How often a row was copied, if the multiplicities contradict independent draws; else 1.

    Parameters
    ----------
    multiplicities : array of int, shape (n_distinct,)
        How often each distinct row occurs.

    Returns
    -------
    times : int
        The lowest multiplicity that is too frequent. For independent draws it is 1 with a
        probability of at least 1 - `COPIES_LEVEL`.

    Examples
    --------
    >>> copied_times(np.full(500, 2)), copied_times(np.ones(500, dtype=int))
    (2, 1)
    >>> draws = np.random.default_rng(0).poisson(2.0, size=1000)
    >>> copied_times(np.unique(draws, return_counts=True)[1])
    1
    """
    counts = np.bincount(multiplicities)
    if len(counts) < 3:  # no row occurs twice
        return 1
    f = np.append(counts, 0).astype(np.float64)
    k = np.arange(2, len(counts))
    # The limits of all k hold together with the probability 1 - COPIES_LEVEL: the shares
    # 1 / (k (k - 1)) sum to 1. An f_k is a sum of nearly independent indicators, so it varies at
    # most as a Poisson count does.
    miss = COPIES_LEVEL / (3.0 * k * (k - 1.0))
    low_k = chi2.ppf(miss, 2.0 * f[k]) / 2.0
    high_before = chi2.isf(miss, 2.0 * (f[k - 1] + 1.0)) / 2.0
    high_after = chi2.isf(miss, 2.0 * (f[k + 1] + 1.0)) / 2.0
    n = multiplicities.sum()
    # For n draws, not a Poisson number of them, m_k has a factor that matters for k near n.
    factor = k / (k + 1.0) * (n - k) / (n - k + 1.0)
    is_violated = high_after * high_before < factor * np.nan_to_num(low_k) ** 2
    return int(k[is_violated.argmax()]) if is_violated.any() else 1


@dataclass(frozen=True, eq=False)
class KnownRows:
    """A small memory of rows: it tells whether other rows are mostly the same ones.

    It keeps the rows with the lowest hashes. They are a random sample, and the same one for other
    rows.

    Parameters
    ----------
    hashes : array of uint64
        The lowest hashes, ascending.
    counts : array of int
        How often each of these rows was drawn.
    limit : int
        Only rows with a hash up to this one can be looked up.

    Examples
    --------
    >>> rows = np.random.default_rng(0).normal(size=(500, 2))
    >>> known = KnownRows.from_hashes(row_hashes(rows))
    >>> known.match(row_hashes(rows[:20])), known.match(row_hashes(rows + 1.0))
    (1.0, 0.0)
    """

    hashes: HashArray
    counts: IntArray
    limit: int

    @classmethod
    def from_hashes(cls, hashes: HashArray, counts: IntArray | None = None) -> Self:
        """Memory of rows with these hashes, and how often each was drawn: by default once."""
        start = cls(hashes[:0], np.empty(0, dtype=np.int64), int(np.iinfo(np.uint64).max))
        return start.extended(hashes, counts)

    def extended(self, hashes: HashArray, counts: IntArray | None = None) -> Self:
        """Memory of these rows and of others."""
        counts = np.ones(len(hashes), dtype=np.int64) if counts is None else counts
        merged, drawn = np.append(self.hashes, hashes), np.append(self.counts, counts)
        lowest = np.unique(merged)[: _MAX_KNOWN + 1]
        limit = self.limit
        if len(lowest) > _MAX_KNOWN:
            limit = min(limit, int(lowest[_MAX_KNOWN - 1]))
        is_low = merged <= np.uint64(limit)
        kept, numbers = np.unique(merged[is_low], return_inverse=True)
        sums = np.bincount(numbers, weights=drawn[is_low], minlength=len(kept))
        return type(self)(kept, sums.astype(np.int64), limit)

    def match(self, hashes: HashArray) -> float:
        """Share of the rows that are known, or 0 if chance can explain it."""
        sought = hashes[hashes <= np.uint64(self.limit)]
        # By sorting: the table that NumPy 2.0 may choose overflows for large unsigned numbers.
        n_known = int(np.isin(sought, self.hashes, kind="sort").sum())
        if n_known == 0:
            return 0.0
        p = binom.sf(n_known - 1, len(sought), self.share_by_chance())
        return n_known / len(sought) if p <= _MATCH_LEVEL / 2.0 else 0.0

    def share_by_chance(self) -> float:
        """Upper limit of the probability that an independent draw is a known row.

        The estimate of Good and Turing is the share of the draws that are not single. Its variance
        is at most that of pairs, which come as a Poisson number.
        """
        n_repeated = float(self.counts[self.counts > 1].sum())
        n_at_most = chi2.isf(_MATCH_LEVEL / 2.0, n_repeated + 2.0)
        return float(min(1.0, n_at_most / max(self.counts.sum(), 1)))
