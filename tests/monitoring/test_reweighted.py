"""p-values under covariate shift."""

import copy
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.stats import binom

from rankad import RankAD
from rankad.baselines import KLPE
from rankad.calibration import HeldOutScores, WeightedScores, density_ratio
from rankad.calibration.weighted import imbalance
from rankad.exceptions import CalibrationWarning, UnresolvableAlphaError
from rankad.monitoring import Reweighted


def test_equal_weights_are_split_conformal(rng):
    reference, new = rng.normal(size=50), rng.normal(size=20)
    weighted = WeightedScores.from_scores(reference, np.full(50, 3.0))
    assert_allclose(
        weighted.p_values(new, np.full(20, 3.0)), HeldOutScores.from_scores(reference).p_values(new)
    )
    assert weighted.effective_size == pytest.approx(50)


def test_p_values_match_the_formula(rng):
    scores, weights = rng.integers(0, 5, size=30).astype(float), rng.uniform(size=30)
    new, new_weights = np.array([-1.0, 0.0, 2.0, 9.0]), np.array([0.1, 2.0, 0.5, 1.0])
    expected = [
        (weights[scores <= s].sum() + w) / (weights.sum() + w)
        for s, w in zip(new, np.minimum(new_weights, weights.max()), strict=True)
    ]
    assert_allclose(
        WeightedScores.from_scores(scores, weights).p_values(new, new_weights), expected
    )


@pytest.mark.parametrize("weights", [np.ones(2), -np.ones(3), np.array([1.0, np.nan, 1.0])])
def test_bad_weights_are_refused(weights):
    with pytest.raises(ValueError, match=r"[wW]eight"):
        WeightedScores.from_scores(np.zeros(3), weights)


def test_weights_that_are_all_zero_are_refused():
    with pytest.raises(ValueError, match="Not all weights may be 0"):
        WeightedScores.from_scores(np.zeros(3), np.zeros(3))


def test_columns_are_checked(rng):
    names = ["a", "b"]
    frame = pd.DataFrame(rng.normal(size=(300, 2)), columns=names)
    detector = RankAD(random_state=0).fit(frame)
    with pytest.raises(ValueError, match="feature names should match"):
        Reweighted.estimated(detector, frame, frame[names[::-1]])
    unnamed = RankAD(random_state=0).fit(frame.to_numpy())
    with pytest.raises(ValueError, match="3 features"):
        Reweighted.estimated(unnamed, frame.to_numpy(), rng.normal(size=(300, 3)))


def test_one_row_with_much_of_the_weight_is_reported(rng):
    detector = RankAD(random_state=0).fit(rng.normal(size=(200, 1)))
    with pytest.warns(CalibrationWarning, match=r"one of them has 5\.0% of the weight"):
        Reweighted(detector, rng.normal(size=(400, 1)), lambda X: np.r_[21.0, np.ones(399)])


def false_alarm_rate(make, n_repeats=150):
    """Mean share of alarms at 10% among fresh rows from N(1, 1), trained on N(0, 1)."""
    rng = np.random.default_rng(0)
    rates = []
    for seed in range(n_repeats):
        detector = RankAD(calibration_size=100, random_state=seed).fit(rng.normal(size=(300, 1)))
        calibration, new = rng.normal(size=(400, 1)), rng.normal(1.0, size=(200, 1))
        p = make(detector, calibration, rng.normal(1.0, size=(400, 1))).p_values(new)
        rates.append((p <= 0.1).mean())
    return np.mean(rates)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::rankad.exceptions.CalibrationWarning")
def test_the_true_ratio_restores_the_rate_that_the_shift_changed():
    plain = false_alarm_rate(lambda detector, *_: detector)
    true = false_alarm_rate(lambda d, X, _: Reweighted(d, X, lambda rows: np.exp(rows[:, 0])))
    estimated = false_alarm_rate(Reweighted.estimated)
    assert plain > 0.15
    assert true < 0.105
    assert 0.05 < estimated < 0.13


def test_the_ratio_is_estimated(rng):
    ratio = density_ratio(rng.normal(size=(4_000, 2)), rng.normal((1, 0), size=(2_000, 2)))
    points = rng.normal(size=(50, 2))
    assert_allclose(np.log(ratio(points)), points[:, 0] - 0.5, atol=0.3)


@pytest.mark.parametrize(("n_old", "n_new"), [(20_000, 400), (400, 20_000)])
def test_unequal_samples_do_not_bias_the_ratio(n_old, n_new, rng):
    ratio = density_ratio(rng.normal(size=(n_old, 1)), rng.normal(1.0, size=(n_new, 1)))
    points = np.array([[-2.0], [-1.0], [0.0], [1.0], [2.0]])
    assert_allclose(np.log(ratio(points)), points[:, 0] - 0.5, atol=0.5)


def test_few_effective_rows_are_reported(rng):
    detector = RankAD(random_state=0).fit(rng.normal(size=(200, 1)))
    with pytest.warns(CalibrationWarning, match="effective size"):
        Reweighted(detector, rng.normal(size=(100, 1)), lambda X: np.exp(3 * X[:, 0]))


@pytest.mark.filterwarnings("ignore:The calibration rows are worth")
def test_decisions_are_p_at_most_alpha(rng):
    detector = RankAD(random_state=0).fit(rng.normal(size=(300, 2)))
    shifted = Reweighted.estimated(
        detector, rng.normal(size=(500, 2)), rng.normal(0.3, size=(500, 2))
    )
    rows = rng.normal(size=(50, 2)) * 2
    assert ((shifted.predict(rows, alpha=0.1) == -1) == (shifted.p_values(rows) <= 0.1)).all()
    assert (shifted.predict(rows.tolist()) == shifted.predict(rows, alpha=detector.alpha)).all()
    with pytest.raises(ValueError, match="alpha must be"):
        shifted.predict(rows, alpha=1.0)


def exponential(rows):
    return np.exp(np.asarray(rows)[:, 0])


@pytest.mark.filterwarnings("ignore:The calibration rows are worth")
def test_a_far_anomaly_along_the_shift_alarms(rng):
    detector = KLPE(random_state=0).fit(rng.normal(size=(2_000, 2)))
    shifted = Reweighted(detector, rng.normal(size=(1_000, 2)), exponential)
    rows = np.array([[20.0, 0.0], [1.0, 0.0]])
    assert shifted.is_supported(rows).tolist() == [False, True]
    assert shifted.p_values(rows)[0] < 0.03  # 1 by the formula without a limit of the weight
    assert shifted.predict(rows, alpha=0.05).tolist() == [-1, 1]


def test_supported_rows_have_the_p_values_of_the_formula(rng):
    scores, rows = rng.normal(size=200), rng.normal(size=(200, 1))
    reference = WeightedScores.from_scores(scores, exponential(rows))
    weights = exponential(rows[:20]) * 0.99
    expected = [
        (exponential(rows)[scores <= s].sum() + w) / (exponential(rows).sum() + w)
        for s, w in zip(scores[:20], weights, strict=True)
    ]
    assert reference.is_supported(weights).all()
    assert_allclose(reference.p_values(scores[:20], weights), expected)


@pytest.mark.slow
def test_beyond_the_support_the_level_is_exceeded_by_that_share_at_most(rng):
    """New rows are N(2, 1), old ones N(0, 1): alpha plus the share of unsupported rows holds."""
    excess = []
    for _ in range(400):
        old, new = rng.normal(size=(100, 1)), rng.normal(2.0, size=(50, 1))
        reference = WeightedScores.from_scores(-np.abs(old[:, 0]), np.exp(2 * old[:, 0]))
        weights = np.exp(2 * new[:, 0])
        alarms = reference.p_values(-np.abs(new[:, 0]), weights) <= 0.2
        excess.append(alarms.mean() - 0.2 - (~reference.is_supported(weights)).mean())
    assert np.mean(excess) <= 3.7 * np.std(excess) / np.sqrt(len(excess))


def test_an_alpha_that_the_effective_size_does_not_resolve_is_refused(rng):
    detector = KLPE(random_state=0).fit(rng.normal(size=(300, 2)))
    with pytest.warns(CalibrationWarning, match="effective size"):
        few = Reweighted(detector, rng.normal(size=(20, 2)), lambda rows: np.ones(len(rows)))
    assert few.smallest_alpha == pytest.approx(1 / 21)
    with pytest.raises(UnresolvableAlphaError, match=r"worth 20\.0 of the new rows.*needs 99"):
        few.predict([[9.0, 9.0]], alpha=0.01)
    assert few.predict([[9.0, 9.0]], alpha=1 / 21).tolist() == [-1]


def wider(rng, n):
    return 1.4 * rng.normal(size=(n, 2))


def test_a_wrong_ratio_is_told(rng):
    detector = KLPE(random_state=0).fit(rng.normal(size=(600, 2)))
    old, new = rng.normal(size=(1_000, 2)), wider(rng, 1_000)
    with pytest.warns(CalibrationWarning, match="do not match the new rows"):
        linear = Reweighted.estimated(detector, old, new, model="linear")
    assert linear.imbalance > 2.0
    with pytest.warns(CalibrationWarning, match="do not match the new rows"):
        Reweighted(detector, old, lambda rows: np.ones(len(rows)), X_new=new)


def test_a_change_of_spread_is_corrected(rng):
    rates = {"auto": [], "linear": []}
    for seed in range(4):
        detector = KLPE(random_state=seed).fit(rng.normal(size=(600, 2)))
        old, new, fresh = rng.normal(size=(1_000, 2)), wider(rng, 1_000), wider(rng, 2_000)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CalibrationWarning)
            for model, found in rates.items():
                shifted = Reweighted.estimated(detector, old, new, model=model)
                found.append((shifted.predict(fresh, alpha=0.05) == -1).mean())
    assert np.mean(rates["linear"]) > 0.15
    assert np.mean(rates["auto"]) < 0.075


@pytest.mark.slow
def test_a_true_ratio_is_seldom_blamed(rng):
    n_repeats, n_blamed = 300, 0
    for _ in range(n_repeats):
        old, new = rng.normal(size=(300, 3)), rng.normal(size=(200, 3)) + [0.5, 0.0, 0.0]
        n_blamed += imbalance(old, np.exp(0.5 * old[:, 0]), new) > 1.0
    assert n_blamed <= binom(n_repeats, 0.02).ppf(1 - 1e-4)  # moments are only about normal


@pytest.mark.filterwarnings("ignore:The calibration rows are worth")
def test_unsupported_new_rows_are_told(rng):
    detector = KLPE(random_state=0).fit(rng.normal(size=(600, 1)))
    old, new = rng.normal(size=(2_000, 1)), rng.uniform(2.0, 4.0, size=(500, 1))
    with pytest.warns(CalibrationWarning) as caught:
        shifted = Reweighted(detector, old, exponential, X_new=new)
    assert any("% of the new rows are unsupported" in str(each.message) for each in caught)
    assert shifted.unsupported_share > 0.2


def test_a_ratio_is_held_out_from_the_rows_it_weights(rng):
    old, new = rng.normal(size=(300, 4)), rng.normal(size=(300, 4))
    ratio = density_ratio(old, new, model="boosting")
    # Trees that have learned the old rows would give them ratios below those of fresh rows.
    fresh = ratio(rng.normal(size=(2_000, 4)))
    assert np.log(ratio(old)).mean() < np.log(fresh).mean() - 0.1
    assert abs(np.log(ratio.old_ratios).mean() - np.log(fresh).mean()) < 0.15


@pytest.mark.parametrize(
    ("draw", "model"),
    [
        (lambda rng: rng.normal(0.5, size=(1_500, 2)), "linear"),
        (lambda rng: 1.5 * rng.normal(size=(1_500, 2)), "quadratic"),
        (
            lambda rng: rng.choice([-1.0, 1.0], size=(1_500, 2)) + rng.normal(size=(1_500, 2)) / 4,
            "boosting",
        ),
    ],
)
def test_the_simplest_of_the_best_classifiers_is_taken(draw, model, rng):
    ratio = density_ratio(rng.normal(size=(1_500, 2)), draw(rng))
    assert ratio.model == model
    assert ratio.losses[model] < np.log(2.0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda X: density_ratio(X, X, model="cubic"), "model must be one of auto, linear"),
        (lambda X: density_ratio(X, X[:1]), "at least 2 rows each; got 5 and 1"),
    ],
)
def test_ratios_that_make_no_sense_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call(np.zeros((5, 2)))


def test_rows_that_trained_are_refused(rng):
    rows = rng.normal(size=(400, 2))
    detector = KLPE(random_state=0).fit(rows)
    for make in (Reweighted, Reweighted.estimated):
        other = (lambda X: np.ones(len(X))) if make is Reweighted else rng.normal(size=(400, 2))
        with pytest.raises(ValueError, match="Reweighted needs new rows, but about 75%"):
            make(detector, rows, other)
        make(detector, rows[detector.calibration_indices_], other)  # held-out rows may come again


def test_a_detector_that_was_fitted_again_is_refused(rng):
    detector = KLPE(random_state=0).fit(rng.normal(size=(400, 2)))
    reweighted = Reweighted(detector, rng.normal(size=(400, 2)), lambda X: np.ones(len(X)))
    detector.calibrate(rng.normal(size=(100, 2)))
    reweighted.predict(rng.normal(size=(9, 2)))  # a calibration keeps the model
    copied = copy.deepcopy(reweighted)
    detector.fit(3.0 * rng.normal(size=(400, 2)))
    with pytest.raises(ValueError, match=r"was fitted again, .* Make a new Reweighted"):
        reweighted.predict(rng.normal(size=(9, 2)))
    copied.predict(rng.normal(size=(9, 2)))
