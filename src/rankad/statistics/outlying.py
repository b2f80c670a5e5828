"""Rows that lie far from all others, and so may be dirt."""

import numpy as np

from rankad._typing import BoolArray, FloatArray
from rankad.statistics.bagged_neighbor_distance import BaggedNeighborDistance

#: Robust standard deviations above the median beyond which a row is outlying.
_CUTOFF = 4.0

#: Share of the points beyond which they are not dirt.
_LARGEST_SHARE = 0.1

#: The median absolute deviation of normal values is the standard deviation divided by this.
_NORMAL_DEVIATION = 1.4826


def outlying(points: FloatArray, n_jobs: int | None = None, random_state: int = 0) -> BoolArray:
    """Which points are far from the others, for what is usual among them.

    The logarithm of the mean distance to the nearest of a few random points is compared with its
    median, in units of its median absolute deviation. Deviations above the median may be larger
    than those below, in few columns by far: the unit is the larger of that of all points and that
    of the upper half. Where half of the points or more are copies of each other there is no such
    unit, and none is outlying. More than a tenth of the points are a group of their own, not dirt:
    then none is outlying, either.

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
    is_outlying = np.asarray((unit > 0.0) & (deviations > _CUTOFF * unit))
    if is_outlying.mean() > _LARGEST_SHARE:
        return np.zeros(len(points), dtype=bool)
    return is_outlying
