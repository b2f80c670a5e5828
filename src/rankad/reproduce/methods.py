"""The methods that are compared, each fitted by one call.

Each is given the same rows, in the units of the source, and scales them itself where z-scores are
asked for: RankAD and BP-KNNG by the rows that they do not hold out, the others by all.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from typing import Any, Final

import numpy as np
from sklearn.ensemble import IsolationForest
from sklearn.neighbors import LocalOutlierFactor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM

from rankad._typing import FloatArray
from rankad.baselines import BPKNNG, AveragedKLPE, MassAD
from rankad.calibration import HeldOutScores, ReferenceScores, TrainingScores
from rankad.datasets import NormalMixture
from rankad.detector import RankAD
from rankad.reproduce import paper
from rankad.scorer import expansion_scores

Score = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fitted detector.

    Parameters
    ----------
    score : callable
        Rows to scores, higher = more nominal.
    reference : ReferenceScores
        Scores whose quantiles are its thresholds: of held-out rows where it calibrates, else, as
        its users do, of the training rows.
    n_centers : int, optional
        Support vectors, centers, or rows among which neighbors are sought.
    setting : dict
        What was chosen by the data.
    """

    score: Score
    reference: ReferenceScores
    n_centers: int | None = None
    setting: dict[str, float] = field(default_factory=dict)


#: Fits to rows, z-scored or as they are, with a seed.
Fit = Callable[[FloatArray, bool, int], Fitted]


@dataclass(frozen=True)
class Method:
    """A method: what it is called, how it is set, how it is fitted, its column in the paper."""

    name: str
    setting: str
    fit: Fit
    paper: str | None = None


def _scaler(standard: bool) -> str | None:
    return "standard" if standard else None


def _by_rankad(make: Callable[..., RankAD]) -> Fit:
    def fit(rows: FloatArray, standard: bool, seed: int) -> Fitted:
        detector = make(scaler=_scaler(standard), random_state=seed).fit(rows)
        return _fitted_rankad(detector, detector.score_samples, detector.reference_)

    return fit


def _fitted_rankad(detector: RankAD, score: Score, reference: ReferenceScores) -> Fitted:
    setting = {
        "C": detector.C_,
        "sigma": detector.sigma_,
        "mean_neighbor_distance": detector.mean_neighbor_distance_,
    }
    return Fitted(score, reference, detector.expansion_.n_centers, setting)


def _without_far_field(rows: FloatArray, standard: bool, seed: int) -> Fitted:
    """The default detector, less its far field: the same fit, the same rows calibrate."""
    detector = RankAD(scaler=_scaler(standard), random_state=seed).fit(rows)
    expansion = replace(detector.expansion_, far_field=None)

    def score(new: FloatArray) -> FloatArray:
        return expansion_scores(expansion, detector.scaler_, new, n_jobs=None)

    reference = HeldOutScores.of(score(rows[detector.calibration_indices_]))
    return _fitted_rankad(detector, score, reference)


def _by_neighbors(make: Callable[..., BPKNNG | AveragedKLPE]) -> Fit:
    def fit(rows: FloatArray, standard: bool, seed: int) -> Fitted:
        detector = make(scaler=_scaler(standard), random_state=seed).fit(rows)
        return Fitted(detector.score_samples, detector.reference_, len(detector.points_))

    return fit


def _by_mass(rows: FloatArray, standard: bool, seed: int) -> Fitted:
    detector = MassAD(calibration="train", random_state=seed).fit(rows)
    return Fitted(detector.score_samples, detector.reference_)


def _pipeline(detector: Any, standard: bool) -> Pipeline:
    return make_pipeline(StandardScaler() if standard else "passthrough", detector)


def _by_forest(rows: FloatArray, standard: bool, seed: int) -> Fitted:
    detector = IsolationForest(n_estimators=100, max_samples=256, random_state=seed)
    score = _pipeline(detector, standard).fit(rows).score_samples
    return Fitted(score, TrainingScores.of(score(rows)))


def _by_local_outlier_factor(rows: FloatArray, standard: bool, seed: int) -> Fitted:
    pipeline = _pipeline(LocalOutlierFactor(novelty=True), standard).fit(rows)
    # A row it was trained on has the score it was given among the others.
    reference = TrainingScores.of(pipeline[-1].negative_outlier_factor_)
    return Fitted(pipeline.score_samples, reference, len(rows))


def _by_one_class_svm(nu: float) -> Fit:
    def fit(rows: FloatArray, standard: bool, seed: int) -> Fitted:
        scaler = StandardScaler().fit(rows) if standard else None
        points = rows if scaler is None else scaler.transform(rows)
        gamma = _gamma_of_quantiles(points, np.random.default_rng(seed))
        detector = OneClassSVM(nu=nu, gamma=gamma).fit(points)

        def score(new: FloatArray) -> FloatArray:
            new = new if scaler is None else scaler.transform(new)
            return np.asarray(detector.score_samples(new))

        reference = TrainingScores.of(detector.score_samples(points))
        n_support = len(detector.support_)
        return Fitted(score, reference, n_support, {"nu": nu, "sigma": gamma**-0.5})

    return fit


def _gamma_of_quantiles(points: FloatArray, rng: np.random.Generator) -> float:
    """Factor of the squared distance in the kernel, after Caputo et al. (2002).

    The mean of the inverses of the .1 and .9 quantiles of the squared distances of random pairs.
    """
    first, second = rng.integers(0, len(points), size=(2, len(points) // 2))
    squared = ((points[first] - points[second]) ** 2).sum(axis=1)
    return float(np.mean(1.0 / np.quantile(squared[squared > 0.0], [0.1, 0.9])))


def _by_ecod(rows: FloatArray, standard: bool, seed: int) -> Fitted:
    from pyod.models.ecod import ECOD

    detector = ECOD().fit(rows)
    return Fitted(
        lambda points: -detector.decision_function(points),
        TrainingScores.of(-detector.decision_scores_),
    )


def bayes(law: NormalMixture) -> Method:
    """The detector that knows the nominal density: with uniform anomalies none is better."""

    def fit(rows: FloatArray, standard: bool, seed: int) -> Fitted:
        return Fitted(law.log_density, TrainingScores.of(law.log_density(rows)))

    return Method(BAYES, "the true nominal density", fit)


DEFAULT, PUBLISHED, BAYES = "RankAD", "RankAD as published", "Bayes"
OC_SVM, BP_KNNG, AK_LPE, IFOREST, MASSAD = "OC-SVM", "BP-KNNG", "aK-LPE", "iForest", "massAD"
ALL_ROWS = "RankAD, all rows"
ANCHORED, NO_ANCHOR, NO_FAR_FIELD = (
    "RankAD as published, anchored",
    "RankAD, no anchor",
    "RankAD, no far field",
)
TRAINING_RANKS = "RankAD, training ranks"
KNN, LOF, ECOD, HALVED = "mean k-NN, k = 5", "LOF", "ECOD", "aK-LPE, halved"

#: Of the sweep; the first is libsvm's default, and the column of the tables.
NUS: Final = (0.5, 0.2, 0.1, 0.05, 0.03, 0.01)
SWEEP: Final = tuple(OC_SVM if nu == NUS[0] else f"{OC_SVM}, nu = {nu:g}" for nu in NUS)

#: Methods of the paper's Table 2.
OF_PAPER: Final = (DEFAULT, PUBLISHED, OC_SVM, BP_KNNG, AK_LPE, IFOREST, MASSAD)

#: Today's strongest neighbors, and another reading of aK-LPE.
OF_TODAY: Final = (KNN, LOF, ECOD, HALVED)

#: RankAD without one of its remedies, and with all rows both to train and to calibrate.
REMEDIES: Final = (NO_ANCHOR, NO_FAR_FIELD, TRAINING_RANKS, ALL_ROWS)

_WIDTH = "kernel width by quantiles of the squared distances (Caputo et al., 2002)"

_METHODS = (
    Method(
        DEFAULT,
        "`RankAD()`: three quarters of the rows train, a quarter calibrates; at most 800 centers",
        _by_rankad(RankAD),
        paper.RANKAD,
    ),
    Method(
        PUBLISHED,
        "`RankAD.as_published()`: k = 10, m = 3, 13 x 21 cells of (C, sigma), 4 folds, training "
        "ranks",
        _by_rankad(RankAD.as_published),
        paper.RANKAD,
    ),
    *(
        Method(
            name,
            f"scikit-learn, nu = {nu:g}, {_WIDTH}",
            _by_one_class_svm(nu),
            paper.OC_SVM if name == OC_SVM else None,
        )
        for name, nu in zip(SWEEP, NUS, strict=True)
    ),
    Method(
        BP_KNNG,
        "k = 10, the distances to all ten summed; half of the rows calibrate",
        _by_neighbors(BPKNNG),
        paper.BP_KNNG,
    ),
    Method(
        AK_LPE,
        "mean distance to the 10 nearest rows, eq. (7); training ranks",
        _by_neighbors(
            lambda **given: AveragedKLPE(n_halvings=0, nearest=True, calibration="train", **given)
        ),
        paper.AK_LPE,
    ),
    Method(
        IFOREST,
        "scikit-learn, 100 trees of 256 rows",
        _by_forest,
        paper.IFOREST,
    ),
    Method(
        MASSAD,
        "100 columns of 256 rows, level 1, ties counted; training ranks; scale changes nothing",
        _by_mass,
        paper.MASSAD,
    ),
    Method(
        KNN,
        "mean distance to the 5 nearest rows; training ranks",
        _by_neighbors(
            lambda **given: AveragedKLPE(
                n_neighbors=5, n_halvings=0, nearest=True, calibration="train", **given
            )
        ),
    ),
    Method(
        LOF,
        "scikit-learn, k = 20",
        _by_local_outlier_factor,
    ),
    Method(
        HALVED,
        "Qian and Saligrama (2012): neighbors 6 to 15 in random halves, 10 times",
        _by_neighbors(lambda **given: AveragedKLPE(calibration="train", **given)),
    ),
    Method(
        ANCHORED,
        "`RankAD.as_published(anchor=1)`: the anchor, and the far field it brings",
        _by_rankad(lambda **given: RankAD.as_published(anchor=1.0, **given)),
    ),
    Method(
        NO_ANCHOR,
        "`RankAD(anchor=0)`, which has no far field either",
        _by_rankad(lambda **given: RankAD(anchor=0.0, **given)),
    ),
    Method(
        NO_FAR_FIELD,
        "`RankAD()` by its kernel sum alone",
        _without_far_field,
    ),
    Method(
        TRAINING_RANKS,
        "`RankAD(calibration='train')`",
        _by_rankad(lambda **given: RankAD(calibration="train", **given)),
    ),
    Method(
        ALL_ROWS,
        "`RankAD(calibration='cross')`: all rows train and calibrate; no guarantee",
        _by_rankad(lambda **given: RankAD(calibration="cross", **given)),
    ),
    *(
        (
            Method(
                ECOD,
                "PyOD; ranks a row among the training rows and its batch, here all test rows",
                _by_ecod,
            ),
        )
        if find_spec("pyod") is not None
        else ()
    ),
)

#: Every method that can be fitted here, by name: ECOD only where PyOD is installed.
METHODS: Final[dict[str, Method]] = {method.name: method for method in _METHODS}
