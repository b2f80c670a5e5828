"""The detectors whose accuracy is compared, each fitted by one call.

All are given the same rows, z-scored by the training rows. RankAD holds a quarter of its rows out
to calibrate, and the density sums have its centers; BP-KNNG learns from half, the others from all.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from pyod.models.copod import COPOD
from pyod.models.ecod import ECOD
from pyod.models.inne import INNE
from sklearn.ensemble import IsolationForest
from sklearn.neighbors import LocalOutlierFactor, NearestNeighbors
from sklearn.svm import OneClassSVM

from rankad import RankAD
from rankad.baselines import BPKNNG, KLPE, MassAD
from rankad.calibration import HeldOutScores
from rankad.kernels import FarField, KernelExpansion
from rankad.selection import rule_sigma
from rankad.statistics import MeanNeighborDistance

Rows = np.ndarray
Score = Callable[[Rows], np.ndarray]

#: The paper's grid on more rows would take longer than all other methods together.
MOST_ROWS_AS_PUBLISHED = 2_000

N_CENTERS = (25, 50, 100, 200, 400, 800, None)


@dataclass(frozen=True)
class Fitted:
    """A fitted detector: its score (higher = more nominal), and where it alarms.

    ``reference`` are the scores whose quantiles are its thresholds: held-out rows where it
    calibrates, else, as users do, those of the training rows.
    """

    score: Score
    reference: HeldOutScores

    def false_alarms(self, scores: np.ndarray, alpha: float) -> float:
        """Share of the scores that alarm at this level."""
        return float((scores < self.reference.threshold(alpha)).mean())


Fit = Callable[[Rows, int], Fitted]


def by_rankad(detector: RankAD, n_most: int | None = None) -> Fit:
    def fit(rows: Rows, seed: int) -> Fitted:
        fitted = detector.set_params(random_state=seed).fit(rows[:n_most])
        return Fitted(fitted.score_samples, fitted.reference_)

    return fit


def by_density(n_centers: int) -> Fit:
    """Equal weights for the centers that RankAD would have, its sigma and far field too."""

    def fit(rows: Rows, seed: int) -> Fitted:
        detector = RankAD(n_centers=n_centers, random_state=seed).fit(rows)
        weights = np.full(detector.expansion_.n_centers, 1.0 / detector.expansion_.n_centers)
        density = replace(detector.expansion_, weights=weights, far_field=FarField.below(weights))
        return Fitted(density, HeldOutScores.of(density(rows)))

    return fit


def by_density_of_all(rows: Rows, seed: int) -> Fitted:
    """A kernel at each row, RankAD's rule for their width."""
    sigma = rule_sigma(-float(MeanNeighborDistance(5)(rows).mean()))
    weights = np.full(len(rows), 1.0 / len(rows))
    density = KernelExpansion(
        centers=rows, weights=weights, sigma=sigma, far_field=FarField.below(weights)
    )
    # Less its own kernel, which is 1 / n, for a row of its own.
    return Fitted(density, HeldOutScores.of(density(rows) - weights))


def by_neighbors(k: int, power: float = 1.0) -> Fit:
    """Minus the mean of the k nearest distances, raised to a power, by scikit-learn."""

    def fit(rows: Rows, seed: int) -> Fitted:
        search = NearestNeighbors(n_neighbors=min(k, len(rows) - 1)).fit(rows)

        def score(points: Rows | None) -> np.ndarray:
            return -(search.kneighbors(points)[0] ** power).mean(axis=1)

        return Fitted(score, HeldOutScores.of(score(None)))

    return fit


def by_own_search(k: int) -> Fit:
    """The mean of the k nearest distances, by the search that `RankAD.fit` ranks rows with."""

    def fit(rows: Rows, seed: int) -> Fitted:
        statistic = MeanNeighborDistance(min(k, len(rows) - 1))
        return Fitted(lambda points: statistic(points, rows), HeldOutScores.of(statistic(rows)))

    return fit


def by_baseline(detector: Any) -> Fit:
    def fit(rows: Rows, seed: int) -> Fitted:
        fitted = detector.set_params(random_state=seed).fit(rows)
        return Fitted(fitted.score_samples, fitted.reference_)

    return fit


def by_scikit_learn(detector: Any) -> Fit:
    def fit(rows: Rows, seed: int) -> Fitted:
        if "random_state" in detector.get_params():
            detector.set_params(random_state=seed)
        detector.fit(rows)
        # LOF has no score of its own for a row it was trained on, only the one it keeps.
        scores = getattr(detector, "negative_outlier_factor_", None)
        reference = detector.score_samples(rows) if scores is None else scores
        return Fitted(detector.score_samples, HeldOutScores.of(reference))

    return fit


def by_pyod(make: Callable[..., Any]) -> Fit:
    def fit(rows: Rows, seed: int) -> Fitted:
        seeded = {"random_state": seed} if make is INNE else {}
        detector = make(**seeded).fit(rows)
        return Fitted(
            lambda points: -detector.decision_function(points),
            HeldOutScores.of(-detector.decision_scores_),
        )

    return fit


METHODS: dict[str, Fit] = {
    **{f"RankAD, {n or 'all'} centers": by_rankad(RankAD(n_centers=n)) for n in N_CENTERS},
    "RankAD as published": by_rankad(RankAD.as_published(), n_most=MOST_ROWS_AS_PUBLISHED),
    **{f"density sum, {n} centers": by_density(n) for n in N_CENTERS if n is not None},
    "density sum, all rows": by_density_of_all,
    "mean k-NN, k = 5": by_neighbors(5),
    "mean k-NN, k = 5, our search": by_own_search(5),
    "mean k-NN, k = 10": by_neighbors(10),
    "DTE-NP": by_neighbors(5, power=2.0),
    "LOF": by_scikit_learn(LocalOutlierFactor(novelty=True)),
    "iForest": by_scikit_learn(IsolationForest()),
    "OC-SVM": by_scikit_learn(OneClassSVM()),
    "ECOD": by_pyod(ECOD),
    "COPOD": by_pyod(COPOD),
    "INNE": by_pyod(INNE),
    "K-LPE": by_baseline(KLPE(scaler=None, calibration="train")),
    "BP-KNNG": by_baseline(BPKNNG(scaler=None)),
    "massAD": by_baseline(MassAD(calibration="train")),
}
