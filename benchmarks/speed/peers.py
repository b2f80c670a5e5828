"""The detectors that RankAD is compared with, and the data."""

import warnings
from collections.abc import Callable

import numpy as np
from pyod.models.ecod import ECOD
from pyod.models.knn import KNN
from sklearn.ensemble import IsolationForest
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import SGDOneClassSVM
from sklearn.neighbors import LocalOutlierFactor, NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.svm import OneClassSVM

Scorer = Callable[[np.ndarray], np.ndarray]


def nominal_rows(n: int, n_features: int, seed: int = 0) -> np.ndarray:
    """Rows of two clusters of unequal width, in random order."""
    rng = np.random.default_rng(seed)
    wide = rng.normal(size=(n - n // 2, n_features))
    narrow = 2.0 + 0.3 * rng.normal(size=(n // 2, n_features))
    return rng.permutation(np.concatenate([wide, narrow]))


def mean_neighbors(rows: np.ndarray, algorithm: str, n_jobs: int) -> Scorer:
    """Minus the mean distance to the 5 nearest rows, by scikit-learn."""
    neighbors = NearestNeighbors(n_neighbors=5, algorithm=algorithm, n_jobs=n_jobs).fit(rows)
    return lambda X: -neighbors.kneighbors(X)[0].mean(axis=1)


def one_class_svm(rows: np.ndarray, n_support: int) -> OneClassSVM:
    """One-class SVM with about this number of support vectors.

    nu is a lower bound of their share. With a wide kernel the share is close to nu.
    """
    gamma = 0.2 / rows.shape[1]
    model = OneClassSVM(nu=n_support / len(rows), gamma=gamma).fit(rows)
    n_found = len(model.support_)
    if not 0.9 * n_support <= n_found <= 1.1 * n_support:
        raise RuntimeError(f"The one-class SVM has {n_found} support vectors, not {n_support}.")
    return model


def scorers(rows: np.ndarray, n_centers: int, n_jobs: int) -> dict[str, Scorer]:
    """The scoring function of each peer, fitted to the rows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        svm = one_class_svm(rows, n_centers)
        nystroem = make_pipeline(
            Nystroem(n_components=n_centers, gamma=0.1, random_state=0),
            SGDOneClassSVM(random_state=0),
        ).fit(rows)
        forest = IsolationForest(
            n_estimators=100, max_samples=256, n_jobs=n_jobs, random_state=0
        ).fit(rows)
        lof = LocalOutlierFactor(novelty=True, n_jobs=n_jobs).fit(rows)
        knn = KNN(method="mean", n_jobs=n_jobs).fit(rows)
        ecod = ECOD(n_jobs=n_jobs).fit(rows)
    return {
        "OneClassSVM": svm.decision_function,
        "SGDOneClassSVM + Nystroem": nystroem.decision_function,
        "IsolationForest": forest.score_samples,
        "LOF": lof.score_samples,
        "PyOD KNN": knn.decision_function,
        "PyOD ECOD": ecod.decision_function,
        "mean k-NN, brute force": mean_neighbors(rows, "brute", n_jobs),
        "mean k-NN, k-d tree": mean_neighbors(rows, "kd_tree", n_jobs),
    }
