"""Ranks of a statistic, and the few levels they are quantized to (Remark 1 of the paper)."""

import numpy as np

from rankad._typing import FloatArray, IntArray
from rankad.exceptions import NoPairsError


def ranks(statistic: FloatArray) -> FloatArray:
    """Fraction of points at most as nominal as each, eq. (6): ``r_i = #{j : G_j <= G_i} / n``.

    >>> ranks(np.array([-0.2, -0.9, -0.5, -0.9]))
    array([1.  , 0.5 , 0.75, 0.5 ])
    """
    return _rank_counts(statistic) / statistic.size


def quantized_levels(statistic: FloatArray, n_levels: int) -> IntArray:
    """Level ``ceil(m r_i)`` of each point's rank, from 1 (least nominal) to ``n_levels``.

    Equal statistics share a rank and so a level; ties can therefore leave levels unequal or empty.

    >>> quantized_levels(np.array([-0.2, -0.9, -0.5, -0.9]), 3)
    array([3, 2, 3, 2])
    """
    # In integers: m * (count / n) rounds up across a level's edge for some n.
    return -(-n_levels * _rank_counts(statistic) // statistic.size)


def count_pairs(levels: IntArray) -> int:
    """Number of preference pairs ``(i, j)`` with ``level_i > level_j``.

    >>> count_pairs(np.array([1, 1, 2, 3]))
    5
    """
    sizes = np.unique(levels, return_counts=True)[1]
    return int(levels.size**2 - (sizes**2).sum()) // 2


def require_pairs(statistic: FloatArray, levels: IntArray) -> None:
    """Raise `NoPairsError`, saying why, where all points share one level."""
    if np.ptp(levels) > 0:
        return
    n_values = np.unique(statistic).size
    if n_values == 1:
        reason = f"the statistic is {statistic[0]:.6g} for every one of them"
        advice = "Are the rows all equal, or evenly spaced? More, or more varied, rows are needed."
    else:
        reason = f"their {n_values} distinct statistics all fall into one level"
        advice = "Raise n_levels, or train on more rows: ties may not be split between levels."
    raise NoPairsError(
        f"No preference pairs among the {levels.size} training points: {reason}. {advice}"
    )


def _rank_counts(statistic: FloatArray) -> IntArray:
    return np.searchsorted(np.sort(statistic), statistic, side="right")
