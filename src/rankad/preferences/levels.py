"""Ranks of a statistic, and the few levels they are quantized to (Remark 1 of the paper)."""

from math import ceil

import numpy as np

from rankad._typing import FloatArray, IntArray

#: Share of the points in the tail.
TAIL_SHARE = 0.1


def ranks(statistic: FloatArray) -> FloatArray:
    """Fraction of points at most as nominal as each, eq. (6): ``r_i = #{j : G_j <= G_i} / n``.

    >>> ranks(np.array([-0.2, -0.9, -0.5, -0.9]))
    array([1.  , 0.5 , 0.75, 0.5 ])
    """
    return rank_counts(statistic) / statistic.size


def quantized_levels(statistic: FloatArray, n_levels: int) -> IntArray:
    """Level ``ceil(m r_i)`` of each point's rank, from 1 (least nominal) to ``n_levels``.

    Equal statistics share a rank and so a level; ties can therefore leave levels unequal or empty.

    >>> quantized_levels(np.array([-0.2, -0.9, -0.5, -0.9]), 3)
    array([3, 2, 3, 2])
    """
    # In integers: m * (count / n) rounds up across a level's edge for some n.
    return -(-n_levels * rank_counts(statistic) // statistic.size)


def tail_levels(statistic: FloatArray, share: float = TAIL_SHARE) -> IntArray:
    """Two levels: 1 for the least nominal ``share`` of the points, 2 for all others.

    Alarms are decided in the tail, so that is where the order of the points matters. Equal
    statistics share a level, so with ties the tail may hold fewer points; or more, where they tie
    at the bottom.

    >>> tail_levels(np.array([-0.2, -0.9, -0.5, -0.9]))
    array([2, 1, 2, 1])
    """
    counts = rank_counts(statistic)
    n_in_tail = max(ceil(share * statistic.size), counts.min(initial=statistic.size))
    return np.where(counts <= n_in_tail, 1, 2)


def rank_counts(statistic: FloatArray) -> IntArray:
    """Number of points at most as nominal as each: n times its rank."""
    return np.searchsorted(np.sort(statistic), statistic, side="right")
