"""Ranks of a statistic, and the few levels they are quantized to (Remark 1 of the paper)."""

import numpy as np

from rankad._typing import FloatArray, IntArray


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


def rank_counts(statistic: FloatArray) -> IntArray:
    """Number of points at most as nominal as each: n times its rank."""
    return np.searchsorted(np.sort(statistic), statistic, side="right")
