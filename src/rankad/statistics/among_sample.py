"""Base of the statistics: if there are too many rows, a random sample takes their place."""

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any, Self, cast

import numpy as np
from sklearn.utils import check_random_state

from rankad._typing import FloatArray, IntArray
from rankad.statistics.search import NeighborSearch, planned_search


class SampledStatistic(ABC):
    """A statistic of points among rows, or among a random sample of too many rows.

    The sample depends only on ``random_state`` and on the number of rows. So training points and
    new points are measured among the same rows. A row of the sample is measured among the other
    rows of the sample. It is never its own neighbor, but its copies are its neighbors.

    The number of neighbors is lowered in proportion, because K neighbors among n rows are about as
    far away as K s/n neighbors among s of the rows. So the statistic among a sample estimates that
    among all rows, with more noise.
    """

    n_neighbors: int
    random_state: int | None

    def __call__(self, points: FloatArray, among: FloatArray | None = None) -> FloatArray:
        """Statistic of each point among the others, or among the rows of ``among``."""
        pool = points if among is None else among
        search = self.planned_search(*pool.shape)
        if search.among_all:
            return self._values(points, among)
        sample = sampled_rows(search, self.random_state)
        among_sample = self._with_neighbors(search.n_sought)
        if among is not None:
            return among_sample._values(points, among[sample])
        others = np.ones(len(points), dtype=bool)
        others[sample] = False
        values = np.empty(len(points))
        values[sample] = among_sample._values(points[sample], None)
        values[others] = among_sample._values(points[others], points[sample])
        return values

    def planned_search(self, n_rows: int, n_features: int) -> NeighborSearch:
        """How neighbors are searched for among so many rows."""
        return planned_search(n_rows, n_features, n_neighbors=self.n_neighbors)

    def _with_neighbors(self, n_neighbors: int) -> Self:
        """The same statistic with this number of neighbors."""
        return cast("Self", replace(cast("Any", self), n_neighbors=n_neighbors))

    @abstractmethod
    def _values(self, points: FloatArray, among: FloatArray | None) -> FloatArray:
        """Statistic of each point among all others, or among all rows of ``among``."""


def sampled_rows(search: NeighborSearch, random_state: int | None) -> IntArray:
    """Indices of the rows of the sample, ascending.

    >>> sampled_rows(NeighborSearch("brute force", n_rows=50, n_searched=4), random_state=0)
    array([10, 11, 28, 41])
    """
    rng = check_random_state(random_state)
    return np.sort(rng.choice(search.n_rows, search.n_searched, replace=False))
