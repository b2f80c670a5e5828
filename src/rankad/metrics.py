"""Measures of a scoring function, whose higher scores are more nominal.

With labels (True or 1 = anomaly): `auc`, `partial_auc`, `average_precision`, `power`. With
preference pairs: ``pairwise_disagreement``. With nominal rows alone: `mass_volume_curve` and
`excess_mass_curve`, which measure how small the level sets of the score are for their mass.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import average_precision_score, roc_auc_score, roc_curve
from sklearn.utils import check_consistent_length, check_random_state

from rankad._compiled import compiled
from rankad._typing import FloatArray, IntArray
from rankad.preferences import Preferences

__all__ = [
    "auc",
    "average_precision",
    "excess_mass_curve",
    "mass_volume_curve",
    "partial_auc",
    "power",
]


def auc(is_anomaly: ArrayLike, scores: ArrayLike) -> float:
    """Probability that a nominal row scores higher than an anomaly; a tie counts one half.

    ``is_anomaly`` is True (or 1) for an anomaly.

    >>> auc([0, 0, 1, 1], [0.9, 0.5, 0.6, 0.1])
    0.75
    """
    return float(roc_auc_score(*_as_positives(is_anomaly, scores)))


def partial_auc(is_anomaly: ArrayLike, scores: ArrayLike, max_false_alarms: float = 0.1) -> float:
    """Mean power over the false-alarm rates from 0 to ``max_false_alarms``; 1 is perfect.

    ``is_anomaly`` is True (or 1) for an anomaly.

    >>> partial_auc([0, 0, 1, 1], [0.9, 0.5, 0.6, 0.1], max_false_alarms=0.5)
    0.5
    """
    if not 0.0 < max_false_alarms <= 1.0:
        raise ValueError(
            f"max_false_alarms={max_false_alarms} is not a rate: it must lie in (0, 1]."
        )
    false_alarms, power_there = _roc(is_anomaly, scores)
    n_inside = int(np.searchsorted(false_alarms, max_false_alarms, side="right"))
    at_end = power_there[n_inside - 1]
    if false_alarms[n_inside - 1] < max_false_alarms:
        around = slice(n_inside - 1, n_inside + 1)
        at_end = np.interp(max_false_alarms, false_alarms[around], power_there[around])
    area = np.trapezoid(
        np.append(power_there[:n_inside], at_end),
        np.append(false_alarms[:n_inside], max_false_alarms),
    )
    return float(area / max_false_alarms)


def average_precision(is_anomaly: ArrayLike, scores: ArrayLike) -> float:
    """Mean precision at the thresholds that just detect each anomaly.

    Precision is the share of anomalies among the alarms. ``is_anomaly`` is True (or 1) for an
    anomaly.

    >>> average_precision([0, 0, 1, 1], [0.9, 0.5, 0.6, 0.1])
    0.8333333333333333
    """
    return float(average_precision_score(*_as_positives(is_anomaly, scores)))


def power(is_anomaly: ArrayLike, scores: ArrayLike, false_alarms: float = 0.05) -> float:
    """Largest share of anomalies that alarm at a false-alarm rate of at most ``false_alarms``.

    ``is_anomaly`` is True (or 1) for an anomaly.

    >>> power([0, 0, 1, 1], [0.9, 0.5, 0.6, 0.1], false_alarms=0.05)
    0.5
    """
    if not 0.0 <= false_alarms <= 1.0:
        raise ValueError(f"false_alarms={false_alarms} is not a rate: it must lie in [0, 1].")
    rates, power_there = _roc(is_anomaly, scores)
    return float(power_there[rates <= false_alarms].max())


def pairwise_disagreement(scores: FloatArray, preferences: Preferences) -> float:
    """Weighted share of preference pairs that the scores order wrongly, eq. (8).

    A pair counts 1 if the preferred point scores lower, and 1/2 if both score the same. So the
    disagreement of a constant score is exactly 1/2. Without any pairs it is 1/2, too.

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


def mass_volume_curve(
    score: Callable[[FloatArray], FloatArray],
    X: ArrayLike,
    masses: ArrayLike,
    *,
    n_uniform: int = 100_000,
    random_state: int | np.random.RandomState | None = None,
) -> FloatArray:
    """Volume of the smallest level set that holds each mass of the data: smaller is better.

    The mass of a level set is the share of the rows in it. The volume is estimated from uniform
    points in the smallest box around the rows. Above about eight columns the estimate is useless,
    because all uniform points lie far from the rows.

    >>> X = np.random.default_rng(0).uniform(size=(1000, 2))
    >>> mass_volume_curve(lambda X: -X[:, 0], X, [0.25, 0.5], random_state=0).round(1)
    array([0.2, 0.5])
    """
    data_scores, uniform_scores, volume = _level_set_samples(score, X, n_uniform, random_state)
    # The highest threshold with at least that mass above it.
    n_inside = np.ceil(np.asarray(masses, dtype=np.float64) * len(data_scores) - 1e-9).astype(int)
    thresholds = np.sort(data_scores)[::-1][np.clip(n_inside, 1, len(data_scores)) - 1]
    return np.asarray(volume * _shares_at_least(uniform_scores, thresholds))


def excess_mass_curve(
    score: Callable[[FloatArray], FloatArray],
    X: ArrayLike,
    levels: ArrayLike,
    *,
    n_uniform: int = 100_000,
    random_state: int | np.random.RandomState | None = None,
) -> FloatArray:
    """Largest excess ``mass - level * volume`` of the level sets, for each level.

    Larger is better. Mass and volume are those of `mass_volume_curve`.

    >>> X = np.random.default_rng(0).uniform(size=(1000, 2))
    >>> excess_mass_curve(lambda X: -X[:, 0], X, [0.5], random_state=0).round(1)
    array([0.5])
    """
    data_scores, uniform_scores, volume = _level_set_samples(score, X, n_uniform, random_state)
    thresholds = np.unique(data_scores)
    masses = _shares_at_least(data_scores, thresholds)
    volumes = volume * _shares_at_least(uniform_scores, thresholds)
    # The excess of the empty set is 0.
    excess = [(masses - level * volumes).max(initial=0.0) for level in np.atleast_1d(levels)]
    return np.array(excess)


def _as_positives(is_anomaly: ArrayLike, scores: ArrayLike) -> tuple[IntArray, FloatArray]:
    """Labels and scores for scikit-learn, where positives (the anomalies) score high."""
    check_consistent_length(is_anomaly, scores)
    labels = np.asarray(is_anomaly)
    if not np.isin(labels, (0, 1)).all() or labels.min() == labels.max():
        values = ", ".join(map(repr, dict.fromkeys(labels.ravel().tolist())))
        raise ValueError(
            "is_anomaly must be False (or 0) for nominal rows and True (or 1) for anomalies, with "
            f"at least one of each. Got the values {values[:60]}."
        )
    return labels.astype(np.int64), -np.asarray(scores, dtype=np.float64)


def _roc(is_anomaly: ArrayLike, scores: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """False-alarm rate and power at each threshold, ascending."""
    rates, power_there, _ = roc_curve(*_as_positives(is_anomaly, scores), drop_intermediate=False)
    return np.asarray(rates), np.asarray(power_there)


def _level_set_samples(
    score: Callable[[FloatArray], FloatArray],
    X: ArrayLike,
    n_uniform: int,
    random_state: int | np.random.RandomState | None,
) -> tuple[FloatArray, FloatArray, float]:
    """Scores of the rows, scores of uniform points in the box around them, volume of the box."""
    points = np.asarray(X, dtype=np.float64)
    low, high = points.min(axis=0), points.max(axis=0)
    if (low == high).any():
        constant = np.flatnonzero(low == high).tolist()
        raise ValueError(
            f"Columns {constant} of X are constant, so the box around the rows has no volume. "
            "Leave them out."
        )
    uniform = check_random_state(random_state).uniform(low, high, (n_uniform, points.shape[1]))
    return score(points), score(uniform), float(np.prod(high - low))


def _shares_at_least(scores: FloatArray, thresholds: FloatArray) -> FloatArray:
    """Share of the scores that are at least each threshold."""
    return 1.0 - np.searchsorted(np.sort(scores), thresholds, side="left") / len(scores)


@compiled
def _wrong_pairs(
    scores: FloatArray,
    upper: IntArray,
    upper_starts: IntArray,
    lower: IntArray,
    lower_starts: IntArray,
    weights: FloatArray,
) -> float:
    """Total weight of the pairs in the wrong order, block by block; a tie counts one half."""
    wrong = 0.0
    for block in range(weights.size):
        above = scores[upper[upper_starts[block] : upper_starts[block + 1]]]
        below = np.sort(scores[lower[lower_starts[block] : lower_starts[block + 1]]])
        n_less = np.searchsorted(below, above, side="left").sum()
        n_at_most = np.searchsorted(below, above, side="right").sum()
        wrong += weights[block] * (above.size * below.size - 0.5 * (n_less + n_at_most))
    return wrong
