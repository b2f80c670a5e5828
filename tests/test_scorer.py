import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.decomposition import PCA
from sklearn.preprocessing import FunctionTransformer

from rankad import RankAD
from rankad.calibration import TrainingScores
from rankad.exceptions import UnresolvableAlphaError
from rankad.kernels import KernelExpansion
from rankad.models.finishing import change_in_float32
from rankad.options import RankSVM


def _within_ten(rows):
    return np.where(np.abs(rows) < 10.0, rows, np.nan)


def test_a_row_of_which_the_scaler_makes_nan_gets_nan_alone(nominal):
    detector = RankAD(scaler=FunctionTransformer(_within_ten), random_state=0).fit(nominal)
    scorer = detector.scorer_
    rows = np.array([[0.0, 0.0, 0.0], [0.0, 11.0, 0.0], [1.0, 1.0, 1.0]])
    assert_array_equal(np.isnan(scorer(rows)), [False, True, False])
    assert_array_equal(scorer(rows)[[0, 2]], detector.score_samples(rows[[0, 2]]))
    p_values = scorer.p_values(rows)
    assert_array_equal(np.isnan(p_values), [False, True, False])
    assert_array_equal([scorer.p_value(row) for row in rows], p_values)
    with pytest.raises(ValueError, match="turned finite rows into NaN"):
        detector.score_samples(rows)


LEAN = {
    "default": RankAD(),
    "float32": RankAD(ranker=RankSVM(dtype="float32")),
    "own scaler": RankAD(scaler=PCA(whiten=True)),
    "training ranks": RankAD(calibration="train"),
}


@pytest.mark.parametrize("detector", LEAN.values(), ids=LEAN)
@pytest.mark.parametrize("alpha", [0.02, 0.05, 0.3, 0.999])
def test_a_row_alarms_as_by_predict_also_on_ties(detector, alpha, nominal, rng):
    # Copies of reference rows tie with the threshold, and far rows tie at the smallest p-value.
    detector.set_params(random_state=0).fit(nominal.round(1))
    rows = np.r_[nominal.round(1), nominal, 9.0 * rng.normal(size=(100, 3)), [[1e300] * 3] * 2]
    scorer = detector.scorer_
    found = [scorer.is_alarm(row, alpha) for row in rows]
    assert all(type(is_alarm) is bool for is_alarm in found)
    assert_array_equal(found, detector.predict(rows, alpha) == -1)
    assert_array_equal(found, scorer.p_values(rows) <= alpha)
    assert len(set(found)) == 2


@pytest.mark.parametrize("scaler", ["standard", PCA()], ids=["by name", "own"])
def test_a_row_with_nan_alarms_unless_asked_otherwise(scaler, nominal):
    scorer = RankAD(scaler=scaler, random_state=0).fit(nominal).scorer_
    broken = np.array([0.0, np.nan, 0.0])
    assert not scorer.p_value(broken) <= 0.05
    assert scorer.is_alarm(broken, 0.05) is True
    assert scorer.is_alarm(broken, 0.05, alarm_on_nan=False) is False
    assert scorer.is_alarm(nominal[0] * 0.0, 0.05) is False


def test_an_infinite_row_alarms_on_the_lean_path(nominal):
    infinite = np.array([0.0, -np.inf, 0.0])
    by_name = RankAD(random_state=0).fit(nominal).scorer_
    assert by_name.is_alarm(infinite, 0.05, alarm_on_nan=False)
    own = RankAD(scaler=PCA(), random_state=0).fit(nominal).scorer_
    assert np.isnan(own.score(infinite))
    assert own.is_alarm(infinite, 0.05)


def test_a_row_of_which_the_scaler_makes_nan_alarms(nominal):
    scaler = FunctionTransformer(_within_ten)
    scorer = RankAD(scaler=scaler, random_state=0).fit(nominal).scorer_
    assert scorer.is_alarm(np.array([0.0, 11.0, 0.0]), 0.05)


def test_an_alpha_without_a_threshold_is_refused_on_the_lean_path(nominal):
    scorer = RankAD(random_state=0).fit(nominal).scorer_
    for row in (nominal[0], np.full(3, np.nan)):
        with pytest.raises(UnresolvableAlphaError, match=r"alpha=0\.01 is too small for 60"):
            scorer.is_alarm(row, 0.01)
        with pytest.raises(ValueError, match="alpha must be a number between 0 and 1"):
            scorer.is_alarm(row, 1.5)


def test_the_change_in_float32_is_that_of_the_p_values(rng):
    points = rng.normal(size=(300, 2))
    centers, weights = points[:40], rng.uniform(size=40)
    # All kernels are nearly 1, so most scores are equal in float32.
    expansion = KernelExpansion(centers, weights, sigma=3e3)
    narrow = expansion.astype(np.float32)(points)
    p, narrow_p = (TrainingScores.from_scores(s).p_values(s) for s in (expansion(points), narrow))
    change = change_in_float32(expansion, points)
    assert change == np.abs(p - narrow_p).max() > 0.01
    assert change_in_float32(KernelExpansion(centers, weights, sigma=1.0), points) < 0.01


def test_float32_changes_all_where_it_cannot_hold_the_centers(rng):
    points = 1e30 * rng.normal(size=(20, 2))
    assert change_in_float32(KernelExpansion(points, np.ones(20), sigma=1.0), points) == 1.0
