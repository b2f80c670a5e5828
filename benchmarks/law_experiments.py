"""Experiments on laws with a known density: anomalies of three kinds, and the order in the bulk."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from level_sets import BroadSample, level_set_errors
from methods import METHODS, by_neighbors
from runs import Record, record_of
from scipy.stats import spearmanr
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import StandardScaler

from rankad.calibration import TrainingScores
from rankad.datasets import perpendicular_gaussians
from rankad.datasets.law_catalog import FURTHER_LAWS, LAST_LAWS, SMOOTH_LAWS, law_anomalies
from rankad.datasets.law import Law
from rankad.metrics import auc, power
from rankad.reproduce.methods import Fitted
from rankad.reproduce.records import Key

KINDS = ("blurred", "uniform", "cluster")

N_LAW_TRAIN, N_LAW_TEST, N_REFERENCE, N_BROAD = 2_000, 2_000, 5_000, 20_000
SIZES = (300, 1_500, 5_000)

FIG_2 = "perpendicular gaussians"

TRUE_DENSITY, BEST_K = "true density", "mean k-NN, best k"
KS = (1, 2, 3, 5, 10, 20, 40, 80, 160, 320)


@dataclass(frozen=True)
class LawRows:
    """Samples of a law and of anomalies to it, in its own units; methods see z-scores."""

    law: Law
    scaler: StandardScaler
    train: np.ndarray
    nominal: np.ndarray
    anomalies: dict[str, np.ndarray]
    reference: np.ndarray | None = None
    broad: BroadSample | None = None

    @classmethod
    def of(cls, law: Law, n_train: int, seed: int) -> "LawRows":
        """Rows to train on, and to test on."""
        rng = np.random.RandomState(seed)
        train = law.sample(n_train, rng)
        reference = law.sample(N_REFERENCE, rng)
        anomalies = {
            kind: law_anomalies(
                law, kind, N_LAW_TEST, rng, scale=1.0 if kind == "blurred" else None
            )
            for kind in KINDS
        }
        return cls(
            law=law,
            scaler=StandardScaler().fit(train),
            train=train,
            nominal=law.sample(N_LAW_TEST, rng),
            anomalies=anomalies,
            reference=reference,
            broad=BroadSample.around(reference, N_BROAD, rng),
        )

    def scaled_train(self) -> np.ndarray:
        """The rows to train on, z-scored."""
        return np.asarray(self.scaler.transform(self.train))


def by_true_density(rows: LawRows, seed: int) -> Fitted:
    """The detector that knows the law."""

    def score(points: np.ndarray) -> np.ndarray:
        densities = rows.law.log_density(rows.scaler.inverse_transform(points))
        return np.nan_to_num(densities, neginf=-1e300)  # an AUC wants finite scores

    return Fitted(score, TrainingScores.of(score(rows.scaled_train())))


def by_best_k(rows: LawRows, seed: int) -> Fitted:
    """Mean distance to the k nearest, for the k that does best on the blurred test anomalies."""
    train = rows.scaled_train()
    search = NearestNeighbors(n_neighbors=min(max(KS), len(train))).fit(train)
    test = rows.scaler.transform(np.concatenate([rows.nominal, rows.anomalies["blurred"]]))
    is_anomaly = np.repeat([False, True], [len(rows.nominal), len(rows.anomalies["blurred"])])
    distances = search.kneighbors(test)[0]
    ks = [k for k in KS if k < len(train)]
    best = max(ks, key=lambda k: auc(is_anomaly, -distances[:, :k].mean(axis=1)))
    return by_neighbors(best)(train, seed)


#: Detectors that know what none can know.
ORACLES: dict[str, Callable[[LawRows, int], Fitted]] = {
    TRUE_DENSITY: by_true_density,
    BEST_K: by_best_k,
}


def law_and_size(name: str) -> tuple[Law, int]:
    """The law that a set is named after, and how many rows train.

    >>> law_and_size("ring 2, n = 300")[1], law_and_size("gauss 2")[1]
    (300, 2000)
    """
    law, _, size = name.partition(", n = ")
    return {**SMOOTH_LAWS, **FURTHER_LAWS, **LAST_LAWS}[law], int(size or N_LAW_TRAIN)


@lru_cache(maxsize=1)
def law_rows(name: str, seed: int) -> LawRows:
    """Samples of the law that a set is named after."""
    return LawRows.of(*law_and_size(name), seed)


def on_law(key: Key) -> Record:
    """Accuracy on a law: anomalies of each kind, the order within the bulk, level sets."""
    return of_law(key, law_rows(key.set, key.seed))


def of_law(key: Key, rows: LawRows) -> Record:
    fitted = _fitted(key, rows)

    def score(points: np.ndarray) -> np.ndarray:
        return fitted.score(rows.scaler.transform(points))

    of_nominal = score(rows.nominal)
    measures = {}
    for kind, anomalies in rows.anomalies.items():
        scores = np.concatenate([of_nominal, score(anomalies)])
        is_anomaly = np.arange(len(scores)) >= len(of_nominal)
        measures[f"auc_{kind}"] = auc(is_anomaly, scores)
        measures[f"power_{kind}"] = power(is_anomaly, scores, 0.05)
    measures["spearman"] = rank_correlation(of_nominal, rows.law.log_density(rows.nominal))
    measures |= level_set_errors(score, rows.law, rows.reference, rows.nominal, rows.broad)
    return record_of(key, rows.train, measures)


def _fitted(key: Key, rows: LawRows) -> Fitted:
    if key.method in ORACLES:
        return ORACLES[key.method](rows, key.seed)
    return METHODS[key.method](rows.scaled_train(), key.seed)


def rank_correlation(first: np.ndarray, second: np.ndarray) -> float:
    """Spearman's."""
    return float(spearmanr(first, second).statistic)


def on_fig_2(key: Key) -> Record:
    """AUC on the rows of the paper's Fig. 2, and the order of 2,000 fresh nominal points."""
    data = perpendicular_gaussians(1_100, 1_000, random_state=key.seed)
    train, nominal, anomalies = np.split(data.X, [600, 1_100])
    rng = np.random.RandomState(1_000 + key.seed)
    law, fresh = data.nominal_law, data.nominal_law.sample(2_000, rng)
    rows = LawRows(
        law=law,
        scaler=StandardScaler().fit(train),
        train=train,
        nominal=nominal,
        anomalies={"uniform": anomalies},
    )
    fitted = _fitted(key, rows)
    scores = fitted.score(rows.scaler.transform(data.X[600:]))
    of_fresh = fitted.score(rows.scaler.transform(fresh))
    measures = {
        "auc": auc(data.y[600:], scores),
        "spearman": rank_correlation(of_fresh, law.log_density(fresh)),
    }
    return record_of(key, train, measures)
