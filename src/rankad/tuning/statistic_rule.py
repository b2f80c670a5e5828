"""The statistic that ranks the training points, and its number of neighbors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, cast

import numpy as np

from rankad._progress import logger
from rankad._typing import FloatArray
from rankad._warnings import warn_user
from rankad.statistics import (
    MeanNeighborDistance,
    NeighborSearch,
    Statistic,
    named_statistic,
    statistic_values,
)
from rankad.tuning.rules import n_varying_columns, rule_n_neighbors


@dataclass(frozen=True, eq=False)
class RankedPoints:
    """Values of the statistic at the training points, and how they were computed.

    Parameters
    ----------
    statistic : Statistic
    values : array of shape (n,)
    n_neighbors : int
        The number K of neighbors for the statistic and for D_K.
    mean_neighbor_distance : float
        D_K, the mean distance to the K nearest neighbors, averaged over the points.
    neighbor_search : NeighborSearch
        Plan of the search for neighbors, for the statistic if it has a plan, else for D_K.
    """

    statistic: Statistic
    values: FloatArray
    n_neighbors: int
    mean_neighbor_distance: float
    neighbor_search: NeighborSearch


@dataclass(frozen=True)
class StatisticRule:
    """The parameters ``statistic`` and ``n_neighbors``, for any points.

    ``is_robust`` is for training rows with many anomalies: then "auto" is "bagged_knn".
    """

    statistic: str | Statistic
    n_neighbors: int | Literal["auto"]
    is_robust: bool
    n_jobs: int | None

    @property
    def name(self) -> str | None:
        """Name of the statistic; None for a callable."""
        if self.statistic == "auto":
            return "bagged_knn" if self.is_robust else "mean_knn"
        return self.statistic if isinstance(self.statistic, str) else None

    def ranked(self, points: FloatArray, rng: np.random.RandomState) -> RankedPoints:
        """Values of the statistic at the points, and D_K."""
        logger.info("ranking %d rows of %d columns by their neighbors", *points.shape)
        statistic, n_neighbors = self._for_points(points, rng)
        values = statistic_values(statistic, points)
        plan = getattr(statistic, "planned_search", None)  # None for a user's own callable
        search = None if plan is None else plan(*points.shape)
        if self.name == "mean_knn" and search is not None:
            return RankedPoints(statistic, values, n_neighbors, -float(values.mean()), search)
        distance = MeanNeighborDistance(n_neighbors, self.n_jobs)
        search = search or distance.planned_search(*points.shape)
        mean_distance = -float(distance(points).mean())
        return RankedPoints(statistic, values, n_neighbors, mean_distance, search)

    def _for_points(self, points: FloatArray, rng: np.random.RandomState) -> tuple[Statistic, int]:
        """The statistic, and the number K of neighbors."""
        n_others = len(points) - 1
        n_asked = self._n_neighbors(points)
        n_neighbors = min(n_asked, n_others)
        if isinstance(self.statistic, type):
            name = self.statistic.__name__
            raise TypeError(f"statistic must be an instance, {name}(), not the class {name}.")
        if not isinstance(self.statistic, str):
            return self.statistic, n_neighbors
        if n_others < n_asked and self.n_neighbors != "auto":
            warn_user(
                f"n_neighbors={self.n_neighbors} lowered to {n_neighbors}: there are only "
                f"{len(points)} training rows. Fit on more rows, or lower n_neighbors."
            )
        statistic = named_statistic(
            str(self.name),
            n_neighbors=n_neighbors,
            n_jobs=self.n_jobs,
            random_state=rng.randint(2**31 - 1),
        )
        return statistic, n_neighbors

    def for_parts(self, statistic: Statistic) -> Statistic:
        """The statistic for parts of the points, which have fewer neighbors by the rule."""
        is_own = not isinstance(self.statistic, str)
        if is_own or self.n_neighbors != "auto" or not hasattr(statistic, "n_neighbors"):
            return statistic

        def of_part(points: FloatArray, among: FloatArray | None = None) -> FloatArray:
            n_neighbors = min(self._n_neighbors(points), len(points) - 1)
            fewer: Statistic = replace(cast("Any", statistic), n_neighbors=n_neighbors)
            return fewer(points, among)

        return of_part

    def _n_neighbors(self, points: FloatArray) -> int:
        """K as given or by the rule. It may be larger than the number of points."""
        if self.n_neighbors == "auto":
            return rule_n_neighbors(len(points), n_varying_columns(points))
        return int(self.n_neighbors)
