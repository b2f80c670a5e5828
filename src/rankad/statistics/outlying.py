"""Rows that lie far from all others, and so may be anomalies among the training rows."""

from math import log

import numpy as np

from rankad._typing import BoolArray, FloatArray
from rankad.statistics.bagged_neighbor_distance import BaggedNeighborDistance

#: A point is outlying if it is more than this many robust standard deviations above the median.
_CUTOFF = 4.0

#: The density around an outlying point is at least this many times lower than the usual one.
_MIN_THINNING = 4.0

#: The standard deviation of normal values is their median absolute deviation times this.
_NORMAL_DEVIATION = 1.4826


def outlying(
    points: FloatArray,
    n_jobs: int | None = None,
    random_state: int = 0,
    max_share: float = 0.1,
) -> BoolArray:
    """Whether each point is unusually far from the others.

    The measure is the logarithm of the mean distance to the nearest of a few random points. A point
    is outlying if its measure is more than 4 units above the median. The unit is the median
    absolute deviation, of all points or of the points above the median, whichever is larger. This
    is because in few columns the deviations above the median are far larger than those below. And
    the density around an outlying point must be at most a quarter of that around the median point.
    Without this, the edges of a law in few columns would be outlying.

    No point is outlying if half of the points or more are copies of each other, because then there
    is no such unit. And no point is outlying if more than ``max_share`` of the points would be,
    because these are a group of nominal points.

    >>> points = np.random.default_rng(0).normal(size=(200, 2))
    >>> points[:3] = [[9.0, 9.0], [9.1, 9.0], [-30.0, 0.0]]
    >>> np.flatnonzero(outlying(points))
    array([0, 1, 2])
    """
    if len(points) < 2:
        return np.zeros(len(points), dtype=bool)
    statistic = BaggedNeighborDistance(n_jobs=n_jobs, random_state=random_state)
    distances = -statistic(points)
    median = float(np.median(distances))
    if median == 0.0:
        return np.zeros(len(points), dtype=bool)
    with np.errstate(divide="ignore"):  # copies may be at distance 0
        deviations = np.log(distances / median)
    upper = deviations[deviations >= 0.0]
    unit = _NORMAL_DEVIATION * max(float(np.median(np.abs(deviations))), float(np.median(upper)))
    # If the density is q times lower, distances are q^(1/d) times larger.
    cutoff = max(_CUTOFF * unit, log(_MIN_THINNING) / points.shape[1])
    is_outlying = np.asarray((unit > 0.0) & (deviations > cutoff))
    if is_outlying.mean() > max_share:
        return np.zeros(len(points), dtype=bool)
    return is_outlying
