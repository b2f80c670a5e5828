"""Measures of a scoring function."""

import numpy as np

from rankad._compiled import compiled
from rankad._typing import FloatArray, IntArray
from rankad.preferences import Preferences


def pairwise_disagreement(scores: FloatArray, preferences: Preferences) -> float:
    """Weighted share of preference pairs that the scores order wrongly, eq. (8).

    A pair counts 1 where the preferred point scores lower and 1/2 where both score the same, so
    that a constant score disagrees by exactly 1/2. Without any pairs nothing is known: 1/2.

    >>> from rankad.preferences import level_preferences
    >>> pairwise_disagreement(np.array([0.1, 0.9, 0.5]), level_preferences(np.array([1, 2, 3])))
    0.3333333333333333
    """
    if preferences.total_weight == 0.0:
        return 0.5
    wrong = _wrong_pairs(
        np.asarray(scores, dtype=np.float64),
        preferences.upper.points,
        preferences.upper.starts,
        preferences.lower.points,
        preferences.lower.starts,
        preferences.weights,
    )
    return float(wrong / preferences.total_weight)


@compiled
def _wrong_pairs(
    scores: FloatArray,
    upper: IntArray,
    upper_starts: IntArray,
    lower: IntArray,
    lower_starts: IntArray,
    weights: FloatArray,
) -> float:
    wrong = 0.0
    for block in range(weights.size):
        above = scores[upper[upper_starts[block] : upper_starts[block + 1]]]
        below = np.sort(scores[lower[lower_starts[block] : lower_starts[block + 1]]])
        for score in above:
            n_less = np.searchsorted(below, score, side="left")
            n_at_most = np.searchsorted(below, score, side="right")
            wrong += weights[block] * (below.size - 0.5 * (n_less + n_at_most))
    return wrong
