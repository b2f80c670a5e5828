"""The detectors whose accuracy is compared, each fitted by one call.

All get the same rows. RankAD holds out a quarter of its rows to calibrate. The others learn from
all rows.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import StandardScaler

from rankad import RankAD
from rankad.baselines import KLPE
from rankad.calibration import HeldOutScores, TrainingScores
from rankad.calibration.holdout import HoldoutOptions, SplitRows
from rankad.calibration.sample import Sample
from rankad.kernels import FarField, KernelExpansion
from rankad.options import Pairs, RankSVM
from rankad.ranker import Ranker
from rankad.reproduce.fitting import Fit, Fitted, Method, by_neighbors, by_rankad, scaled_first
from rankad.reproduce.methods import METHODS as REPRODUCED
from rankad.reproduce.methods import by_name
from rankad.statistics import MeanNeighborDistance
from rankad.statistics.outlying import outlying
from rankad.tuning import rule_C, rule_n_neighbors
from rankad.tuning.rules import n_varying_columns

Rows = np.ndarray

#: Share of its rows that RankAD holds out.
HELD_OUT = 0.25

#: Width of the density sum's kernels, in mean distances to the K nearest rows.
_DENSITY_WIDTH = 0.5


def by_anchor_alone(rows: Rows, standard: bool, seed: int) -> Fitted:
    """RankAD in which the pairs have no effect.

    The anchor has its usual weight, and C gives the pairs a millionth of theirs. So the ranker
    separates the rows from infinity, but does not order them.
    """
    split = _held_out(rows, np.random.RandomState(seed))
    C = 1e-6 * rule_C(len(split.training))
    return by_rankad(partial(RankAD, anchor=1e6, C=C))(rows, standard, seed)


def _held_out(rows: Rows, rng: np.random.RandomState) -> SplitRows:
    """Draw the rows that RankAD holds out."""
    return SplitRows.drawn(Sample.plain(rows), HoldoutOptions(HELD_OUT, "random"), rng)


@dataclass(frozen=True)
class TrainingPart:
    """The rows that the default detector learns from: neither held out nor outlying.

    ``points`` are z-scored by all rows that are not held out. ``held_out`` is not scaled.
    """

    scaler: StandardScaler
    points: Rows
    held_out: Rows

    @classmethod
    def of(cls, rows: Rows, seed: int) -> "TrainingPart":
        """Make the same draws as `RankAD.fit`, in the same order."""
        rng = np.random.RandomState(seed)
        split = _held_out(rows, rng)
        scaler = StandardScaler().fit(rows[split.training])
        points = scaler.transform(rows[split.training])
        is_outlying = outlying(points, random_state=rng.randint(2**31 - 1))
        return cls(scaler, points[~is_outlying], rows[split.calibration])


def _auto_k(rows: Rows) -> int:
    """K by the rule of RankAD."""
    return min(rule_n_neighbors(len(rows), n_varying_columns(rows)), len(rows) - 1)


def by_teacher(rows: Rows, standard: bool, seed: int) -> Fitted:
    """The neighbor statistic on the rows that RankAD learns from, z-scored."""
    part = TrainingPart.of(rows, seed)
    k = _auto_k(part.points)
    statistic = MeanNeighborDistance(k)

    def score(new: Rows) -> np.ndarray:
        return statistic(part.scaler.transform(new), part.points)

    return Fitted(score, HeldOutScores.from_scores(score(part.held_out)), len(part.points))


def by_own_density(rows: Rows, standard: bool, seed: int) -> Fitted:
    """A sum of equal kernels with the centers, sigma and far field of RankAD, z-scored."""

    def unpruned(ranker: Ranker, *_: object) -> tuple[KernelExpansion, float]:
        return ranker.expansion, 0.0

    with patch("rankad.detector.pruned", unpruned):
        detector = RankAD(random_state=seed).fit(rows)
    density = _with_equal_weights(detector.expansion_)
    held_out = rows[detector.calibration_indices_]
    return Fitted(density, HeldOutScores.from_scores(density(held_out)), density.n_centers)


@scaled_first
def by_density_of_all(rows: Rows, seed: int) -> Fitted:
    """A kernel at each row, half as wide as the mean distance to the K nearest others."""
    k = _auto_k(rows)
    sigma = -_DENSITY_WIDTH * float(MeanNeighborDistance(k)(rows).mean())
    density = _with_equal_weights(KernelExpansion(rows, np.ones(len(rows)), sigma))
    # A training row is scored without its own kernel, which is 1 / n.
    return Fitted(density, TrainingScores.from_scores(density(rows) - density.weights), len(rows))


def _with_equal_weights(expansion: KernelExpansion) -> KernelExpansion:
    weights = np.full(expansion.n_centers, 1.0 / expansion.n_centers)
    return replace(expansion, weights=weights, far_field=FarField.below(weights))


def by_scikit_learn_neighbors(k: int) -> Fit:
    """A fit of minus the mean distance to the k nearest rows, by scikit-learn."""

    @scaled_first
    def fit(rows: Rows, seed: int) -> Fitted:
        search = NearestNeighbors(n_neighbors=min(k, len(rows) - 1)).fit(rows)

        def score(points: Rows | None) -> np.ndarray:
            return -search.kneighbors(points)[0].mean(axis=1)

        return Fitted(score, TrainingScores.from_scores(score(None)), len(rows))

    return fit


def neighbors(k: int) -> Method:
    """The method: mean distance to the k nearest rows."""
    return Method(f"mean k-NN, k = {k}", "scikit-learn's search", by_scikit_learn_neighbors(k))


def variant(name: str, **params: Any) -> Method:
    """RankAD with these parameters instead of the defaults."""
    setting = ", ".join(f"{param}={value!r}" for param, value in params.items())
    return Method(name, f"`RankAD({setting})`", by_rankad(partial(RankAD, **params)))


RANKAD, KNN, KNN_10, DENSITY = (
    *("RankAD", "mean k-NN, k = 5", "mean k-NN, k = 10", "density sum, all rows"),
)
OC_SVM, IFOREST, LOF, ECOD = "OC-SVM, nu = .5", "iForest", "LOF", "ECOD"
TEACHER, OWN_DENSITY, ANCHOR_ALONE = "its teacher", "its density sum", "RankAD, anchor alone"
FOR_DIRT = "RankAD, robust=True"
ROBUST_OFF, OUTWARD = "RankAD, robust=False", "RankAD, outward=4"
K_LPE = "K-LPE, k = 5"

#: Methods that are compared in all experiments.
BASE = by_name(
    (
        REPRODUCED[RANKAD],
        neighbors(5),
        neighbors(10),
        Method(DENSITY, "half as wide as the mean distance to the K nearest", by_density_of_all),
        replace(REPRODUCED["OC-SVM"], name=OC_SVM),
        REPRODUCED[IFOREST],
    )
)

#: Methods on the real sets only; ECOD only where PyOD is installed.
OF_SETS = {name: REPRODUCED[name] for name in (LOF, ECOD) if name in REPRODUCED}

N_CENTERS = (100, 200, 400, None)

#: Variants of RankAD that show what each default adds.
VARIANTS = by_name(
    (
        Method(ANCHOR_ALONE, "the pairs have no effect", by_anchor_alone),
        variant("RankAD, tail", pairs=Pairs("tail")),
        variant("RankAD, 3 levels", pairs=3),
        variant("RankAD, margin 1", anchor=(1.0, 1.0)),
        variant("RankAD, margin 4", anchor=(1.0, 4.0)),
        variant("RankAD, margin 16", anchor=(1.0, 16.0)),
        variant("RankAD, K = 5", n_neighbors=5),
        variant("RankAD, bagged teacher", statistic="bagged_knn"),
        variant(ROBUST_OFF, robust=False),
        variant(FOR_DIRT, robust=True),
        variant(OUTWARD, ranker=RankSVM(outward=4.0)),
        *(variant(f"RankAD, {n or 'all'} centers", n_centers=n) for n in N_CENTERS),
        Method(TEACHER, "the mean distance to the K nearest of RankAD's rows", by_teacher),
        Method(OWN_DENSITY, "RankAD's kernels with equal weights", by_own_density),
    )
)

#: Variants by the number of centers, for growing rows and columns.
OF_GROWTH = by_name(variant(f"RankAD, {n} centers", n_centers=n) for n in (200, 400, 800, 1_600))

#: Methods of the stability experiment; with one random state they hold out the same rows.
CALIBRATED = by_name(
    (
        REPRODUCED[RANKAD],
        Method(
            K_LPE,
            "a quarter of the rows calibrates",
            by_neighbors(partial(KLPE, n_neighbors=5, calibration="split")),
        ),
    )
)

METHODS = {**BASE, **OF_SETS, **VARIANTS, **OF_GROWTH, **CALIBRATED}
