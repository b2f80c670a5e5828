"""p-values under covariate shift."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from rankad import RankAD
from rankad.calibration import HeldOutScores, WeightedScores, density_ratio
from rankad.exceptions import CalibrationWarning
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
        for s, w in zip(new, new_weights, strict=True)
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


def test_decisions_are_p_at_most_alpha(rng):
    detector = RankAD(random_state=0).fit(rng.normal(size=(300, 2)))
    shifted = Reweighted.estimated(
        detector, rng.normal(size=(200, 2)), rng.normal(0.3, size=(200, 2))
    )
    rows = rng.normal(size=(50, 2)) * 2
    assert ((shifted.predict(rows, alpha=0.1) == -1) == (shifted.p_values(rows) <= 0.1)).all()
    assert (shifted.predict(rows.tolist()) == shifted.predict(rows, alpha=detector.alpha)).all()
    with pytest.raises(ValueError, match="alpha must be"):
        shifted.predict(rows, alpha=1.0)
