"""Ranks among all scores so far, in bounded memory: counts of rounded scores.

A score is kept as an integer *key*: the bits of the float, in an order that is the order of the
floats, without the lowest ones. As long as there are few distinct scores, no bit is dropped.
"""

from dataclasses import dataclass, field
from math import isqrt
from typing import Final, Self

import numpy as np

from rankad._compiled import compiled
from rankad._typing import FloatArray, IntArray

#: Largest number of keys to keep, by default: with their counts, 1.5 MB. And the fewest to allow.
#: With these, not more than the 52 bits of the fraction are ever dropped.
MAX_KEYS: Final = 2**16
MIN_KEYS: Final = 2**13

_MAGNITUDE: Final = np.int64(2**63 - 1)


def keys_of(scores: FloatArray) -> IntArray:
    """Integers in the order of the scores, and equal where these are equal.

    >>> keys_of(np.array([-1.0, -0.0, 0.0, 1.0])) // 2**52
    array([-1024,     0,     0,  1023])
    """
    bits = (scores + 0.0).view(np.int64)  # -0.0 becomes 0.0
    return np.asarray(np.where(bits < 0, bits ^ _MAGNITUDE, bits))


def scores_of(keys: IntArray, n_dropped: int) -> FloatArray:
    """The score next to zero of each key that has lost ``n_dropped`` bits.

    >>> scores_of(keys_of(np.array([-1.75, 1.75])) >> 51, n_dropped=51)
    array([-1.5,  1.5])
    """
    lowest = keys << n_dropped
    bits = np.where(keys < 0, (lowest | ((1 << n_dropped) - 1)) ^ _MAGNITUDE, lowest)
    return np.asarray(bits.view(np.float64))


@dataclass
class OnlineRanks:
    """Counts the scores so far that are below a new score, or equal to it. Then it joins them.

    At most `max_keys` different scores are kept apart. Where there are more, all scores lose bits
    until no more are left. The bits to keep are a symmetric function of all scores so far, the new
    one included. So under exchangeability the rank of the new score, ties broken at random, is
    uniform and independent of earlier ranks, whatever bits are dropped.

    Parameters
    ----------
    max_keys : int, default=65536
        Largest number of different rounded scores, at least 4.
    n_dropped : int, default=0
        Number of bits that the scores have lost.
    keys : array of int64
        The different rounded scores, ascending.
    counts : array of int64
        How many scores each key stands for.
    """

    max_keys: int = MAX_KEYS
    n_dropped: int = 0
    keys: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    counts: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    def __post_init__(self) -> None:
        self._sums: IntArray
        self._recent_keys: IntArray
        self._recent_counts: IntArray
        self._n_recent: int
        self._begin_recent()

    @classmethod
    def of(cls, scores: FloatArray, max_keys: int = MAX_KEYS, n_dropped: int = 0) -> Self:
        """Ranks among these scores and all later ones, where all lose at least so many bits."""
        keys, counts = np.unique(keys_of(scores) >> n_dropped, return_counts=True)
        ranks = cls(max_keys, n_dropped, keys=keys, counts=counts.astype(np.int64))
        ranks._drop_bits(ranks.keys[:0])
        ranks._begin_recent()
        return ranks

    def take(self, scores: FloatArray) -> tuple[IntArray, IntArray]:
        """How many scores so far are below each score, and how many equal it, itself included."""
        bits = (scores + 0.0).view(np.int64)  # -0.0 becomes 0.0
        below, equal = np.empty_like(bits), np.empty_like(bits)
        n_done = self._count_in(bits, below, equal)
        while n_done < len(bits):
            self._make_room(keys_of(scores[n_done : n_done + 1]))
            n_done += self._count_in(bits[n_done:], below[n_done:], equal[n_done:])
        return below, equal

    def _count_in(self, bits: IntArray, below: IntArray, equal: IntArray) -> int:
        n_taken, self._n_recent = _count(
            self.keys,
            self.counts,
            self._sums,
            self._recent_keys,
            self._recent_counts,
            self._n_recent,
            self.max_keys,
            self.n_dropped,
            bits,
            below,
            equal,
        )
        return n_taken

    def merged(self) -> Self:
        """The same with all keys in order, as a saved state needs them."""
        self._merge()
        self._begin_recent()
        return self

    def _make_room(self, next_key: IntArray) -> None:
        self._merge()
        self._drop_bits(next_key)
        self._begin_recent()

    def _merge(self) -> None:
        recent = self._recent_keys[: self._n_recent]
        at = np.searchsorted(self.keys, recent)
        self.keys = np.insert(self.keys, at, recent)
        self.counts = np.insert(self.counts, at, self._recent_counts[: self._n_recent])

    def _drop_bits(self, next_key: IntArray) -> None:
        """Drop bits until the keys, with the one that comes next, are few enough."""
        while len(self.keys) + self._n_missing(next_key >> self.n_dropped) > self.max_keys:
            self.n_dropped += 1
            rounded = self.keys >> 1
            starts = np.flatnonzero(np.diff(rounded, prepend=rounded[0] - 1))
            self.keys, self.counts = rounded[starts], np.add.reduceat(self.counts, starts)

    def _n_missing(self, next_key: IntArray) -> int:
        at = np.searchsorted(self.keys, next_key)
        return int((self.keys.take(at, mode="clip") != next_key).sum()) if len(self.keys) else 1

    def _begin_recent(self) -> None:
        """Keep new keys in a short list beside the others, until it is full.

        A list of about the square root of the others is short to insert into, and long enough that
        copying the others once per list costs each score little.
        """
        self._n_recent = 0
        n_keys = len(self.keys)
        self._sums = _partial_sums(self.counts)
        self._recent_keys = np.empty(64 + isqrt(n_keys), dtype=np.int64)
        self._recent_counts = np.empty_like(self._recent_keys)


def _partial_sums(counts: IntArray) -> IntArray:
    """Fenwick tree: entry i is the sum of the ``i & -i`` counts that end at the i-th.

    >>> _partial_sums(np.array([1, 2, 3, 4]))
    array([ 0,  1,  3,  3, 10])
    """
    totals = np.concatenate([[0], np.cumsum(counts)])
    ends = np.arange(len(totals))
    return np.asarray(totals - totals[ends - (ends & -ends)])


@compiled
def _count(
    keys: IntArray,
    counts: IntArray,
    sums: IntArray,
    recent_keys: IntArray,
    recent_counts: IntArray,
    n_recent: int,
    max_keys: int,
    n_dropped: int,
    bits: IntArray,
    below: IntArray,
    equal: IntArray,
) -> tuple[int, int]:
    """Rank scores until there is no room for one. Returns how many, and the number of recent keys.

    ``bits`` are those of the scores, as integers. They become keys as in `keys_of`.
    """
    for i in range(len(bits)):
        key = (bits[i] if bits[i] >= 0 else bits[i] ^ _MAGNITUDE) >> n_dropped
        at = np.searchsorted(keys, key)
        recent_at = np.searchsorted(recent_keys[:n_recent], key)
        is_old = at < len(keys) and keys[at] == key
        is_recent = recent_at < n_recent and recent_keys[recent_at] == key
        if not (is_old or is_recent):
            if n_recent == len(recent_keys) or len(keys) + n_recent >= max_keys:
                return i, n_recent
            for j in range(n_recent, recent_at, -1):
                recent_keys[j] = recent_keys[j - 1]
                recent_counts[j] = recent_counts[j - 1]
            recent_keys[recent_at], recent_counts[recent_at] = key, 0
            n_recent += 1
        n_below = 0
        for j in range(recent_at):
            n_below += recent_counts[j]
        node = at
        while node > 0:
            n_below += sums[node]
            node -= node & -node
        if is_old:
            counts[at] += 1
            node = at + 1
            while node < len(sums):
                sums[node] += 1
                node += node & -node
        else:
            recent_counts[recent_at] += 1
        below[i] = n_below
        equal[i] = counts[at] if is_old else recent_counts[recent_at]
    return len(bits), n_recent
