"""Statistics G that order nominal points by density (first stage of Algorithm 1)."""

from collections.abc import Callable
from typing import Final

from rankad.statistics.mean_neighbor_distance import MeanNeighborDistance
from rankad.statistics.neighbors import neighbor_distances
from rankad.statistics.protocol import Statistic

__all__ = ["STATISTICS", "MeanNeighborDistance", "Statistic", "neighbor_distances"]

#: The statistics that can be asked for by name: each takes ``n_neighbors`` and ``n_jobs``.
STATISTICS: Final[dict[str, Callable[..., Statistic]]] = {"mean_knn": MeanNeighborDistance}
