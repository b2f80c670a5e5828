import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import oracles
from rankad.calibration import CrossFittedScores, HeldOutScores, TrainingScores

KINDS = pytest.mark.parametrize("kind", [HeldOutScores, TrainingScores, CrossFittedScores])
scores = st.lists(
    st.sampled_from([-1.0, 0.0, 0.0, 2.0]) | st.floats(-5, 5), min_size=1, max_size=40
).map(np.array)
alphas = st.floats(0.001, 0.999) | st.fractions(0, 1, max_denominator=60).map(float)


@KINDS
@given(scores, scores)
def test_p_values_match_the_count(kind, reference, new):
    p = kind.of(reference).p_values(new)
    assert_allclose(p, [oracles.p_value(score, reference, kind.n_extra) for score in new])
    assert (p <= 1.0).all()
    assert (p >= kind.of(reference).smallest_alpha).all()


@KINDS
@given(scores, scores, alphas)
def test_below_the_threshold_is_exactly_p_at_most_alpha(kind, reference, new, alpha):
    calibrated = kind.of(reference)
    new = np.concatenate([new, reference])
    is_alarm = new < calibrated.threshold(alpha)
    assert_array_equal(is_alarm, calibrated.p_values(new) <= alpha)


@KINDS
@given(scores, scores)
def test_p_values_rise_with_the_score(kind, reference, new):
    assert (np.diff(kind.of(reference).p_values(np.sort(new))) >= 0).all()


@given(scores)
def test_held_out_p_values_are_never_zero(reference):
    calibrated = HeldOutScores.of(reference)
    assert calibrated.p_values(np.array([-1e9]))[0] == 1 / (len(reference) + 1)
    assert calibrated.threshold(0.999 / (len(reference) + 1)) == -np.inf
    assert calibrated.threshold(1 / (len(reference) + 1)) == reference.min()


def test_the_threshold_is_the_documented_order_statistic(rng):
    reference = rng.normal(size=199)
    assert HeldOutScores.of(reference).threshold(0.05) == np.sort(reference)[10 - 1]
    assert HeldOutScores.of(reference[:99]).threshold(0.29) == np.sort(reference[:99])[29 - 1]
    assert TrainingScores.of(reference).threshold(0.05) == np.sort(reference)[9]


@KINDS
def test_nan_is_never_a_p_value(kind):
    with pytest.raises(ValueError, match="must not be NaN"):
        kind.of(np.array([1.0, np.nan]))
    with pytest.raises(ValueError, match="A score is NaN"):
        kind.of(np.array([1.0])).p_values(np.array([np.nan]))


def test_each_kind_says_what_it_guarantees():
    kinds = (HeldOutScores, TrainingScores, CrossFittedScores)
    assert [repr(kind.of(np.zeros(3))) for kind in kinds] == [
        "HeldOutScores(3 scores, guarantee: exact)",
        "TrainingScores(3 scores, guarantee: none)",
        "CrossFittedScores(3 scores, guarantee: empirical)",
    ]


def test_more_held_out_scores_extend_the_reference():
    extended = HeldOutScores.of(np.array([3.0, 1.0])).extended(np.array([2.0]))
    assert_array_equal(extended.scores, [1.0, 2.0, 3.0])


@pytest.mark.parametrize("kind", [TrainingScores, CrossFittedScores])
def test_held_out_scores_replace_those_that_are_not(kind):
    replaced = kind.of(np.array([3.0, 1.0])).extended(np.array([2.0]))
    assert isinstance(replaced, HeldOutScores)
    assert_array_equal(replaced.scores, [2.0])
