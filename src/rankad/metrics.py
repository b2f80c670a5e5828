"""Measures of a scoring function."""

import numpy as np

from rankad._typing import FloatArray, IntArray


def pairwise_disagreement(scores: FloatArray, levels: IntArray, anchor: float = 0.0) -> float:
    """Fraction of preference pairs that the scores order wrongly, eq. (8) with equal weights.

    A pair ``level_i > level_j`` counts 1 where ``scores_i < scores_j`` and 1/2 where they tie, so
    that a constant score disagrees by exactly 1/2. With ``anchor``, each point is also paired with
    a point at infinity of score 0; those pairs weigh ``anchor`` times all others together. Without
    any pairs, nothing is known: 1/2.

    >>> pairwise_disagreement(np.array([0.1, 0.9, 0.5]), np.array([1, 2, 3]))
    0.3333333333333333
    """
    wrong, n_pairs = 0.0, 0
    for level in np.unique(levels)[1:]:
        upper, lower = scores[levels == level], np.sort(scores[levels < level])
        n_below = np.searchsorted(lower, upper, side="left")
        n_not_above = np.searchsorted(lower, upper, side="right")
        wrong += (lower.size - 0.5 * (n_below + n_not_above)).sum()
        n_pairs += upper.size * lower.size
    if n_pairs == 0:
        return 0.5
    below_infinity = np.mean((scores < 0.0) + 0.5 * (scores == 0.0))
    return float((wrong / n_pairs + anchor * below_infinity) / (1.0 + anchor))
