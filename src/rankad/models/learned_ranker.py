"""The model of `RankAD`: a kernel expansion, and the results of its training."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from rankad._rounding import Rounding
from rankad._scaling import scaled, takes_others_far
from rankad._typing import FloatArray, IntArray
from rankad.kernels import KernelExpansion
from rankad.solvers import Solution
from rankad.statistics import NeighborSearch
from rankad.tuning import Chosen


@dataclass(frozen=True, eq=False)
class RankerScores:
    """A learned ranker of rows.

    ``row_rounding`` is the rounding of the rows that the scaler gives.
    """

    scaler: Any
    expansion: KernelExpansion
    row_rounding: float

    @property
    def rounding(self) -> Rounding:
        """By how much two computations of a score may differ."""
        return self.expansion.rounding(self.row_rounding)

    def __call__(self, rows: FloatArray, n_jobs: int | None = None) -> FloatArray:
        """Score of each row; higher = more nominal."""
        return expansion_scores(self.expansion, self.scaler, rows, n_jobs)

    def training_scores(self, rows: FloatArray) -> FloatArray:
        """Score of each row that the ranker was trained on."""
        return self(rows)

    def watches(self, columns: IntArray, row: FloatArray) -> bool:
        """Whether other values in columns with a single value are far: not without a far field."""
        is_far = self.expansion.far_field is not None
        return is_far and takes_others_far(self.scaler, columns, row)


@dataclass(frozen=True, eq=False)
class LearnedRanker(RankerScores):
    """What `RankAD` learns: a ranker of rows, and the results of its training."""

    chosen: Chosen
    n_neighbors: int
    mean_neighbor_distance: float
    neighbor_search: NeighborSearch
    n_outlying: int
    solution: Solution
    pruning_error: float

    def for_scoring(self) -> RankerScores:
        """The ranker alone: the results of the training can be as large as the training rows."""
        return RankerScores(self.scaler, self.expansion, self.row_rounding)

    def attributes(self) -> dict[str, Any]:
        """Fitted attributes of a detector, without the scoring function."""
        chosen = self.chosen
        cv_results = {} if chosen.cv_results is None else {"cv_results_": chosen.cv_results}
        return {
            "C_": chosen.C,
            "sigma_": chosen.sigma,
            **cv_results,
            "mean_neighbor_distance_": self.mean_neighbor_distance,
            "n_neighbors_": self.n_neighbors,
            "n_outlying_": self.n_outlying,
            "neighbor_search_": self.neighbor_search,
            "solution_": self.solution,
            "pruning_error_": self.pruning_error,
            "n_iter_": self.solution.n_iter,
        }


def takes_raw_rows(expansion: KernelExpansion) -> bool:
    """Whether the expansion scales the columns itself: possible for a shift and a scale."""
    return expansion.offset is not None


def expansion_scores(
    expansion: KernelExpansion, scaler: Any, rows: FloatArray, n_jobs: int | None
) -> FloatArray:
    """Scores of rows as ``fit`` takes them: float64 for any arithmetic of the expansion."""
    columns = rows if takes_raw_rows(expansion) else scaled(scaler, rows)
    return expansion(columns, n_jobs).astype(np.float64, copy=False)
