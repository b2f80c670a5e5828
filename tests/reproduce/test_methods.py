"""Each method that is compared is what its setting says."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist

from rankad.datasets import NormalMixture
from rankad.metrics import auc
from rankad.reproduce import methods, paper
from rankad.reproduce.experiments import FIG_2, FIG_3, TABLE_2
from rankad.reproduce.methods import METHODS
from rankad.reproduce.protocol import Split

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # few rows


@pytest.fixture(scope="module")
def rows():
    """Two columns, one in units a thousand times as large."""
    return np.random.default_rng(0).normal(size=(160, 2)) * (1.0, 1_000.0)


@pytest.fixture(scope="module")
def anomalies():
    return np.array([[6.0, 0.0], [0.0, 6_000.0], [-5.0, 5_000.0], [-6.0, -6_000.0]])


@pytest.mark.parametrize("standard", [True, False])
@pytest.mark.parametrize("name", METHODS)
def test_every_method_scores_nominal_rows_higher(name, standard, rows, anomalies):
    fitted = METHODS[name].fit(rows[:120], standard, 0)
    assert np.isfinite(fitted.reference.threshold(0.1))
    if name in (methods.PUBLISHED, methods.NO_ANCHOR):
        # Far points may come out as nominal without the anchor; the rim of the data may not.
        distances = ((rows[:120] / (1.0, 1_000.0)) ** 2).sum(axis=1)
        scores = fitted.score(rows[:120])[np.argsort(distances)]
        assert scores[:40].mean() > scores[-40:].mean()
        return
    test = np.concatenate([rows[120:], anomalies])
    assert auc(np.arange(len(test)) >= 40, fitted.score(test)) > 0.7


@pytest.mark.parametrize("name", [methods.DEFAULT, methods.BP_KNNG])
def test_those_that_calibrate_hold_rows_out(name, rows):
    fitted = METHODS[name].fit(rows, True, 0)
    assert fitted.reference.guarantee == "exact"
    assert fitted.reference.size == (40 if name == methods.DEFAULT else 80)


@pytest.mark.parametrize(("name", "k"), [(methods.AK_LPE, 10), (methods.KNN, 5)])
def test_neighbor_methods_are_the_mean_distance_to_the_nearest(name, k, rows):
    train, test = rows[:120], rows[120:]
    center, spread = train.mean(axis=0), train.std(axis=0)
    distances = np.sort(cdist((test - center) / spread, (train - center) / spread), axis=1)
    fitted = METHODS[name].fit(train, True, 0)
    assert_allclose(fitted.score(test), -distances[:, :k].mean(axis=1))
    assert (fitted.n_centers, fitted.reference.guarantee) == (120, "none")
    raw = np.sort(cdist(test, train), axis=1)
    assert_allclose(METHODS[name].fit(train, False, 0).score(test), -raw[:, :k].mean(axis=1))


def test_the_one_class_svm_has_the_width_of_its_setting_and_nu_of_its_name(rows):
    fitted = METHODS[methods.OC_SVM].fit(rows, False, 3)
    rng = np.random.default_rng(3)
    first, second = rng.integers(0, 160, size=(2, 80))
    squared = ((rows[first] - rows[second]) ** 2).sum(axis=1)
    low, high = np.quantile(squared[squared > 0], [0.1, 0.9])
    assert_allclose(fitted.setting["sigma"] ** -2, (1 / low + 1 / high) / 2)
    for name, nu in zip(methods.SWEEP, methods.NUS, strict=True):
        swept = METHODS[name].fit(rows, True, 0)
        assert swept.setting["nu"] == nu
        assert nu * 160 <= swept.n_centers  # nu bounds the share of support vectors from below


def test_without_the_far_field_far_points_tie(rows):
    far = np.array([[1e3, 1e6], [2e3, 2e6]])
    tied = METHODS[methods.NO_FAR_FIELD].fit(rows, True, 0)
    ordered = METHODS[methods.DEFAULT].fit(rows, True, 0)
    assert_array_equal(tied.score(far), 0.0)
    assert np.diff(ordered.score(far)) < 0.0
    # Else they are the same: fitted to the same rows, calibrated by the same.
    assert tied.setting == ordered.setting
    near = ordered.score(rows) > 0.0
    assert_allclose(tied.score(rows)[near], ordered.score(rows)[near], rtol=1e-9)
    is_near = ordered.reference.scores > 0.0
    assert_allclose(tied.reference.scores[is_near], ordered.reference.scores[is_near], rtol=1e-9)
    assert is_near.sum() > 20


def test_the_bayes_detector_is_the_density():
    law = NormalMixture(np.array([1.0]), np.zeros((1, 2)), np.ones((1, 2)))
    points = law.sample(50, random_state=0)
    split = Split(points, points, points, law)
    fitted = methods.ORACLES[methods.BAYES](split).fit(points, False, 0)
    order = np.argsort((points**2).sum(axis=1))
    assert_array_equal(np.argsort(-fitted.score(points)), order)


def test_the_bayes_detector_needs_the_law(rows):
    with pytest.raises(ValueError, match="needs the law of the nominal rows"):
        methods.bayes(Split(rows, rows, rows))


def test_the_methods_of_the_paper_and_todays_are_compared():
    assert {METHODS[name].paper for name in methods.OF_PAPER} == {*paper.METHODS}
    asked = {methods.KNN, methods.LOF, methods.DEFAULT, methods.PUBLISHED, *methods.SWEEP}
    assert asked < {*TABLE_2.methods}
    assert methods.ECOD in TABLE_2.methods  # PyOD is installed where tests are run
    for experiment in (TABLE_2, FIG_2, FIG_3):
        assert {*experiment.methods} <= {*METHODS, *methods.ORACLES}
        assert {*experiment.drawn} <= {*experiment.methods}
