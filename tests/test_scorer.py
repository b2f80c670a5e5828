import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.preprocessing import FunctionTransformer

from rankad import RankAD
from rankad.calibration import TrainingScores
from rankad.kernels import KernelExpansion
from rankad.models.finishing import change_in_float32


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
