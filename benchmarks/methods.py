"""The detectors whose accuracy is compared, each fitted by one call.

All are given the same rows, z-scored by the training rows. RankAD holds a quarter of its rows out
to calibrate; the others learn from all.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any
from unittest.mock import patch

import numpy as np
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import StandardScaler

from rankad import RankAD
from rankad.calibration import HeldOutScores, TrainingScores
from rankad.calibration.holdout import held_out_split
from rankad.kernels import FarField, KernelExpansion
from rankad.ranker import Ranker
from rankad.reproduce.methods import METHODS as REPRODUCED
from rankad.reproduce.methods import Fitted
from rankad.selection import rule_C, rule_n_neighbors
from rankad.selection.rules import n_varying_columns
from rankad.statistics import MeanNeighborDistance
from rankad.statistics.outlying import outlying

Rows = np.ndarray

#: Fits to rows, with a seed.
Fit = Callable[[Rows, int], Fitted]

#: Share of its rows that RankAD holds out.
HELD_OUT = 0.25

#: Width of the density sum's kernels, in mean distances to the K nearest rows.
_DENSITY_WIDTH = 0.5


def by_rankad(**params: Any) -> Fit:
    def fit(rows: Rows, seed: int) -> Fitted:
        detector = RankAD(random_state=seed, **params).fit(rows)
        return Fitted(detector.score_samples, detector.reference_, detector.expansion_.n_centers)

    return fit


def by_anchor_alone(rows: Rows, seed: int) -> Fitted:
    """RankAD whose anchor weighs a million times the pairs, and as much as ever: they count none.

    The rows are told from infinity, and not from one another.
    """
    training, _ = held_out_split(len(rows), HELD_OUT, np.random.RandomState(seed))
    return by_rankad(anchor=1e6, C=1e-6 * rule_C(len(training)))(rows, seed)


@dataclass(frozen=True)
class TrainingPart:
    """What the default detector learns from: the rows that it does not hold out or leave out."""

    scaler: StandardScaler
    points: Rows
    held_out: Rows

    @classmethod
    def of(cls, rows: Rows, seed: int) -> "TrainingPart":
        """The same draws in the same order as `RankAD.fit` makes them."""
        rng = np.random.RandomState(seed)
        training, held_out = held_out_split(len(rows), HELD_OUT, rng)
        scaler = StandardScaler().fit(rows[training])
        points = scaler.transform(rows[training])
        is_outlying = outlying(points, random_state=rng.randint(2**31 - 1))
        return cls(scaler, points[~is_outlying], rows[held_out])


def _auto_k(rows: Rows) -> int:
    """Neighbors by RankAD's rule."""
    return min(rule_n_neighbors(len(rows), n_varying_columns(rows)), len(rows) - 1)


def by_teacher(rows: Rows, seed: int) -> Fitted:
    """Minus the mean distance to the K nearest of the rows that RankAD learns from."""
    part = TrainingPart.of(rows, seed)
    k = _auto_k(part.points)
    statistic = MeanNeighborDistance(k)

    def score(new: Rows) -> np.ndarray:
        return statistic(part.scaler.transform(new), part.points)

    return Fitted(score, HeldOutScores.of(score(part.held_out)), len(part.points))


def by_own_density(rows: Rows, seed: int) -> Fitted:
    """Equal weights for all centers RankAD learns with, with its sigma and its far field."""

    def unpruned(ranker: Ranker, *_: object) -> tuple[KernelExpansion, float]:
        return ranker.expansion, 0.0

    with patch("rankad.detector.pruned", unpruned):
        detector = RankAD(random_state=seed).fit(rows)
    density = _with_equal_weights(detector.expansion_)
    held_out = rows[detector.calibration_indices_]
    return Fitted(density, HeldOutScores.of(density(held_out)), density.n_centers)


def by_density_of_all(rows: Rows, seed: int) -> Fitted:
    """A kernel at each row, half as wide as the rows' mean distance to their K nearest others."""
    k = _auto_k(rows)
    sigma = -_DENSITY_WIDTH * float(MeanNeighborDistance(k)(rows).mean())
    density = _with_equal_weights(KernelExpansion(rows, np.ones(len(rows)), sigma))
    # Less its own kernel, which is 1 / n, for a row of its own.
    return Fitted(density, TrainingScores.of(density(rows) - density.weights), len(rows))


def _with_equal_weights(expansion: KernelExpansion) -> KernelExpansion:
    weights = np.full(expansion.n_centers, 1.0 / expansion.n_centers)
    return replace(expansion, weights=weights, far_field=FarField.below(weights))


def by_neighbors(k: int) -> Fit:
    """Minus the mean distance to the k nearest rows, by scikit-learn."""

    def fit(rows: Rows, seed: int) -> Fitted:
        search = NearestNeighbors(n_neighbors=min(k, len(rows) - 1)).fit(rows)

        def score(points: Rows | None) -> np.ndarray:
            return -search.kneighbors(points)[0].mean(axis=1)

        return Fitted(score, TrainingScores.of(score(None)), len(rows))

    return fit


def by_reproduction(name: str) -> Fit:
    """A method as the paper's tables are reproduced with it, on columns as they are given."""
    return lambda rows, seed: REPRODUCED[name].fit(rows, False, seed)


RANKAD, KNN, KNN_10, DENSITY = (
    *("RankAD", "mean k-NN, k = 5", "mean k-NN, k = 10", "density sum, all rows"),
)
OC_SVM, IFOREST, LOF, ECOD = "OC-SVM, nu = .5", "iForest", "LOF", "ECOD"
TEACHER, OWN_DENSITY, ANCHOR_ALONE = "its teacher", "its density sum", "RankAD, anchor alone"
FOR_DIRT = "RankAD, robust=True"
ROBUST_OFF, OUTWARD = "RankAD, robust=False", "RankAD, outward=4"

#: Compared everywhere.
BASE: dict[str, Fit] = {
    RANKAD: by_rankad(),
    KNN: by_neighbors(5),
    KNN_10: by_neighbors(10),
    DENSITY: by_density_of_all,
    OC_SVM: by_reproduction("OC-SVM"),
    IFOREST: by_reproduction("iForest"),
}

#: Compared on the real sets alone.
OF_SETS: dict[str, Fit] = {
    LOF: by_reproduction("LOF"),
    ECOD: by_reproduction("ECOD"),
}

N_CENTERS = (100, 200, 400, None)

#: What ranking adds, and the choice of the defaults.
VARIANTS: dict[str, Fit] = {
    ANCHOR_ALONE: by_anchor_alone,
    "RankAD, tail": by_rankad(n_levels="tail"),
    "RankAD, 3 levels": by_rankad(n_levels=3),
    "RankAD, margin 1": by_rankad(anchor_margin=1.0),
    "RankAD, margin 4": by_rankad(anchor_margin=4.0),
    "RankAD, margin 16": by_rankad(anchor_margin=16.0),
    "RankAD, K = 5": by_rankad(n_neighbors=5),
    "RankAD, bagged teacher": by_rankad(statistic="bagged_knn"),
    ROBUST_OFF: by_rankad(robust=False),
    FOR_DIRT: by_rankad(robust=True),
    OUTWARD: by_rankad(outward=4.0),
    **{f"RankAD, {n or 'all'} centers": by_rankad(n_centers=n) for n in N_CENTERS},
    TEACHER: by_teacher,
    OWN_DENSITY: by_own_density,
}

#: Most centers, where rows or columns are many or few.
OF_GROWTH: dict[str, Fit] = {
    f"RankAD, {n} centers": by_rankad(n_centers=n) for n in (200, 400, 800, 1_600)
}

METHODS: dict[str, Fit] = {**BASE, **OF_SETS, **VARIANTS, **OF_GROWTH}
