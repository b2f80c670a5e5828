"""The detectors that every contract is checked on. A detector added here is checked, too."""

import operator
from dataclasses import dataclass
from typing import Any

from pyod.models.ecod import ECOD
from pyod.models.knn import KNN
from sklearn.ensemble import IsolationForest
from sklearn.neighbors import LocalOutlierFactor
from sklearn.svm import OneClassSVM

from rankad import Calibrated, RankAD
from rankad.baselines import BPKNNG, KLPE, AveragedKLPE, MassAD
from rankad.options import Pairs, RankSVM
from rankad.statistics import STATISTICS, KthNeighborDistance


@dataclass(frozen=True)
class Case:
    """A detector, and what it is expected to do."""

    name: str
    detector: Any
    finds_far_points: bool = True


CASES = [
    Case("RankAD", RankAD()),
    Case("RankAD few centers", RankAD(n_centers=8)),
    Case("RankAD all rows", RankAD(n_centers=None)),
    Case("RankAD float32", RankAD(n_centers=8, sigma=3.0, ranker=RankSVM(dtype="float32"))),
    Case("RankAD as published", RankAD.as_published(), finds_far_points=False),
    # With the default sigma, every training row scores above the rows left out, so none alarms.
    # Then scikit-learn's check that some training rows alarm would fail.
    Case("RankAD cross", RankAD(calibration="cross", sigma=3.0)),
    Case("RankAD hinge", RankAD(ranker=RankSVM(loss="hinge"))),
    Case("RankAD rank gap", RankAD(pairs=Pairs(min_gap=0.2))),
    Case("RankAD three levels", RankAD(pairs=3)),
    Case("RankAD every rank", RankAD(pairs=Pairs(None))),
    Case("RankAD pair weights", RankAD(pairs=Pairs(5, weight=operator.sub))),
    Case("RankAD statistic instance", RankAD(statistic=KthNeighborDistance(4))),
    *(
        Case(f"RankAD {name}", RankAD(statistic=name))
        for name in sorted(STATISTICS)
        if name != "mean_knn"
    ),
    Case("KLPE", KLPE()),
    Case("KLPE as published", KLPE(calibration="train", scaler=None)),
    Case("AveragedKLPE", AveragedKLPE()),
    Case("AveragedKLPE nearest", AveragedKLPE(n_halvings=0, nearest=True)),
    Case("BPKNNG", BPKNNG()),
    Case("MassAD", MassAD(), finds_far_points=False),
    Case(
        "MassAD depth 2", MassAD(n_estimators=10, max_samples=32, depth=2), finds_far_points=False
    ),
    Case("one-class SVM", Calibrated(OneClassSVM()), finds_far_points=False),
    Case("isolation forest", Calibrated(IsolationForest(n_estimators=20)), finds_far_points=False),
    Case("LOF", Calibrated(LocalOutlierFactor(n_neighbors=5, novelty=True))),
    Case("PyOD ECOD", Calibrated(ECOD()), finds_far_points=False),
    Case("PyOD KNN", Calibrated(KNN())),
]
