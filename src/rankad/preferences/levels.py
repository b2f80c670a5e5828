"""Ranks of a statistic, and their quantization to a few levels (Remark 1 of the paper)."""

from math import ceil

import numpy as np

from rankad._typing import FloatArray, IntArray

#: Share of the points in the tail.
TAIL_SHARE = 0.1


def ranks(statistic: FloatArray) -> FloatArray:
    """Rank of each point, the share of points with at most its G, eq. (6).

    ``r_i = #{j : G_j <= G_i} / n``, and a higher rank is more nominal.

    >>> ranks(np.array([-0.2, -0.9, -0.5, -0.9]))
    array([1.  , 0.5 , 0.75, 0.5 ])
    """
    return rank_counts(statistic) / statistic.size


def quantized_levels(statistic: FloatArray, n_levels: int) -> IntArray:
    """Level ``ceil(m r_i)`` of each point's rank, from 1 (least nominal) to m = ``n_levels``.

    Equal values of the statistic get the same level. So with ties, levels may differ in size or be
    empty.

    >>> quantized_levels(np.array([-0.2, -0.9, -0.5, -0.9]), 3)
    array([3, 2, 3, 2])
    """
    # In integers, because for some n the float m * (count / n) rounds up into the next level.
    return -(-n_levels * rank_counts(statistic) // statistic.size)


def tail_levels(statistic: FloatArray, share: float = TAIL_SHARE) -> IntArray:
    """Two levels: 1 for the tail, the least nominal ``share`` of the points, 2 for all others.

    The order of the points matters most in the tail, because alarms are decided there. Equal values
    of the statistic get the same level. So with ties the tail may be smaller, or larger if the ties
    are at its bottom.

    >>> tail_levels(np.array([-0.2, -0.9, -0.5, -0.9]))
    array([2, 1, 2, 1])
    """
    counts = rank_counts(statistic)
    n_in_tail = max(ceil(share * statistic.size), counts.min(initial=statistic.size))
    return np.where(counts <= n_in_tail, 1, 2)


def rank_counts(statistic: FloatArray) -> IntArray:
    """For each point, the number of points at most as nominal: n times its rank."""
    return np.searchsorted(np.sort(statistic), statistic, side="right")
