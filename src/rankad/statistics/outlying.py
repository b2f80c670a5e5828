"""Rows that lie far from all others, and so may be dirt."""

from math import log

import numpy as np

from rankad._typing import BoolArray, FloatArray
from rankad.statistics.bagged_neighbor_distance import BaggedNeighborDistance

#: Robust standard deviations above the median beyond which a row is outlying.
_CUTOFF = 4.0

#: How many times as low the density around an outlying point is, at least.
_MIN_THINNING = 4.0

#: The median absolute deviation of normal values is the standard deviation divided by this.
_NORMAL_DEVIATION = 1.4826


def outlying(
    points: FloatArray,
    n_jobs: int | None = None,
    random_state: int = 0,
    max_share: float = 0.1,
) -> BoolArray:
    """Which points are far from the others, for what is usual among them.

    The logarithm of the mean distance to the nearest of a few random points is compared with its
    median, in units of its median absolute deviation. Deviations above the median may be larger
    than those below, in few columns by far: the unit is the larger of that of all points and that
    of the upper half. And the density around an outlying point is at most a quarter of that around
    the median one: in few columns the edges of a law may else be outlying. Where half of the points
    or more are copies of each other there is no such unit, and none is outlying. More than
    ``max_share`` of the points are a group of their own: then none is outlying, either.

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
    with np.errstate(divide="ignore"):  # copies of one another may be at distance 0
        deviations = np.log(distances / median)
    upper = deviations[deviations >= 0.0]
    unit = _NORMAL_DEVIATION * max(float(np.median(np.abs(deviations))), float(np.median(upper)))
    # Where the density is q times as low, distances are q^(1/d) times as large.
    cutoff = max(_CUTOFF * unit, log(_MIN_THINNING) / points.shape[1])
    is_outlying = np.asarray((unit > 0.0) & (deviations > cutoff))
    if is_outlying.mean() > max_share:
        return np.zeros(len(points), dtype=bool)
    return is_outlying
