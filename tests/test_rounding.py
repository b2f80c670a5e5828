import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.stats import binom
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.ensemble import IsolationForest
from sklearn.neighbors import LocalOutlierFactor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from rankad import Calibrated, DriftMonitor, RankAD, Reweighted
from rankad._rounding import Rounding
from rankad.baselines import BPKNNG, KLPE, AveragedKLPE, MassAD
from rankad.calibration import (
    CrossFittedScores,
    GroupScores,
    HeldOutScores,
    TimeScores,
    TrainingScores,
)
from rankad.calibration.growth import grown
from rankad.options import RankSVM


def by_pca():
    return make_pipeline(StandardScaler(), PCA(10))


def by_far_pca():
    """Large numbers cancel in it."""
    return PCA(4)


def by_one_hot():
    encoder = OneHotEncoder(sparse_output=False, handle_unknown="ignore")
    columns = ColumnTransformer([("codes", encoder, [0, 1])], remainder=StandardScaler())
    return make_pipeline(columns, PCA(8))


def atoms_for(scaler, rng):
    """Rows that are drawn again and again."""
    atoms = rng.normal(size=(40, 12))
    if scaler is by_far_pca:
        atoms += 1e7
    if scaler is by_one_hot:
        atoms[:, :2] = rng.integers(0, 4, size=(40, 2))
    return atoms


DETECTORS = {
    "KLPE": lambda scaler: KLPE(scaler=scaler()),
    "KLPE many neighbors": lambda scaler: KLPE(scaler=scaler(), n_neighbors=60),
    "AveragedKLPE": lambda scaler: AveragedKLPE(scaler=scaler(), n_neighbors=60),
    "BPKNNG": lambda scaler: BPKNNG(scaler=scaler(), n_neighbors=60, power=0.5),
    "RankAD": lambda scaler: RankAD(scaler=scaler(), n_neighbors=60),
    "RankAD narrow": lambda scaler: RankAD(scaler=scaler(), n_neighbors=60, sigma=0.5),
    "RankAD wide": lambda scaler: RankAD(scaler=scaler(), n_neighbors=60, sigma=100.0, C=1000.0),
    "RankAD outward": lambda scaler: RankAD(
        scaler=scaler(), n_neighbors=60, ranker=RankSVM(outward=0.5)
    ),
    "RankAD float32": lambda scaler: RankAD(
        scaler=scaler(), n_neighbors=60, sigma=3.0, ranker=RankSVM(dtype="float32")
    ),
    "MassAD": lambda scaler: MassAD(),
    "isolation forest": lambda scaler: Calibrated(
        make_pipeline(scaler(), IsolationForest(n_estimators=10))
    ),
}


MAY_STAY_IN_FLOAT64 = pytest.mark.filterwarnings("ignore:Scoring stays in float64")


@MAY_STAY_IN_FLOAT64
@pytest.mark.parametrize("scaler", [by_pca, by_far_pca, by_one_hot])
@pytest.mark.parametrize("make", DETECTORS.values(), ids=DETECTORS)
def test_a_row_keeps_its_ties_alone_and_in_any_batch(make, scaler, rng):
    atoms, drawn = atoms_for(scaler, rng), rng.integers(0, 40, size=1200)
    detector = make(scaler).set_params(random_state=0).fit(atoms[drawn])
    rows = np.concatenate([atoms, rng.permutation(atoms)])
    together = detector.score_samples(rows)
    others = {
        "alone": np.concatenate([detector.score_samples(row[None]) for row in rows]),
        "columns first": detector.score_samples(np.asfortranarray(rows)),
        "every second": detector.score_samples(np.repeat(rows, 2, axis=0)[::2]),
        "backwards": detector.score_samples(rows[::-1])[::-1],
        "in threes": np.concatenate(
            [detector.score_samples(rows[i : i + 3]) for i in range(0, len(rows), 3)]
        ),
    }
    reference = detector.reference_
    for way, scores in others.items():
        assert (np.abs(scores - together) <= reference.rounding.of(together)).all(), way
    # In exact arithmetic each held-out row has the score of its atom.
    held_out = together[drawn[detector.calibration_indices_]]
    exact = HeldOutScores.from_scores(held_out).p_values(together)
    for scores in (together, *others.values()):
        assert (reference.p_values(scores) >= exact).all()


@pytest.mark.slow
@MAY_STAY_IN_FLOAT64
@pytest.mark.parametrize("make", DETECTORS.values(), ids=DETECTORS)
@pytest.mark.parametrize("scaler", [by_pca, by_one_hot])
def test_copies_raise_no_more_false_alarms_than_promised(make, scaler):
    # One row of each of 30 detectors, scored alone, so that alarms are independent. A correct
    # detector fails at each of 4 alphas with a probability of at most 1e-4.
    alphas, n_detectors = (0.05, 0.1, 0.2, 0.4), 30
    is_alarm = np.zeros((n_detectors, len(alphas)))
    for seed in range(n_detectors):
        rng = np.random.default_rng(seed)
        atoms = atoms_for(scaler, rng)
        detector = make(scaler).set_params(random_state=seed)
        detector.fit(atoms[rng.integers(0, 40, size=600)])
        p = detector.p_values(atoms[rng.integers(0, 40)][None])
        is_alarm[seed] = p[0] <= np.array(alphas)
    for alpha, n_alarms in zip(alphas, is_alarm.sum(axis=0), strict=True):
        assert n_alarms <= binom.ppf(1 - 1e-4, n_detectors, alpha)


@pytest.mark.parametrize("seed", range(3))
def test_rows_of_six_atoms_alarm_alike_alone_and_in_a_batch(seed):
    rng = np.random.default_rng(seed)
    atoms = rng.normal(size=(6, 12))
    detector = KLPE(scaler=by_pca(), random_state=seed).fit(atoms[rng.integers(0, 6, size=2000)])
    rows = atoms[rng.integers(0, 6, size=200)]
    assert (detector.predict(rows, alpha=0.05) == 1).all()
    assert all(detector.predict(row[None], alpha=0.05) == 1 for row in rows)


def test_columns_that_a_scaler_does_not_mix_have_no_rounding_of_rows(rng):
    rows = rng.normal(size=(200, 3))
    for scaler in ("standard", "robust", None):
        detector = KLPE(scaler=scaler, random_state=0).fit(rows)
        assert detector.reference_.rounding == Rounding.in_precision("float64")
    assert RankAD(random_state=0).fit(rows).reference_.rounding.absolute < 1e-10


@pytest.mark.parametrize("C", [1.0, 1000.0])
@pytest.mark.parametrize("width", [0.5, 2.0, 32.0])
def test_the_rounding_of_a_kernel_sum_covers_other_orders_and_hides_nothing(rng, width, C):
    rows = rng.normal(size=(600, 4))
    distance = RankAD(random_state=0).fit(rows).mean_neighbor_distance_
    detector = RankAD(sigma=width * distance, C=C, n_centers=None, random_state=0).fit(rows)
    expansion, new = detector.expansion_, 1.3 * rng.normal(size=(500, 4))
    coordinates = (new - expansion.offset) / expansion.scale
    squares = ((coordinates[:, None] - expansion.centers) ** 2).sum(axis=2) / expansion.sigma**2
    order = rng.permutation(expansion.n_centers)
    sums = (np.exp(-squares)[:, order] * expansion.weights[order]).sum(axis=1)
    scores = expansion.far_field.applied(sums, np.sqrt(squares.min(axis=1)))
    rounding = detector.reference_.rounding
    assert (8 * np.abs(scores - detector.score_samples(new)) <= rounding.of(scores)).all()
    spread = np.subtract(*np.quantile(detector.reference_.scores, [0.9, 0.1]))
    assert rounding.of(detector.reference_.scores).max() < 1e-6 * spread


def test_a_score_far_out_does_not_widen_the_rounding_of_another_library(rng):
    rows = rng.normal(size=(400, 2))
    rows[0] = 1e9
    detector = Calibrated(LocalOutlierFactor(novelty=True), calibration_size=100, random_state=0)
    scores = detector.fit(rows).reference_.scores
    assert detector.reference_.rounding.absolute < 1e-6 * np.subtract(
        *np.quantile(scores, [0.9, 0.1])
    )


@st.composite
def rounded_scores(draw):
    """Scores with ties, and two roundings of each within a tolerance."""
    grid = st.integers(-5, 5).map(float) | st.floats(-1e6, 1e6)
    scores = np.array(draw(st.lists(grid, min_size=1, max_size=30)))
    rounding = Rounding(
        draw(st.sampled_from([0.0, 1e-9, 1e-3])), draw(st.sampled_from([0.0, 1e-9]))
    )
    shares = draw(st.lists(st.floats(-1, 1), min_size=len(scores), max_size=len(scores)))
    # Each of two computations is off by at most half of the rounding, less its own rounding.
    return scores, scores + 0.499 * np.array(shares) * rounding.of(scores), rounding


KINDS = {
    "held out": HeldOutScores.from_scores,
    "training": TrainingScores.from_scores,
    "cross-fitted": CrossFittedScores.from_scores,
    "groups": lambda scores: GroupScores.from_groups(scores, np.arange(len(scores)) // 3),
    "time": lambda scores: TimeScores.from_runs(scores, np.array([0])),
}


@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)
@given(rounded_scores(), st.floats(-1, 1), st.floats(0.01, 0.99))
def test_p_values_are_never_below_those_of_exact_scores(make, drawn, share, alpha):
    exact, rounded, rounding = drawn
    new = exact + 0.499 * share * rounding.of(exact)
    reference, p = make(rounded).with_rounding(rounding), make(exact).p_values(exact)
    assert (reference.p_values(new) >= p - 1e-15).all()
    is_alarm = new < reference.threshold(alpha)
    assert_array_equal(is_alarm, reference.p_values(new) <= alpha)


@given(rounded_scores())
def test_lowered_scores_ascend(drawn):
    scores, _, rounding = drawn
    in_order = np.sort(np.append(scores, [-np.inf, np.inf]))
    lowered = rounding.lowered(in_order)
    assert (np.diff(lowered[1:-1]) >= 0).all()
    assert (lowered <= in_order).all()
    assert_array_equal(lowered[[0, -1]], [-np.inf, np.inf])


def test_ties_up_to_the_rounding_are_noticed():
    scores = np.array([0.0, 1.0, 1.0 + 1e-12, 2.0])
    reference = HeldOutScores.from_scores(scores).with_rounding(Rounding(1e-9))
    assert [reference.is_tied(order) for order in range(1, 5)] == [False, True, True, False]
    assert not reference.is_tied(0)
    assert not reference.is_tied(5)


def test_the_reference_keeps_its_rounding(rng):
    rounding = Rounding(1e-3, 1e-6)
    reference = HeldOutScores.from_scores(rng.normal(size=50)).with_rounding(rounding)
    reference.p_values(np.zeros(1))
    for other in (
        copy.deepcopy(reference),
        pickle.loads(pickle.dumps(reference)),
        reference.extended(np.zeros(3)),
        grown(
            TrainingScores.from_scores(np.zeros(3)).with_rounding(rounding),
            np.ones(3),
            None,
            replace=False,
        ),
    ):
        assert other.rounding == rounding
    assert len(pickle.dumps(reference)) < 1000  # without what is derived from the scores
    detector = KLPE(scaler=by_pca(), random_state=0).fit(rng.normal(size=(200, 12)))
    rounding = detector.reference_.rounding
    assert rounding.absolute > 0.0
    for replace in (False, True):
        detector.calibrate(rng.normal(size=(100, 12)), replace=replace)
        assert detector.reference_.rounding == rounding


def test_reweighted_rows_keep_their_ties(rng):
    atoms = rng.normal(size=(6, 12))
    detector = KLPE(scaler=by_pca(), random_state=0).fit(atoms[rng.integers(0, 6, size=600)])
    shifted = Reweighted(detector, atoms[rng.integers(0, 6, size=300)], lambda X: np.ones(len(X)))
    assert all(shifted.p_values(atom[None]) == 1.0 for atom in atoms)


def test_the_drift_monitor_breaks_rounded_ties_at_random(rng):
    """Rows of six atoms, scored alone, do not look like drift from a reference in one batch.

    With exact ties, all p-values of one atom would be on one side of its copies, and the monitor
    would alarm. The probability of a false alarm is at most 1e-3 for each of 5 monitors.
    """
    atoms = rng.normal(size=(6, 12))
    detector = KLPE(scaler=by_pca(), random_state=0).fit(atoms[rng.integers(0, 6, size=2000)])
    alone = np.array([detector.score_samples(atom[None])[0] for atom in atoms])
    for seed in range(5):
        monitor = DriftMonitor(detector, alpha=1e-3, random_state=seed)
        assert not monitor.update_many(alone[rng.integers(0, 6, size=1500)])
        again = DriftMonitor.from_state(monitor.state())
        again.update_many(alone)
        monitor.update_many(alone)
        assert again.log_martingale == monitor.log_martingale
