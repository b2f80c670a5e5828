"""Preference pairs in blocks. In a block, each upper point is preferred to each lower point.

The pairs of m levels are m - 1 blocks. In each block one level is above all lower levels.

For pairs by rank or by a gap of ranks, the partners of a point are the first points in the order of
ranks. Their number is cut at its binary digits: each digit 1, of place k, is a run of 2^k points.
Points with the same run share a block. So the pairs of n points need blocks with O(n log n) members
in all, and a sweep that is linear in a block takes O(n log n) for all pairs.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log2

import numpy as np

from rankad._typing import FloatArray, IntArray
from rankad.exceptions import NoPairsError
from rankad.preferences.levels import rank_counts

#: Most levels with pair weights, because every two levels then need a block of their own.
_MAX_WEIGHTED_LEVELS = 100

#: Weight of a pair, given the level of the preferred point and that of the other point.
PairWeight = Callable[[int, int], float]


@dataclass(frozen=True, eq=False)
class Members:
    """The points of each block. Block b has ``points[starts[b]:starts[b + 1]]``."""

    points: IntArray
    starts: IntArray

    @classmethod
    def from_groups(cls, groups: list[IntArray]) -> "Members":
        """Members with one block for each group of points."""
        sizes = np.array([len(group) for group in groups], dtype=np.int64)
        points = np.concatenate([*groups, np.empty(0, dtype=np.int64)]).astype(np.int64)
        return cls(points, np.concatenate([[0], np.cumsum(sizes)]))

    @property
    def sizes(self) -> IntArray:
        """Number of members of each block."""
        return np.diff(self.starts)

    def among(self, new_index: IntArray) -> "Members":
        """Members with new indices of the points, without the points whose new index is -1."""
        index = new_index[self.points]
        is_kept = index >= 0
        n_kept_before = np.concatenate([[0], np.cumsum(is_kept)])
        return Members(index[is_kept], n_kept_before[self.starts])

    def transposed(self, n_points: int) -> "Members":
        """The blocks of each point, in place of the points of each block."""
        blocks = np.repeat(np.arange(len(self.sizes)), self.sizes)
        order = np.argsort(self.points, kind="stable")
        starts = np.searchsorted(self.points[order], np.arange(n_points + 1))
        return Members(blocks[order], starts)


@dataclass(frozen=True, eq=False)
class Preferences:
    """Pairs (i, j) of points 0..n-1, i preferred to j, as weighted blocks ``upper x lower``."""

    n: int
    upper: Members
    lower: Members
    weights: FloatArray

    @cached_property
    def memberships(self) -> tuple["Members", "Members"]:
        """The blocks in which each point is upper, and those in which it is lower."""
        return self.upper.transposed(self.n), self.lower.transposed(self.n)

    def among(self, points: IntArray) -> "Preferences":
        """The pairs within the given points, which get the indices 0, 1, ...

        >>> preferences = level_preferences(np.array([1, 3, 2, 1]))
        >>> preferences.among(np.array([1, 2])).total_weight
        1.0
        """
        new_index = np.full(self.n, -1)
        new_index[points] = np.arange(len(points))
        upper, lower = self.upper.among(new_index), self.lower.among(new_index)
        return Preferences(len(points), upper, lower, self.weights)

    @cached_property
    def total_weight(self) -> float:
        """Sum of the pairs' weights: the number of pairs |P| if all weights are 1."""
        return float(self.weights @ (self.upper.sizes * self.lower.sizes))


def level_preferences(levels: IntArray, weight: PairWeight | None = None) -> Preferences:
    """All pairs of different levels, the higher level preferred (Remark 1 of the paper).

    ``weight(a, b)`` is the weight of the pairs between levels a > b, eq. (8); by default 1.

    >>> level_preferences(np.array([1, 3, 2, 1])).total_weight
    5.0
    >>> level_preferences(np.array([1, 3, 2, 1]), weight=lambda a, b: a - b).total_weight
    7.0
    """
    values, compressed = np.unique(levels, return_inverse=True)
    points = [np.flatnonzero(compressed == index) for index in range(len(values))]
    if weight is not None:
        return _weighted_level_preferences(values.tolist(), points, weight)
    if len(values) > 2 + log2(levels.size):
        n_lower = np.searchsorted(np.sort(compressed), compressed, side="left")
        return _prefix_preferences(np.argsort(compressed, kind="stable"), n_lower)
    return _preferences(
        levels.size,
        [(points[index], np.concatenate(points[:index]), 1.0) for index in range(1, len(values))],
    )


def rank_gap_preferences(statistic: FloatArray, min_rank_gap: float) -> Preferences:
    """Pairs whose ranks, eq. (6), differ by at least ``min_rank_gap``: ``r_i - r_j >= tau``.

    >>> rank_gap_preferences(np.array([0.1, 0.4, 0.3, 0.2]), 0.5).total_weight
    3.0
    """
    counts = rank_counts(statistic)
    # In counts, and slightly below tau n, so that the rounding of tau does not drop a pair.
    largest_partner = counts - min_rank_gap * statistic.size * (1.0 - 1e-12)
    n_lower = np.searchsorted(np.sort(counts), largest_partner, side="right")
    return _prefix_preferences(np.argsort(counts, kind="stable"), n_lower)


def _weighted_level_preferences(
    values: list[int], points: Sequence[IntArray], weight: PairWeight
) -> Preferences:
    if len(values) > _MAX_WEIGHTED_LEVELS:
        raise ValueError(
            f"A weight needs a number of levels of at most {_MAX_WEIGHTED_LEVELS}; got "
            f"{len(values)}. Set levels to a smaller number, or leave out weight."
        )
    blocks = []
    for upper in range(1, len(values)):
        for lower in range(upper):
            pair_weight = float(weight(values[upper], values[lower]))
            if not 0.0 <= pair_weight < np.inf:
                raise ValueError(
                    f"The weight of pairs between levels {values[upper]} and {values[lower]} must "
                    f"be finite and not negative; got {pair_weight}. Change the function weight."
                )
            if pair_weight > 0.0:
                blocks.append((points[upper], points[lower], pair_weight))
    return _preferences(sum(map(len, points)), blocks)


def _prefix_preferences(order: IntArray, n_lower: IntArray) -> Preferences:
    """Preferences of each point i over the first ``n_lower[i]`` points of ``order``."""
    blocks = []
    for digit in range(int(n_lower.max(initial=0)).bit_length()):
        with_digit = np.flatnonzero((n_lower >> digit) & 1)
        starts = (n_lower[with_digit] >> (digit + 1)) << (digit + 1)
        by_start = np.argsort(starts, kind="stable")
        cuts, first = np.unique(starts[by_start], return_index=True)
        groups = np.split(with_digit[by_start], first[1:]) if cuts.size else []
        for cut, upper in zip(cuts, groups, strict=True):
            blocks.append((upper, order[cut : cut + (1 << digit)], 1.0))
    return _preferences(len(order), blocks)


def require_pairs(statistic: FloatArray, preferences: Preferences) -> None:
    """Raise `NoPairsError` with the reason if no point is preferred to another."""
    if preferences.total_weight > 0.0:
        return
    n_values = np.unique(statistic).size
    if n_values == 1:
        reason = f"the statistic is {statistic[0] + 0.0:.6g} for every one of them"
        advice = (
            "The rows may be all equal, or evenly spaced. Train on more rows, or on more varied "
            "ones."
        )
        if statistic.size == 2:
            advice = (
                "Two rows are equally far from each other. Train on at least 3 rows: give more, or "
                "hold out fewer."
            )
        if statistic[0] == 0.0:
            advice = (
                "Are the rows all equal? Then train on more varied rows. Does each row have "
                "n_neighbors or more copies? Then raise n_neighbors above the number of copies."
            )
    else:
        reason = f"{n_values} distinct statistics are too few or too close for two levels"
        advice = (
            "Equal statistics always get the same level. Raise levels, lower min_gap, or train on "
            "more rows. The function weight must not be 0 for all pairs."
        )
    raise NoPairsError(
        f"No preference pairs among the {statistic.size} training points: {reason}. {advice}"
    )


def _preferences(n: int, blocks: Sequence[tuple[IntArray, IntArray, float]]) -> Preferences:
    return Preferences(
        n=n,
        upper=Members.from_groups([upper for upper, _, _ in blocks]),
        lower=Members.from_groups([lower for _, lower, _ in blocks]),
        weights=np.array([weight for _, _, weight in blocks], dtype=np.float64),
    )
