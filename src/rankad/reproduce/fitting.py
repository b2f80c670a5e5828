"""Fits of each kind of detector, by one call.

A fit gets rows in the units of the source. It z-scores them itself if asked to. RankAD and BP-KNNG
z-score by the rows that they do not hold out, the other detectors by all rows.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from sklearn.ensemble import IsolationForest
from sklearn.neighbors import LocalOutlierFactor
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM

from rankad._typing import FloatArray
from rankad.baselines import KLPE, MassAD
from rankad.calibration import HeldOutScores, ReferenceScores, TrainingScores
from rankad.datasets import Law
from rankad.detector import RankAD
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
        Scores whose quantiles are the thresholds: those of held-out rows if the detector
        calibrates, else those of the training rows.
    n_centers : int, optional
        Support vectors, centers, or rows among which neighbors are sought.
    setting : dict
        Parameters chosen from the data, such as C and sigma.
    """

    score: Score
    reference: ReferenceScores
    n_centers: int | None = None
    setting: dict[str, float] = field(default_factory=dict)


#: Arguments: the rows, whether to z-score them, the seed.
Fit = Callable[[FloatArray, bool, int], Fitted]


@dataclass(frozen=True)
class Method:
    """A method: its name, its setting in words, its fit, and its column in the paper."""

    name: str
    setting: str
    fit: Fit
    paper: str | None = None


def _scaler(standard: bool) -> str | None:
    return "standard" if standard else None


def by_rankad(make: Callable[..., RankAD]) -> Fit:
    """A fit of the RankAD that ``make`` returns for a scaler and a seed."""

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


def without_far_field(rows: FloatArray, standard: bool, seed: int) -> Fitted:
    """The default detector without its far field; the same rows train and calibrate."""
    detector = RankAD(scaler=_scaler(standard), random_state=seed).fit(rows)
    expansion = replace(detector.expansion_, far_field=None)

    def score(new: FloatArray) -> FloatArray:
        return expansion_scores(expansion, detector.scaler_, new, n_jobs=None)

    reference = HeldOutScores.from_scores(score(rows[detector.calibration_indices_]))
    reference = reference.with_rounding(detector.reference_.rounding)
    return _fitted_rankad(detector, score, reference)


def by_neighbors(make: Callable[..., KLPE]) -> Fit:
    """A fit of the neighbor detector that ``make`` returns for a scaler and a seed."""

    def fit(rows: FloatArray, standard: bool, seed: int) -> Fitted:
        detector = make(scaler=_scaler(standard), random_state=seed).fit(rows)
        return Fitted(detector.score_samples, detector.reference_, len(detector.points_))

    return fit


def by_mass(rows: FloatArray, standard: bool, seed: int) -> Fitted:
    """MassAD with training ranks; scaling changes nothing for it."""
    detector = MassAD(calibration="train", random_state=seed).fit(rows)
    return Fitted(detector.score_samples, detector.reference_)


def scaled_first(fit: Callable[[FloatArray, int], Fitted]) -> Fit:
    """A fit that z-scores by all rows first, if asked to."""

    def fit_scaled(rows: FloatArray, standard: bool, seed: int) -> Fitted:
        if not standard:
            return fit(rows, seed)
        scaler = StandardScaler().fit(rows)
        fitted = fit(scaler.transform(rows), seed)
        return replace(fitted, score=lambda new: fitted.score(scaler.transform(new)))

    return fit_scaled


@scaled_first
def by_forest(rows: FloatArray, seed: int) -> Fitted:
    """scikit-learn's isolation forest."""
    detector = IsolationForest(n_estimators=100, max_samples=256, random_state=seed).fit(rows)
    return Fitted(detector.score_samples, TrainingScores.from_scores(detector.score_samples(rows)))


@scaled_first
def by_local_outlier_factor(rows: FloatArray, seed: int) -> Fitted:
    """scikit-learn's LOF."""
    detector = LocalOutlierFactor(novelty=True).fit(rows)
    # A training row has the score that it got among the other training rows.
    reference = TrainingScores.from_scores(detector.negative_outlier_factor_)
    return Fitted(detector.score_samples, reference, len(rows))


def by_one_class_svm(nu: float) -> Fit:
    """A fit of scikit-learn's one-class SVM; the distances of the rows set the kernel width."""

    @scaled_first
    def fit(rows: FloatArray, seed: int) -> Fitted:
        gamma = _gamma_of_quantiles(rows, np.random.default_rng(seed))
        detector = OneClassSVM(nu=nu, gamma=gamma).fit(rows)
        reference = TrainingScores.from_scores(detector.score_samples(rows))
        n_support = len(detector.support_)
        setting = {"nu": nu, "sigma": gamma**-0.5}
        return Fitted(detector.score_samples, reference, n_support, setting)

    return fit


def _gamma_of_quantiles(points: FloatArray, rng: np.random.Generator) -> float:
    """Factor of the squared distance in the kernel, after Caputo et al. (2002).

    It is the mean of the inverses of two quantiles, .1 and .9, of the squared distances of random
    pairs.
    """
    first, second = rng.integers(0, len(points), size=(2, len(points) // 2))
    squared = ((points[first] - points[second]) ** 2).sum(axis=1)
    return float(np.mean(1.0 / np.quantile(squared[squared > 0.0], [0.1, 0.9])))


def by_ecod(rows: FloatArray, standard: bool, seed: int) -> Fitted:
    """PyOD's ECOD."""
    from pyod.models.ecod import ECOD

    detector = ECOD().fit(rows)
    return Fitted(
        lambda points: -detector.decision_function(points),
        TrainingScores.from_scores(-detector.decision_scores_),
    )


def by_density(law: Law) -> Fit:
    """A fit that scores by the true density of the nominal rows."""

    def score(points: FloatArray) -> FloatArray:
        return np.nan_to_num(law.log_density(points), neginf=-1e300)  # an AUC needs finite scores

    return lambda rows, standard, seed: Fitted(score, TrainingScores.from_scores(score(rows)))
