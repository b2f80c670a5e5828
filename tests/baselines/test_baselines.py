import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from pyod.models.cof import COF
from pyod.models.copod import COPOD
from pyod.models.knn import KNN
from pyod.models.lmdd import LMDD
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.covariance import EllipticEnvelope
from sklearn.ensemble import IsolationForest
from sklearn.linear_model import SGDOneClassSVM
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import LocalOutlierFactor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC, OneClassSVM

import oracles
from rankad import Calibrated, metrics
from rankad.baselines import BPKNNG, KLPE, AveragedKLPE, MassAD
from rankad.models.mass import MassOfColumn, masses_at_depth
from rankad.statistics import MeanNeighborDistance


@pytest.fixture
def new(rng):
    return np.concatenate([rng.normal(size=(40, 3)), rng.uniform(-9, 9, size=(40, 3))])


def test_klpe_is_the_published_p_value(nominal, new):
    detector = KLPE(n_neighbors=5, calibration="train", scaler=None).fit(nominal)
    training = -oracles.kth_neighbor_distance(nominal, 5)
    fresh = -oracles.kth_neighbor_distance(new, 5, nominal)
    expected = (fresh[:, None] <= training[None, :]).mean(axis=1)
    assert_allclose(detector.p_values(new), expected)


def test_averaged_klpe_scores_by_the_halved_statistic(nominal, new):
    detector = AveragedKLPE(n_neighbors=4, n_halvings=0, calibration="train", scaler=None)
    expected = oracles.halved_neighbor_distance(new, 4, 0, None, nominal)
    assert_allclose(detector.fit(nominal).score_samples(new), expected)


def test_bpknng_seeks_neighbors_in_one_half_and_compares_with_the_other(nominal, new):
    detector = BPKNNG(n_neighbors=4, n_summed=2, power=2.0, scaler=None, random_state=0)
    detector.fit(nominal)
    assert len(detector.points_) == detector.reference_.size == len(nominal) // 2
    distances = oracles.neighbor_distances(new, 4, detector.points_)
    assert_allclose(detector.score_samples(new), -(distances[:, 2:] ** 2).sum(axis=1))


def test_bpknng_with_all_summed_orders_like_the_mean(nominal, new):
    detector = BPKNNG(scaler=None, random_state=0).fit(nominal)
    mean = MeanNeighborDistance(10)(new, detector.points_)
    assert_allclose(detector.score_samples(new), 10 * mean)


@given(
    st.lists(st.sampled_from([0.0, 1.0, 1.5, 4.0]) | st.floats(-5, 5), min_size=1, max_size=9),
    st.integers(1, 3),
)
def test_masses_match_the_definition_with_ties(values, depth):
    ordered = np.sort(np.array(values))
    distinct, counts = np.unique(ordered, return_counts=True)
    if np.ptp(ordered) < 1e-9 and distinct.size > 1:
        return  # probabilities of splits in denormal gaps are rounding errors
    expected = oracles.mass_at_depth(ordered, depth)
    assert_allclose(
        np.repeat(masses_at_depth(distinct, counts, depth), counts), expected, rtol=1e-6
    )


def test_mass_of_depth_one_has_the_published_closed_form(rng):
    x = np.sort(rng.normal(size=12))
    p = np.diff(x) / (x[-1] - x[0])
    published = [
        sum(i * p[i - 1] for i in range(a, 12)) + sum((12 - j) * p[j - 1] for j in range(1, a))
        for a in range(1, 13)
    ]
    assert_allclose(masses_at_depth(x, np.ones(12, dtype=int), 1), published)


def test_mass_is_a_step_function_that_ends_half_a_gap_outside():
    mass = MassOfColumn.from_values(np.array([0.0, 1.0, 3.0, 3.0]), column=1, depth=1)
    assert_allclose(mass.borders, [-0.5, 0.5, 2.0, 4.0])
    rows = np.c_[np.zeros(7), [-0.6, -0.5, 0.4, 1.9, 2.1, 4.0, 4.1]]
    assert_allclose(mass(rows), [0, 5 / 3, 5 / 3, 7 / 3, 7 / 3, 7 / 3, 0])


def test_a_constant_column_has_all_its_mass_in_one_place():
    mass = MassOfColumn.from_values(np.full(5, 2.0), column=0, depth=1)
    assert_array_equal(mass(np.array([[1.9], [2.0], [2.1]])), [0.0, 5.0, 0.0])


def test_many_copies_of_the_smallest_value_are_inside(rng):
    rows = np.c_[np.where(rng.random(400) < 0.5, 0.0, rng.random(400))]
    detector = MassAD(random_state=0).fit(rows)
    assert detector.score_samples([[0.0]])[0] > detector.score_samples([[-0.5]])[0] == 0.0


def test_mass_does_not_depend_on_units(nominal, new):
    one, other = (MassAD(random_state=0).fit(nominal * u) for u in (1.0, [1e-3, 1.0, 1e6]))
    assert_allclose(one.score_samples(new), other.score_samples(new * [1e-3, 1.0, 1e6]))


@pytest.mark.parametrize(
    "inner",
    [OneClassSVM(), IsolationForest(n_estimators=20), LocalOutlierFactor(novelty=True), KNN()],
    ids=lambda inner: type(inner).__name__,
)
def test_calibrated_orders_as_the_detector_does(inner, nominal, new):
    detector = Calibrated(inner, random_state=0).fit(nominal)
    labels = np.r_[np.zeros(40), np.ones(40)]
    assert metrics.auc(labels, detector.score_samples(new)) > 0.75
    assert not detector.scores_rows_alone_
    sign = -1 if isinstance(inner, KNN) else 1
    raw = sign * _raw_scores(detector.detector_, new)
    assert_allclose(detector.score_samples(new), raw, rtol=1e-6, atol=1e-8)


def _raw_scores(detector, rows):
    return getattr(detector, "score_samples", detector.decision_function)(rows)


def test_calibrated_seeds_the_detector_and_leaves_the_given_one_alone(nominal, new):
    inner = IsolationForest(n_estimators=10)
    one, two = (Calibrated(inner, random_state=5).fit(nominal).p_values(new) for _ in range(2))
    assert_array_equal(one, two)
    assert inner.random_state is None
    assert not hasattr(inner, "estimators_")
    seeded = Calibrated(IsolationForest(random_state=9), random_state=5).fit(nominal)
    assert seeded.detector_.random_state == 9


def test_scores_that_depend_on_the_batch_are_taken_row_by_row(nominal, new):
    with pytest.warns(UserWarning, match="COPOD scores a row differently in different batches"):
        detector = Calibrated(COPOD(), random_state=0).fit(nominal)
    assert detector.scores_rows_alone_
    together = detector.score_samples(new)
    alone = [detector.score_samples(row[None])[0] for row in new]
    assert_array_equal(together, alone)


def test_a_detector_that_cannot_score_new_rows_is_refused(nominal):
    with pytest.raises(TypeError, match="LocalOutlierFactor scores new rows with novelty"):
        Calibrated(LocalOutlierFactor()).fit(nominal)


class OnlyDecides(OutlierMixin, BaseEstimator):
    """A detector in scikit-learn's convention, without score_samples."""

    def fit(self, X, y=None):
        self.center_ = X.mean(axis=0)
        return self

    def decision_function(self, X):
        return 3.0 - np.abs(X - self.center_).max(axis=1)

    def score(self, X, y=None):
        return 0.0


@pytest.mark.parametrize(
    "inner",
    [
        OnlyDecides(),
        make_pipeline(StandardScaler(), OnlyDecides()),
        GridSearchCV(OnlyDecides(), {}, cv=2),
        KNN(),
        make_pipeline(StandardScaler(), KNN()),
        make_pipeline(StandardScaler(), IsolationForest(n_estimators=20)),
        make_pipeline(StandardScaler(), GridSearchCV(OnlyDecides(), {}, cv=2)),
        EllipticEnvelope(),
        SGDOneClassSVM(),
    ],
    ids=str,
)
def test_scores_point_the_right_way_however_deep_the_detector(inner, rng):
    nominal, far = rng.normal(size=(200, 2)), 8 + rng.normal(size=(50, 2))
    if "SGD" in str(inner):
        nominal, far = nominal + 5, 0.1 * far - 5  # its hyperplane is linear
    detector = Calibrated(inner, random_state=0).fit(nominal)
    assert detector.p_values(far).mean() < 0.1
    assert detector.p_values(nominal).mean() > 0.3


def test_duplicates_tie_whatever_the_detector_rounds(rng):
    rows = rng.normal(size=(30, 7))[rng.integers(0, 30, size=400)]
    for inner in (KNN(), GaussianMixture(2, random_state=0), OneClassSVM()):
        detector = Calibrated(inner, random_state=0).fit(rows)
        together = detector.p_values(rows)
        assert_array_equal(together, [detector.p_values(row[None])[0] for row in rows])


@pytest.mark.parametrize("inner", [COF(), LMDD()], ids=["COF", "LMDD"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_cannot_score_a_row_by_itself_is_refused_by_name(inner, nominal):
    with pytest.raises(TypeError, match=f"{type(inner).__name__} .*cannot be calibrated"):
        Calibrated(inner).fit(nominal[:60])


def test_what_decides_without_a_convention_is_refused(nominal):
    with pytest.raises(TypeError, match="LinearSVC cannot be calibrated: it is not a scikit"):
        Calibrated(_FittedWithLabels()).fit(nominal)


class _FittedWithLabels(BaseEstimator):
    """A classifier: it has decisions, but they do not say which side is anomalous."""

    def fit(self, X, y=None):
        self.best_estimator_ = LinearSVC().fit(X, np.arange(len(X)) % 2)
        return self

    def decision_function(self, X):
        return self.best_estimator_.decision_function(X)


def test_settings_beyond_the_rows_are_reported(rng):
    rows = rng.normal(size=(40, 2))
    with pytest.warns(UserWarning, match="n_neighbors=1000 lowered to 29"):
        KLPE(alpha=0.5, n_neighbors=1000, random_state=0).fit(rows)
    with pytest.raises(ValueError, match="n_summed=50 must be at most n_neighbors=5"):
        BPKNNG(n_neighbors=5, n_summed=50).fit(rows)


def test_halvings_are_used(nominal, new):
    once, halved = (
        AveragedKLPE(n_halvings=n, random_state=0).fit(nominal).score_samples(new) for n in (0, 5)
    )
    assert (once != halved).all()


def test_what_is_no_detector_is_refused(nominal):
    with pytest.raises(ValueError, match="'detector' parameter of Calibrated must be"):
        Calibrated("forest").fit(nominal)
