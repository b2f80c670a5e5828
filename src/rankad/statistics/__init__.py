"""Statistics G that order points by density: the first stage of Algorithm 1."""

from collections.abc import Callable
from dataclasses import fields
from typing import Any, Final

from rankad.statistics.bagged_neighbor_distance import BaggedNeighborDistance
from rankad.statistics.dimension_adapted import DimensionAdaptedDistance
from rankad.statistics.epsilon_neighborhood import EpsilonNeighborhood
from rankad.statistics.geodesic import GeodesicNeighborDistance
from rankad.statistics.halved_neighbor_distance import HalvedNeighborDistance
from rankad.statistics.kernel_density import KernelDensity
from rankad.statistics.kth_neighbor_distance import KthNeighborDistance
from rankad.statistics.mean_neighbor_distance import MeanNeighborDistance
from rankad.statistics.neighbors import neighbor_distances
from rankad.statistics.protocol import Statistic, statistic_values
from rankad.statistics.search import NeighborSearch, planned_search
from rankad.statistics.summed_neighbor_distance import SummedNeighborDistance

__all__ = [
    "BaggedNeighborDistance",
    "DimensionAdaptedDistance",
    "EpsilonNeighborhood",
    "GeodesicNeighborDistance",
    "HalvedNeighborDistance",
    "KernelDensity",
    "KthNeighborDistance",
    "MeanNeighborDistance",
    "Statistic",
]

#: The statistics by name.
STATISTICS: Final[dict[str, Callable[..., Statistic]]] = {
    "mean_knn": MeanNeighborDistance,
    "kth_knn": KthNeighborDistance,
    "halved_knn": HalvedNeighborDistance,
    "epsilon": EpsilonNeighborhood,
    "kernel_density": KernelDensity,
    "geodesic_knn": GeodesicNeighborDistance,
    "dimension_adapted_knn": DimensionAdaptedDistance,
    "bagged_knn": BaggedNeighborDistance,
}


def named_statistic(name: str, **settings: Any) -> Statistic:
    """The statistic of this name, with the settings that it has parameters for.

    >>> named_statistic("kth_knn", n_neighbors=5, random_state=0)
    KthNeighborDistance(n_neighbors=5, n_jobs=None, random_state=0)
    """
    statistic: Any = STATISTICS[name]
    known = {field.name for field in fields(statistic)}
    built: Statistic = statistic(**{key: settings[key] for key in settings.keys() & known})
    return built
