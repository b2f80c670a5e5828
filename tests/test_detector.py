import logging
import operator
import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import spearmanr
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import KFold, ShuffleSplit
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    QuantileTransformer,
    StandardScaler,
)

from rankad import RankAD
from rankad._scaling import fitted_scaler
from rankad.calibration import CrossFittedScores, HeldOutScores, TrainingScores
from rankad.datasets import SMOOTH_LAWS
from rankad.exceptions import (
    CalibrationWarning,
    ConvergenceWarning,
    NoPairsError,
    UnresolvableAlphaError,
)
from rankad.options import Pairs, RankSVM
from rankad.statistics import STATISTICS, MeanNeighborDistance
from rankad.tuning import cross_validate, rule_n_neighbors

DTYPES = pytest.mark.parametrize("dtype", ["float64", "float32"])

HINGE, NARROW = RankSVM(loss="hinge"), RankSVM(dtype="float32")


@pytest.fixture
def detector(nominal):
    return RankAD(random_state=0).fit(nominal)


@pytest.fixture
def new(rng):
    return np.concatenate([rng.normal(size=(40, 3)), rng.uniform(-9, 9, size=(40, 3))])


def test_the_default_follows_the_rule(detector):
    assert detector.reference_.size == 60
    assert_allclose(detector.C_, 32 / 180)
    assert_allclose(detector.sigma_, detector.mean_neighbor_distance_)  # three columns
    assert isinstance(detector.reference_, HeldOutScores)
    assert detector.solution_.n_iter == detector.n_iter_ >= 1
    assert not hasattr(detector, "cv_results_")


def test_p_values_lie_in_the_half_open_interval_and_follow_the_score(detector, new):
    p, scores = detector.p_values(new), detector.score_samples(new)
    assert ((p > 0) & (p <= 1)).all()
    assert (np.diff(p[np.argsort(scores)]) >= 0).all()


@pytest.mark.parametrize("alpha", [0.02, 0.05, 0.3, 0.5])
def test_any_alpha_is_p_at_most_alpha_without_refitting(detector, new, alpha):
    assert_array_equal(
        detector.predict(new, alpha=alpha), np.where(detector.p_values(new) <= alpha, -1, 1)
    )


def test_the_constructors_alpha_is_the_default_alpha(nominal, new):
    detector = RankAD(alpha=0.2, random_state=0).fit(nominal)
    assert_array_equal(detector.predict(new), detector.predict(new, alpha=0.2))
    assert_array_equal(detector.predict(new), np.where(detector.decision_function(new) < 0, -1, 1))
    assert detector.offset_ == detector.reference_.lowered[int(0.2 * 61) - 1]


def test_alpha_can_be_set_after_fitting(detector, new):
    detector.set_params(alpha=0.3)
    assert_array_equal(detector.predict(new), detector.predict(new, alpha=0.3))
    assert_array_equal(detector.decision_function(new) < 0, detector.p_values(new) <= 0.3)
    detector.set_params(alpha=7)
    with pytest.raises(ValueError, match="alpha must be a number between 0 and 1"):
        detector.predict(new)


def test_an_explicit_alpha_too_fine_is_refused_with_the_smallest(detector, new):
    with pytest.raises(
        UnresolvableAlphaError, match=r"smallest alpha that can alarm is 0\.0164\. .*999"
    ):
        detector.predict(new, alpha=0.001)


def test_the_constructors_alpha_too_fine_warns_and_nothing_alarms(nominal, new):
    with pytest.warns(CalibrationWarning, match="nothing can alarm"):
        detector = RankAD(alpha=0.001, random_state=0).fit(nominal)
    assert (detector.predict(new) == 1).all()
    assert detector.offset_ == -np.inf


@pytest.mark.parametrize("alpha", [0, 1, -0.1, 2, "0.05", [0.1]])
def test_an_alpha_outside_its_range_is_refused(detector, new, alpha):
    with pytest.raises(ValueError, match="alpha must be a number between 0 and 1"):
        detector.predict(new, alpha=alpha)


@DTYPES
@pytest.mark.parametrize("sigma", ["auto", 1e-3, 0.1, 1.0, 10.0, 1e3])
@pytest.mark.parametrize("distance", [1e4, 1e9, 1e30, 1e300])
@pytest.mark.filterwarnings("ignore:Scoring stays in float64")
def test_a_far_point_gets_the_smallest_p_value(dtype, sigma, distance, nominal, rng):
    detector = RankAD(sigma=sigma, ranker=RankSVM(dtype=dtype), random_state=0).fit(nominal)
    directions = rng.normal(size=(20, 3))
    directions /= np.abs(directions).max(axis=1, keepdims=True)
    far = np.concatenate([distance * directions, distance * np.eye(3), -distance * np.eye(3)])
    assert_array_equal(detector.p_values(far), 1 / (detector.reference_.size + 1))
    assert np.isfinite(detector.score_samples(far)).all()


def test_the_published_detector_lets_far_points_pass(nominal):
    published = RankAD.as_published(sigma=[1.0], C=[1.0], random_state=0).fit(nominal)
    assert published.p_values(np.full((1, 3), 1e6))[0] > 0.1


@DTYPES
def test_duplicated_rows_score_identically_alone_and_in_any_batch(dtype, nominal, rng):
    detector = RankAD(ranker=RankSVM(dtype=dtype), random_state=0).fit(nominal)
    rows = rng.normal(size=(30, 3))
    batch = np.repeat(rows, 4, axis=0)[rng.permutation(120)]
    scores, p = detector.score_samples(batch), detector.p_values(batch)
    for row in rows:
        same = (batch == row).all(axis=1)
        assert_array_equal(scores[same], detector.score_samples(row[None])[0])
        assert_array_equal(p[same], detector.p_values(row[None])[0])
    assert scores.dtype == np.float64


def test_a_duplicated_reference_row_ties_with_itself(nominal):
    rows = nominal[np.random.default_rng(0).integers(0, 60, size=300)]
    detector = RankAD(random_state=0).fit(rows)
    held_out = detector.reference_.scores
    scores = np.array([detector.score_samples(row[None])[0] for row in rows])
    assert np.isin(held_out, scores).all()


def test_published_means_the_paper_to_the_letter(nominal):
    published = RankAD.as_published(random_state=0, n_jobs=2).fit(nominal)
    assert len(published.cv_results_["params"]) == 13 * 21
    assert "split3_test_score" in published.cv_results_
    assert isinstance(published.reference_, TrainingScores)
    assert published.reference_.size == len(nominal)
    assert published.expansion_.far_field is None
    assert_array_equal(published.scaler_.transform(nominal), nominal)
    relative = np.unique(published.cv_results_["param_sigma"]) / published.mean_neighbor_distance_
    assert_allclose(relative, 2.0 ** np.arange(-10, 11))


def test_published_takes_overrides():
    published = RankAD.as_published(scaler="standard", anchor=1.0)
    assert published.scaler == "standard"
    assert published.anchor == 1.0
    assert published.C == "published"


def test_a_seed_makes_everything_reproducible(nominal, new):
    params = {"C": [0.1, 1.0], "sigma": [0.5, 1.0], "random_state": 3}
    one, two = RankAD(**params).fit(nominal), RankAD(**params).fit(nominal)
    assert_array_equal(one.p_values(new), two.p_values(new))
    for key in ("mean_test_score", "rank_test_score"):
        assert_array_equal(one.cv_results_[key], two.cv_results_[key])


def test_one_of_two_can_be_cross_validated(nominal):
    detector = RankAD(sigma=[0.5, 1.0], ranker=RankSVM(cv=ShuffleSplit(2, random_state=0)))
    detector.set_params(random_state=0).fit(nominal)
    assert detector.sigma_ in (0.5, 1.0)
    assert_allclose(detector.C_, 32 / 180)
    assert len(detector.cv_results_["params"]) == 2


def test_given_parameters_are_used(nominal):
    detector = RankAD(C=0.5, sigma=2.0, n_neighbors=4, random_state=0).fit(nominal)
    assert (detector.C_, detector.sigma_, detector.n_neighbors_) == (0.5, 2.0, 4)


@pytest.mark.parametrize(
    "scaler", ["standard", "robust", MinMaxScaler(), QuantileTransformer(n_quantiles=50), PCA(2)]
)
def test_scaled_columns_make_units_irrelevant(scaler, nominal, new):
    units = np.array([1.0, 1000.0, 0.01])
    if isinstance(scaler, PCA):
        units = 1000.0
    one = RankAD(scaler=scaler, random_state=0).fit(nominal)
    other = RankAD(scaler=scaler, random_state=0).fit(nominal * units)
    assert_allclose(one.p_values(new), other.p_values(new * units), atol=0.05)


def test_a_given_transformer_is_cloned(nominal):
    scaler = MinMaxScaler()
    RankAD(scaler=scaler, random_state=0).fit(nominal)
    assert not hasattr(scaler, "scale_")


def test_without_scaler_columns_stay_as_they_are(nominal):
    detector = RankAD(scaler=None, random_state=0).fit(nominal)
    assert len(detector.expansion_.centers) > 0
    assert all((nominal == center).all(axis=1).any() for center in detector.expansion_.centers)


def test_the_scaler_learns_from_training_rows_only(nominal):
    detector = RankAD(random_state=0).fit(nominal)
    assert detector.scaler_.n_samples_seen_ == 180


@pytest.mark.parametrize(("size", "expected"), [(0.5, 120), (0.001, 1), (100, 100), (1, 1)])
def test_calibration_size_is_a_share_or_a_number(nominal, size, expected):
    detector = RankAD(alpha=0.6, calibration_size=size, random_state=0).fit(nominal)
    assert detector.reference_.size == expected


def test_calibrate_adds_reference_points_without_refitting(detector, nominal, new, rng):
    scores = detector.score_samples(new)
    more = rng.normal(size=(500, 3))
    assert detector.calibrate(more) is detector
    assert detector.reference_.size == 560
    assert_array_equal(detector.score_samples(new), scores)
    detector.predict(new, alpha=0.002)
    assert_array_equal(detector.predict(new), detector.predict(new, alpha=0.05))


def test_calibrate_replaces_training_ranks(nominal, rng):
    detector = RankAD(calibration="train", random_state=0).fit(nominal)
    assert isinstance(detector.reference_, TrainingScores)
    detector.calibrate(rng.normal(size=(99, 3)))
    assert isinstance(detector.reference_, HeldOutScores)
    assert detector.reference_.size == 99


def test_training_ranks_are_the_papers(nominal, new):
    detector = RankAD(calibration="train", random_state=0).fit(nominal)
    training = detector.score_samples(nominal)
    expected = (training[None, :] <= detector.score_samples(new)[:, None]).mean(axis=1)
    assert_allclose(detector.p_values(new), expected)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(
    "scaler", ["standard", "robust", None, MaxAbsScaler(), StandardScaler(with_mean=False)]
)
def test_the_lean_scorer_gives_the_detectors_numbers_to_the_last_bit(nominal, new, scaler, dtype):
    detector = RankAD(scaler=scaler, ranker=RankSVM(dtype=dtype), random_state=0).fit(nominal + 5.0)
    new = np.concatenate([new + 5.0, [[1e9, 0.0, 0.0]]])
    scorer = detector.scorer_
    assert_array_equal(scorer(new), detector.score_samples(new))
    assert_array_equal(scorer.p_values(new), detector.p_values(new))
    assert_array_equal([scorer.score(row) for row in new], detector.score_samples(new))
    assert_array_equal([scorer.p_value(row) for row in new], detector.p_values(new))
    assert "Scorer(KernelExpansion(" in repr(scorer)


def test_the_lean_scorer_passes_nan_on_and_takes_infinity_as_far(detector):
    scorer = detector.scorer_
    strange = np.array([[0.0, np.nan, 0.0], [0.0, np.inf, 0.0], [0.0, 0.0, 0.0]])
    assert_array_equal(np.isnan(scorer(strange)), [True, False, False])
    assert_array_equal(np.isnan(scorer.p_values(strange)), [True, False, False])
    assert np.isnan(scorer.score(strange[0]))
    assert np.isnan(scorer.p_value(strange[0]))
    assert scorer.p_value(strange[1]) == detector.reference_.smallest_alpha


def test_the_lean_scorer_passes_nan_on_whatever_the_scaler(nominal):
    detector = RankAD(scaler=MinMaxScaler(), random_state=0).fit(nominal)
    strange = np.array([[0.0, np.nan, 0.0], [0.0, np.inf, 0.0], [0.0, 0.0, 0.0]])
    p = detector.scorer_.p_values(strange)
    assert_array_equal(np.isnan(p), [True, True, False])
    assert_array_equal([detector.scorer_.p_value(row) for row in strange], p)
    assert_array_equal(detector.scorer_(strange)[2:], detector.score_samples(strange[2:]))


def test_float32_that_cannot_hold_the_rows_is_not_used(nominal):
    with pytest.warns(UserWarning, match="Scoring stays in float64"):
        detector = RankAD(
            ranker=RankSVM(dtype="float32"), scaler=None, sigma=1e-6, random_state=0
        ).fit(nominal * 1e13)
    assert detector.expansion_.centers.dtype == np.float64


@pytest.mark.parametrize(
    "params", [{"pairs": Pairs(None)}, {"pairs": Pairs(min_gap=0.3)}, {"ranker": HINGE}]
)
def test_few_centers_go_with_the_papers_other_choices(params, nominal, new):
    few, everything = (
        RankAD(n_centers=n, random_state=0, **params).fit(nominal) for n in (60, None)
    )
    assert spearmanr(few.score_samples(new), everything.score_samples(new))[0] > 0.9


def test_the_lean_scorer_follows_calibration(detector, new, rng):
    scorer = detector.scorer_
    before = scorer.p_values(new)
    detector.calibrate(rng.normal(size=(99, 3)))
    assert_array_equal(scorer.p_values(new), before)
    assert_array_equal(detector.scorer_.p_values(new), detector.p_values(new))


def test_a_statistic_can_be_any_callable(nominal, new):
    named = RankAD(n_neighbors=5, random_state=0).fit(nominal)
    instance = RankAD(statistic=MeanNeighborDistance(5), n_neighbors=5, random_state=0).fit(nominal)
    assert_array_equal(named.p_values(new), instance.p_values(new))
    by_radius = RankAD(statistic=lambda X, reference=None: -(X**2).sum(axis=1), random_state=0)
    assert by_radius.fit(nominal).n_iter_ >= 1


@pytest.mark.parametrize("values", [np.array([1.0]), np.full(180, np.nan), np.ones((180, 2))])
def test_a_statistic_must_give_one_finite_value_per_row(nominal, values):
    with pytest.raises(ValueError, match="one finite value per row: 180"):
        RankAD(statistic=lambda X, reference=None: values, random_state=0).fit(nominal)


def test_fit_predict_labels_the_rows(nominal):
    labels = RankAD(random_state=0).fit_predict(nominal)
    assert set(labels) == {-1, 1}


def test_an_early_stop_warns(nominal):
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        RankAD(ranker=RankSVM(max_iter=1), random_state=0).fit(nominal)


@pytest.mark.parametrize("method", ["p_values", "predict", "decision_function", "calibrate"])
def test_an_unfitted_detector_says_so(method, nominal):
    with pytest.raises(NotFittedError):
        getattr(RankAD(), method)(nominal)


def test_progress_is_logged_where_asked(nominal, caplog, monkeypatch):
    monkeypatch.setattr("rankad._progress._SECONDS_BETWEEN_REPORTS", 0.0)
    with caplog.at_level(logging.INFO, logger="rankad"):
        RankAD(C=[0.1, 1], ranker=RankSVM(cv=3), random_state=0, verbose=1).fit(nominal)
    text = caplog.text
    assert "ranking 180 rows of 3 columns" in text
    assert "cross-validation: 3 of 3" in text
    assert "training the ranker" in text
    assert "calibrated on 60 rows" in text


def test_float32_is_used_where_it_moves_no_p_value(nominal, new):
    wide, narrow = (
        RankAD(ranker=RankSVM(dtype=t), random_state=0).fit(nominal)
        for t in ("float64", np.float32)
    )
    assert narrow.expansion_.centers.dtype == np.float32
    assert np.abs(wide.p_values(new) - narrow.p_values(new)).max() < 0.02


def test_a_model_that_cancels_stays_in_float64(nominal, new):
    params = {"sigma": 100.0, "C": 1000.0, "random_state": 0}
    with pytest.warns(
        UserWarning, match="Scoring stays in float64, because float32 would change p-values"
    ):
        careful = RankAD(ranker=RankSVM(dtype="float32"), **params).fit(nominal)
    assert careful.expansion_.centers.dtype == np.float64
    assert_array_equal(careful.p_values(new), RankAD(**params).fit(nominal).p_values(new))
    p = careful.reference_.p_values(careful.expansion_.astype("float32")(new))
    assert np.abs(p - careful.p_values(new)).max() > 0.05


def test_a_failed_fit_leaves_the_detector_as_it_was(detector, new):
    before = detector.p_values(new)
    with pytest.raises(NoPairsError):
        detector.fit(np.ones((50, 3)))
    assert_array_equal(detector.p_values(new), before)


def test_a_failed_first_fit_leaves_it_unfitted(new):
    detector = RankAD(random_state=0)
    with pytest.raises(NoPairsError):
        detector.fit(np.ones((50, 3)))
    with pytest.raises(NotFittedError):
        detector.p_values(new)


def test_a_refit_leaves_nothing_of_the_earlier_fit(nominal):
    detector = RankAD(C=[0.1], random_state=0).fit(nominal)
    assert hasattr(detector, "cv_results_")
    detector.set_params(C=1.0).fit(nominal[:, :2])
    assert not hasattr(detector, "cv_results_")
    assert detector.n_features_in_ == 2


def test_a_random_state_object_is_advanced(nominal, new):
    rng = np.random.RandomState(0)
    one, two = (RankAD(random_state=rng).fit(nominal).score_samples(new) for _ in range(2))
    assert (one != two).any()


def test_warnings_point_at_the_users_line(nominal):
    with pytest.warns(CalibrationWarning) as caught:
        RankAD(alpha=0.001, random_state=0).fit(nominal)
    assert caught[0].filename == __file__
    with pytest.warns(ConvergenceWarning) as caught:
        RankAD(ranker=RankSVM(max_iter=1), random_state=0).fit(nominal)
    assert caught[0].filename == __file__


def test_splits_can_be_any_iterable(nominal):
    rows = np.arange(180)
    splits = [(rows[:90], rows[90:]), (rows[90:], rows[:90])]
    detector = RankAD(C=[0.1, 1.0], ranker=RankSVM(cv=splits), random_state=0).fit(nominal)
    assert "split1_test_score" in detector.cv_results_


def test_the_mean_neighbor_distance_has_its_own_number_of_neighbors(nominal):
    named = RankAD(n_neighbors=5, random_state=0).fit(nominal)
    instance = RankAD(statistic=MeanNeighborDistance(3), n_neighbors=5, random_state=0).fit(nominal)
    assert instance.mean_neighbor_distance_ == named.mean_neighbor_distance_


def test_cross_calibration_uses_every_row_twice_and_says_it_is_empirical(nominal):
    detector = RankAD(calibration="cross", random_state=0).fit(nominal)
    assert isinstance(detector.reference_, CrossFittedScores)
    assert detector.reference_.size == len(nominal)
    assert detector.scaler_.n_samples_seen_ == len(nominal)
    assert "empirical" in repr(detector.reference_)
    assert detector.p_values(np.full((1, 3), 1e9))[0] == 1 / 241
    with pytest.raises(ValueError, match="about 100% of these rows have trained this detector"):
        detector.calibrate(nominal)
    assert isinstance(detector.calibrate(nominal + 0.1).reference_, HeldOutScores)


def test_cross_calibration_warns_of_rows_that_repeat(nominal, rng):
    counts = rng.poisson(2.0, size=(150, 3)) + 0.0
    with pytest.warns(CalibrationWarning, match=r"rows are equal to another.*calibration='split'"):
        RankAD(calibration="cross", random_state=0).fit(counts)
    RankAD(calibration="split", random_state=0).fit(counts)
    RankAD(calibration="cross", random_state=0).fit(np.vstack([nominal, nominal[:1]]))


def test_cross_calibration_scores_each_row_without_its_fold(nominal):
    params = {"C": 0.1, "sigma": 1.0, "scaler": None, "robust": False}
    detector = RankAD(calibration="cross", random_state=0, **params).fit(nominal)
    rng = np.random.RandomState(0)
    out_of_fold = np.empty(len(nominal))
    for train, test in KFold(5, shuffle=True, random_state=rng).split(nominal):
        fold = RankAD(calibration="train", random_state=0, **params).fit(nominal[train])
        out_of_fold[test] = fold.score_samples(nominal[test])
    assert_allclose(detector.reference_.scores, np.sort(out_of_fold), rtol=1e-12)


def test_cross_calibration_cross_validates_once(nominal, monkeypatch):
    chosen = []

    def count_and_choose(*args, **kwargs):
        chosen.append(cross_validate(*args, **kwargs))
        return chosen[-1]

    monkeypatch.setattr("rankad.tuning.tuning.cross_validate", count_and_choose)
    params = {"C": [0.1, 1.0], "sigma": [0.5, 1.0]}
    detector = RankAD(calibration="cross", random_state=0, **params).fit(nominal)
    assert len(chosen) == 1
    assert (detector.C_, detector.sigma_) == (chosen[0].C, chosen[0].sigma)


def test_a_statistic_class_is_refused(nominal):
    with pytest.raises(TypeError, match=r"must be an instance, MeanNeighborDistance\(\), not"):
        RankAD(statistic=MeanNeighborDistance).fit(nominal)


def test_a_nan_score_is_never_nominal(detector, new, monkeypatch):
    monkeypatch.setattr(detector, "_model", lambda rows, n_jobs: np.full(len(rows), np.nan))
    for method in (detector.predict, detector.decision_function, detector.p_values):
        with pytest.raises(ValueError, match="The score of row 0 is NaN"):
            method(new)


@pytest.mark.parametrize("statistic", sorted(STATISTICS))
def test_every_named_statistic_trains_a_detector(statistic, nominal, rng):
    detector = RankAD(statistic=statistic, random_state=0).fit(nominal)
    p = detector.p_values(np.concatenate([nominal[:100], rng.uniform(8, 20, size=(20, 3))]))
    assert p[:100].mean() > 0.3
    assert (p[100:] == 1 / 61).all()


@pytest.mark.parametrize(
    "params",
    [
        {"pairs": Pairs(None)},
        {"pairs": 5},
        {"pairs": Pairs(min_gap=0.2)},
        {"pairs": Pairs(3, weight=operator.sub)},
        {"ranker": HINGE},
        {"ranker": HINGE, "anchor": 0.0, "calibration": "train", "C": [0.1, 1.0]},
        {"pairs": Pairs(min_gap=0.1), "sigma": [0.5, 1.0]},
    ],
)
def test_the_papers_other_choices_train_a_detector(params, nominal):
    detector = RankAD(random_state=0, **params).fit(nominal)
    plain = RankAD(random_state=0).fit(nominal)
    scores, expected = detector.score_samples(nominal), plain.score_samples(nominal)
    assert (scores != expected).any()
    assert spearmanr(scores, expected).statistic > 0.6


def test_no_choice_is_made_by_looking_at_the_held_out_rows(nominal, monkeypatch):
    learned_from = []

    def watched(scaler, rows):
        learned_from.append(rows)
        return fitted_scaler(scaler, rows)

    monkeypatch.setattr("rankad.detector.fitted_scaler", watched)
    detector = RankAD(ranker=RankSVM(dtype="float32"), random_state=0).fit(nominal)
    assert len(learned_from) == 1
    trained = np.delete(nominal, detector.calibration_indices_, axis=0)
    assert_array_equal(learned_from[0], trained)
    assert_allclose(trained.mean(axis=0), detector.scaler_.mean_)


def test_the_held_out_rows_are_known(nominal):
    split, train = (
        RankAD(calibration=kind, random_state=0).fit(nominal) for kind in ("split", "train")
    )
    indices = split.calibration_indices_
    assert len(indices) == 60
    assert (np.diff(indices) > 0).all()
    held_out = split.score_samples(nominal[indices])
    assert_array_equal(np.sort(held_out), split.reference_.scores)
    assert_array_equal(train.calibration_indices_, np.arange(240))


def test_the_number_of_centers_can_be_chosen(nominal, new):
    few = RankAD(n_centers=30, random_state=0).fit(nominal)
    assert few.expansion_.n_centers == 30
    assert few.pruning_error_ == 0.0
    everything = RankAD(n_centers=None, random_state=0).fit(nominal)
    assert 30 < everything.expansion_.n_centers <= 180
    assert spearmanr(few.score_samples(new), everything.score_samples(new))[0] > 0.9
    assert_allclose(everything.sigma_, everything.mean_neighbor_distance_)


@pytest.mark.parametrize("n_centers", [179, 170, 120])
def test_sigma_does_not_collapse_where_most_rows_are_centers(nominal, n_centers):
    few = RankAD(n_centers=n_centers, random_state=0).fit(nominal)
    everything = RankAD(n_centers=None, random_state=0).fit(nominal)
    assert_allclose(few.sigma_, everything.sigma_, rtol=0.2)


def test_few_centers_tie_sigma_to_their_distance(rng):
    rows = rng.normal(size=(240, 8))
    coarse, fine = (RankAD(n_centers=n, random_state=0).fit(rows) for n in (4, 120))
    assert coarse.sigma_ > 1.5 * fine.sigma_


def test_auto_takes_all_rows_up_to_its_number(nominal, monkeypatch):
    same = RankAD(n_centers=180, random_state=0).fit(nominal)
    assert_array_equal(
        RankAD(random_state=0).fit(nominal).expansion_.centers, same.expansion_.centers
    )
    monkeypatch.setattr("rankad.tuning.center_rule.rule_n_centers", lambda n_features: 40)
    assert RankAD(random_state=0).fit(nominal).expansion_.n_centers == 40


def test_wide_kernels_are_pruned_unless_all_rows_are_asked_for(nominal, new):
    params = {"sigma": 30.0, "C": 1.0, "random_state": 0}
    pruned, whole = (RankAD(n_centers=n, **params).fit(nominal) for n in ("auto", None))
    new = np.clip(new, -9.0, 9.0)  # within reach of the centers
    assert pruned.expansion_.n_centers < whole.expansion_.n_centers / 3
    change = np.abs(pruned.score_samples(new) - whole.score_samples(new)).max()
    assert 0.0 < change <= pruned.pruning_error_
    assert whole.pruning_error_ == 0.0


def test_many_copies_of_few_rows_are_few_centers(rng):
    distinct = rng.normal(size=(300, 2))
    rows = np.concatenate([np.repeat(distinct[:100], 20, axis=0), distinct[100:]])
    detector = RankAD(calibration="train", random_state=0).fit(rows)
    assert detector.expansion_.n_centers <= 300
    assert_allclose(detector.sigma_, 1.5 * detector.mean_neighbor_distance_)  # two columns


def test_cross_validation_uses_as_many_centers_as_the_fit(nominal):
    detector = RankAD(n_centers=20, C=[0.01, 1.0], sigma=[0.5, 2.0], random_state=0).fit(nominal)
    assert detector.expansion_.n_centers <= 20
    everything = RankAD(n_centers=None, C=[0.01, 1.0], sigma=[0.5, 2.0], random_state=0).fit(
        nominal
    )
    few, all_rows = (d.cv_results_["mean_test_score"] for d in (detector, everything))
    assert few.shape == (4,)
    assert (few != all_rows).all()


@pytest.mark.parametrize("n_centers", [0, -3, 2.5, "all"])
def test_what_cannot_be_a_number_of_centers_is_refused(nominal, n_centers):
    with pytest.raises(ValueError, match="'n_centers' parameter of RankAD must be"):
        RankAD(n_centers=n_centers).fit(nominal)


def test_one_center_is_enough_for_a_detector(nominal, new):
    detector = RankAD(n_centers=1, random_state=0).fit(nominal)
    assert detector.expansion_.n_centers == 1
    assert_allclose(detector.scorer_.expansion.centers, detector.expansion_.centers)
    # One kernel ranks by the distance to its center.
    distances = np.linalg.norm(
        (new - detector.scaler_.mean_) / detector.scaler_.scale_ - detector.expansion_.centers,
        axis=1,
    )
    assert spearmanr(detector.score_samples(new), -distances)[0] > 0.999
    assert detector.p_values(np.full((1, 3), 1e6))[0] == detector.reference_.smallest_alpha


CV = {"C": [0.01, 1.0], "sigma": [0.5, 2.0], "random_state": 0}


def test_no_distances_among_more_rows_than_a_kernel_matrix_may_have(nominal, monkeypatch):
    # 180 rows in folds of 135. All rows of a fold could be centers.
    monkeypatch.setattr("rankad.tuning.tuning.MAX_KERNEL_ROWS", 170)
    monkeypatch.setattr(
        "rankad.tuning.cross_validation.distances_between",
        lambda *_: pytest.fail("distances among all rows"),
    )
    RankAD(n_centers=150, ranker=RankSVM(cv=4), **CV).fit(nominal)


def test_folds_with_as_many_rows_as_centers_and_with_more(nominal):
    rows = np.arange(180)
    splits = [(rows[:100], rows[100:]), (rows[:101], rows[101:])]
    mixed, everything = (
        RankAD(n_centers=n, ranker=RankSVM(cv=splits), **CV).fit(nominal).cv_results_
        for n in (100, None)
    )
    assert_allclose(mixed["split0_test_score"], everything["split0_test_score"], atol=5e-3)
    assert_allclose(mixed["split1_test_score"], everything["split1_test_score"], atol=5e-2)


def test_cross_validation_of_few_centers_is_the_same_in_threads(nominal):
    alone, together = (
        RankAD(n_centers=30, n_jobs=n_jobs, **CV).fit(nominal) for n_jobs in (None, 2)
    )
    assert (alone.C_, alone.sigma_) == (together.C_, together.sigma_)
    assert_array_equal(
        alone.cv_results_["mean_test_score"], together.cv_results_["mean_test_score"]
    )


@pytest.mark.parametrize("n_centers", ["auto", 30])
def test_splits_can_be_lists_or_masks(n_centers, nominal):
    train = [*range(0, 180, 2)]
    held_out = np.ones(180, dtype=bool)
    held_out[train] = False
    detector = RankAD(n_centers=n_centers, ranker=RankSVM(cv=[(train, held_out)]), **CV).fit(
        nominal
    )
    assert detector.cv_results_["mean_test_score"].max() > 0.7


def test_copies_without_distances_ask_for_sigma(rng):
    rows = rng.permutation(np.repeat(rng.normal(size=(6, 2)), 30, axis=0))
    params = {"statistic": lambda X, reference=None: X[:, 0], "n_neighbors": 5, "random_state": 0}
    with pytest.raises(ValueError, match=r"mean neighbor distance is 0.*give sigma as a number"):
        RankAD(sigma="published", **params).fit(rows)
    assert RankAD(sigma=[1.0, 2.0], **params).fit(rows).sigma_ in (1.0, 2.0)
    assert RankAD(sigma=1.0, **params).fit(rows).mean_neighbor_distance_ == 0.0


def test_neighbors_grow_with_the_rows_and_fall_with_the_columns(rng):
    few, many = (RankAD(random_state=0).fit(rng.normal(size=(n, 2))) for n in (100, 1000))
    assert few.n_neighbors_ == rule_n_neighbors(75 - few.n_outlying_, 2) < many.n_neighbors_
    assert RankAD(random_state=0).fit(rng.normal(size=(100, 20))).n_neighbors_ == 5


def test_neighbors_by_rule_are_no_more_than_there_are_without_a_warning(rng):
    detector = RankAD(alpha=0.5, robust=False, random_state=0).fit(rng.normal(size=(5, 1)))
    assert detector.n_neighbors_ == 2


def test_ten_levels_follow_the_density_and_the_tail_does_not(rng):
    nominal, new = rng.normal(size=(1000, 2)), rng.normal(size=(500, 2))
    by_levels, by_tail = (
        spearmanr(
            RankAD(pairs=pairs, random_state=0).fit(nominal).score_samples(new),
            -(new**2).sum(axis=1),
        )[0]
        for pairs in (10, Pairs("tail"))
    )
    assert by_levels > 0.93
    assert by_levels > by_tail


def test_a_wider_margin_of_the_anchor_lifts_the_data(nominal):
    narrow, wide = (
        RankAD(anchor=(1.0, margin), random_state=0).fit(nominal) for margin in (1.0, 8.0)
    )
    assert np.median(wide.score_samples(nominal)) > 6.0
    spreads = [
        d.score_samples(nominal).std() / d.score_samples(nominal).mean() for d in (narrow, wide)
    ]
    assert spreads[1] < spreads[0]


def test_a_clump_of_dirt_does_not_train(nominal, rng):
    clump = np.array([9.0, 9.0, 9.0]) + 0.01 * rng.normal(size=(6, 3))
    rows = np.concatenate([nominal, clump])
    robust, trusting = (
        RankAD(robust=robust, calibration="train", random_state=0).fit(rows)
        for robust in ("auto", False)
    )
    assert robust.n_outlying_ >= 6
    assert trusting.n_outlying_ == 0
    new_clump = np.array([9.0, 9.0, 9.0]) + 0.01 * rng.normal(size=(20, 3))
    assert robust.score_samples(new_clump).max() < np.quantile(robust.score_samples(nominal), 0.05)
    assert trusting.score_samples(new_clump).min() > trusting.score_samples([[5.0, 5.0, 5.0]])[0]


def test_a_group_of_more_than_a_tenth_of_the_rows_trains(nominal):
    rng = np.random.default_rng(0)
    group = np.array([30.0, 0.0, 0.0]) + 3.0 * rng.normal(size=(20, 3))
    rows = np.concatenate([nominal, group])
    assert 15 <= RankAD(calibration="train", random_state=0).fit(rows).n_outlying_ <= 20
    more = np.concatenate([rows, group + 0.1])  # a seventh of all rows
    assert RankAD(calibration="train", random_state=0).fit(more).n_outlying_ == 0


@pytest.mark.parametrize("as_masks", [False, True])
def test_own_splits_are_of_all_rows_also_where_some_are_left_out(nominal, as_masks):
    rows = nominal.copy()
    rows[5] = 99.0
    splits = list(KFold(4, shuffle=True, random_state=0).split(rows))
    given = [[np.isin(np.arange(240), part) for part in s] for s in splits] if as_masks else splits
    params = {"calibration": "train", "C": [0.01, 1.0], "random_state": 0}
    own = RankAD(ranker=RankSVM(cv=given), **params).fit(rows)
    assert own.n_outlying_ >= 1
    kept = np.delete(np.arange(240), 5)
    place = np.full(240, -1)
    place[kept] = np.arange(239)
    shifted = [[place[part][place[part] >= 0] for part in s] for s in splits]
    scaler = FunctionTransformer(StandardScaler().fit(rows).transform)
    without = RankAD(ranker=RankSVM(cv=shifted), robust=False, scaler=scaler, **params).fit(
        rows[kept]
    )
    assert own.n_outlying_ == 1
    assert_allclose(
        own.cv_results_["mean_test_score"], without.cv_results_["mean_test_score"], rtol=1e-6
    )


def test_splits_of_rows_that_do_not_train_are_refused(nominal):
    rows = nominal.copy()
    rows[5:7] = 99.0
    params = {"calibration": "train", "C": [0.01, 1.0], "random_state": 0}
    everything = np.arange(240)
    with pytest.raises(ValueError, match="rows that are not among the 180 that train"):
        RankAD(ranker=RankSVM(cv=[(everything[:200], everything[200:])]), C=[0.1, 1.0]).fit(nominal)
    left_out = (np.delete(everything, [5, 6]), [5, 6])
    with pytest.raises(ValueError, match="no split with training rows in both parts"):
        RankAD(ranker=RankSVM(cv=[left_out]), **params).fit(rows)
    halves = (everything[::2], everything[1::2])
    assert_array_equal(
        RankAD(ranker=RankSVM(cv=[left_out, halves]), **params).fit(rows).score_samples(nominal),
        RankAD(ranker=RankSVM(cv=[halves]), **params).fit(rows).score_samples(nominal),
    )


def test_robust_leaves_out_a_tenth_by_itself_and_up_to_half_if_asked(nominal, rng):
    scattered = 90.0 * rng.normal(size=(36, 3))
    rows = np.concatenate([nominal, scattered])
    params = {"calibration": "train", "random_state": 0}
    assert RankAD(**params).fit(rows).n_outlying_ == 0
    assert RankAD(robust=True, **params).fit(rows).n_outlying_ > 30


def test_parts_of_the_rows_have_neighbors_by_their_own_number():
    """With K of all rows, held-out folds would rank by the distance to nearly all others."""
    law = SMOOTH_LAWS["two gaussians 1"]
    train, new = law.sample(300, 0), law.sample(500, 1)
    fitted = RankAD(C="published", sigma="published", random_state=0).fit(train)
    order = spearmanr(fitted.score_samples(new), law.log_density(new)).statistic
    assert order > 0.85


def test_robust_is_one_switch_for_what_stands_dirt(nominal, new):
    switched = RankAD(robust=True, random_state=0).fit(nominal)
    spelled = RankAD(statistic="bagged_knn", anchor=(1.0, 1.0), random_state=0).fit(nominal)
    assert_array_equal(switched.score_samples(new), spelled.score_samples(new))
    chosen = {"statistic": "mean_knn", "anchor": (1.0, 8.0), "random_state": 0}
    assert_array_equal(
        RankAD(robust=True, **chosen).fit(nominal).score_samples(new),
        RankAD(random_state=0).fit(nominal).score_samples(new),
    )


def test_the_outward_step_is_the_expansions(nominal, new):
    plain, moved = (
        RankAD(ranker=RankSVM(outward=outward), random_state=0).fit(nominal)
        for outward in (0.0, 4.0)
    )
    unit = 0.6 * moved.mean_neighbor_distance_ / moved.sigma_  # three columns: sigma is wider
    assert_allclose(moved.expansion_.outward, 4.0 * unit**2)
    assert_array_equal(plain.expansion_.weights, moved.expansion_.weights)
    sums = plain.score_samples(new)
    is_above = sums > 0.0
    assert (moved.score_samples(new)[is_above] <= sums[is_above]).all()
    assert_array_equal(moved.score_samples(new)[~is_above], sums[~is_above])
    assert moved.p_values([[9e9, 0.0, 0.0]])[0] == 1 / (moved.reference_.size + 1)


def test_the_outward_step_needs_a_unit(rng):
    codes = rng.integers(0, 2, size=(200, 2)).astype(float)
    detector = RankAD(statistic="bagged_knn", n_neighbors=5, sigma=1.0, ranker=RankSVM(outward=4.0))
    with pytest.raises(ValueError, match=r"outward=4.0 has no unit.*Raise n_neighbors"):
        detector.fit(codes)


def test_the_outward_step_needs_an_anchor(nominal):
    with pytest.raises(ValueError, match=r"outward=4.0 needs an anchor.*Set anchor above 0"):
        RankAD(ranker=RankSVM(outward=4.0), anchor=0.0).fit(nominal)


def test_very_many_rows_train_by_a_sample_and_all_held_out_ones_calibrate(
    nominal, new, monkeypatch
):
    monkeypatch.setattr("rankad.tuning.training_rows._MIN_SAMPLE", 50)
    monkeypatch.setattr("rankad.tuning.training_rows._ROWS_PER_CENTER", 4)
    detector = RankAD(n_centers=20, robust=False, random_state=0).fit(nominal)
    assert detector.neighbor_search_.n_rows == 80
    assert_allclose(detector.C_, 32 / 80)
    assert detector.reference_.size == 60
    assert detector.p_values(new).min() < 0.05


def test_a_detector_with_a_function_as_statistic_pickles_once_the_function_is_gone(nominal):
    detector = RankAD(statistic=lambda points: -np.abs(points).sum(axis=1), random_state=0)
    scores = detector.fit(nominal).score_samples(nominal)
    again = pickle.loads(pickle.dumps(detector.set_params(statistic="auto")))
    assert_array_equal(again.score_samples(nominal), scores)


def test_a_second_fit_keeps_nothing_of_the_first_and_all_of_the_users(nominal):
    detector = RankAD(C=[0.1, 1.0], random_state=0).fit(pd.DataFrame(nominal, columns=list("abc")))
    detector.note_ = "the user's"
    detector.set_params(C="auto").fit(nominal)
    assert not hasattr(detector, "cv_results_")
    assert not hasattr(detector, "feature_names_in_")
    assert detector.note_ == "the user's"
