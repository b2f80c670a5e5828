"""Experiments on laws with a known density: three kinds of anomalies, and order in the bulk."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from level_sets import BroadSample, level_set_errors
from methods import METHODS, by_scikit_learn_neighbors
from scipy.stats import spearmanr
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import StandardScaler

from rankad.datasets import (
    FURTHER_LAWS,
    LAST_LAWS,
    SMOOTH_LAWS,
    Law,
    law_anomalies,
    perpendicular_gaussians,
)
from rankad.metrics import auc, power
from rankad.reproduce.fitting import Method
from rankad.reproduce.measure import run_of
from rankad.reproduce.methods import bayes
from rankad.reproduce.protocol import Split
from rankad.reproduce.records import Key, Record

KINDS = ("blurred", "uniform", "cluster")

N_LAW_TRAIN, N_LAW_TEST, N_REFERENCE, N_BROAD = 2_000, 2_000, 5_000, 20_000
SIZES = (300, 1_500, 5_000)

FIG_2 = "perpendicular gaussians"

TRUE_DENSITY, BEST_K = "true density", "mean k-NN, best k"
KS = (1, 2, 3, 5, 10, 20, 40, 80, 160, 320)


@dataclass(frozen=True, eq=False)
class LawSample:
    """Training and test rows, and points of the law to compare level sets.

    The test rows are nominal rows and then anomalies of each kind, the same number of each.
    """

    split: Split
    reference: np.ndarray
    broad: BroadSample

    @classmethod
    def of(cls, law: Law, n_train: int, seed: int) -> "LawSample":
        """Draw all of them from the law."""
        rng = np.random.RandomState(seed)
        train = law.sample(n_train, rng)
        reference = law.sample(N_REFERENCE, rng)
        anomalies = [
            law_anomalies(law, kind, N_LAW_TEST, rng, scale=1.0 if kind == "blurred" else None)
            for kind in KINDS
        ]
        nominal = law.sample(N_LAW_TEST, rng)
        broad = BroadSample.around(reference, N_BROAD, rng)
        return cls(Split(train, nominal, np.concatenate(anomalies), law), reference, broad)


def true_density(split: Split) -> Method:
    """The detector that scores by the true density."""
    return replace(bayes(split), name=TRUE_DENSITY)


def best_k(split: Split) -> Method:
    """Mean distance to the k nearest, for the k with the best AUC on the blurred anomalies."""
    scaler = StandardScaler().fit(split.train)
    train = scaler.transform(split.train)
    search = NearestNeighbors(n_neighbors=min(max(KS), len(train))).fit(train)
    distances = search.kneighbors(scaler.transform(split.test[: 2 * N_LAW_TEST]))[0]
    is_anomaly = split.is_anomaly[: 2 * N_LAW_TEST]
    ks = [k for k in KS if k < len(train)]
    best = max(ks, key=lambda k: auc(is_anomaly, -distances[:, :k].mean(axis=1)))
    return Method(BEST_K, f"k = {best}", by_scikit_learn_neighbors(best))


#: Methods that use what a detector cannot know: the law, or the labels of the test rows.
ORACLES: dict[str, Callable[[Split], Method]] = {TRUE_DENSITY: true_density, BEST_K: best_k}


def law_and_size(name: str) -> tuple[Law, int]:
    """The law of a set's name, and the number of training rows.

    >>> law_and_size("ring 2, n = 300")[1], law_and_size("gauss 2")[1]
    (300, 2000)
    """
    law, _, size = name.partition(", n = ")
    return {**SMOOTH_LAWS, **FURTHER_LAWS, **LAST_LAWS}[law], int(size or N_LAW_TRAIN)


@lru_cache(maxsize=1)
def law_sample(name: str, seed: int) -> LawSample:
    """Samples of the law of a set's name."""
    return LawSample.of(*law_and_size(name), seed)


def on_law(key: Key) -> Record:
    """Accuracy on a law: each kind of anomalies, order within the bulk, level sets."""
    sample = law_sample(key.set, key.seed)
    split, law = sample.split, sample.split.law
    run = run_of(key, _method(key.method, split), split)
    of_nominal, *of_kinds = np.split(run.scores, 1 + len(KINDS))
    is_anomaly = np.repeat([False, True], N_LAW_TEST)
    measures = {}
    for kind, of_anomalies in zip(KINDS, of_kinds, strict=True):
        scores = np.concatenate([of_nominal, of_anomalies])
        measures[f"auc_{kind}"] = auc(is_anomaly, scores)
        measures[f"power_{kind}"] = power(is_anomaly, scores, 0.05)
    measures["spearman"] = rank_correlation(of_nominal, law.log_density(split.nominal))
    errors = level_set_errors(run.fitted.score, law, sample.reference, split.nominal, sample.broad)
    return run.record(measures | errors)


def _method(name: str, split: Split) -> Method:
    return ORACLES[name](split) if name in ORACLES else METHODS[name]


def rank_correlation(first: np.ndarray, second: np.ndarray) -> float:
    """Spearman's rank correlation."""
    return float(spearmanr(first, second).statistic)


def on_fig_2(key: Key) -> Record:
    """AUC on the rows of the paper's Fig. 2, and the order of 2,000 fresh nominal points."""
    data = perpendicular_gaussians(1_100, 1_000, random_state=key.seed)
    law = data.nominal_law
    split = Split(*np.split(data.X, [600, 1_100]), law)
    fresh = law.sample(2_000, np.random.RandomState(1_000 + key.seed))
    run = run_of(key, _method(key.method, split), split)
    order = rank_correlation(run.fitted.score(fresh), law.log_density(fresh))
    return run.record({"auc": auc(split.is_anomaly, run.scores), "spearman": order})
