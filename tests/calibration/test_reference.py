import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import oracles
from rankad import RankAD
from rankad.calibration import CrossFittedScores, HeldOutScores, TrainingScores, grown
from rankad.calibration.reference import thinned

KINDS = pytest.mark.parametrize("kind", [HeldOutScores, TrainingScores, CrossFittedScores])
scores = st.lists(
    st.sampled_from([-1.0, 0.0, 0.0, 2.0]) | st.floats(-5, 5), min_size=1, max_size=40
).map(np.array)
alphas = st.floats(0.001, 0.999) | st.fractions(0, 1, max_denominator=60).map(float)


@KINDS
@given(scores, scores)
def test_p_values_match_the_count(kind, reference, new):
    p = kind.from_scores(reference).p_values(new)
    assert_allclose(p, [oracles.p_value(score, reference, kind.n_extra) for score in new])
    assert (p <= 1.0).all()
    assert (p >= kind.from_scores(reference).smallest_alpha).all()


@KINDS
@given(scores, scores, alphas)
def test_below_the_threshold_is_exactly_p_at_most_alpha(kind, reference, new, alpha):
    calibrated = kind.from_scores(reference)
    new = np.concatenate([new, reference])
    is_alarm = new < calibrated.threshold(alpha)
    assert_array_equal(is_alarm, calibrated.p_values(new) <= alpha)


@KINDS
@given(scores, scores)
def test_p_values_rise_with_the_score(kind, reference, new):
    assert (np.diff(kind.from_scores(reference).p_values(np.sort(new))) >= 0).all()


@given(scores)
def test_held_out_p_values_are_never_zero(reference):
    calibrated = HeldOutScores.from_scores(reference)
    assert calibrated.p_values(np.array([-1e9]))[0] == 1 / (len(reference) + 1)
    assert calibrated.threshold(0.999 / (len(reference) + 1)) == -np.inf
    assert calibrated.threshold(1 / (len(reference) + 1)) == reference.min()


def test_the_threshold_is_the_documented_order_statistic(rng):
    reference = rng.normal(size=199)
    assert HeldOutScores.from_scores(reference).threshold(0.05) == np.sort(reference)[10 - 1]
    assert (
        HeldOutScores.from_scores(reference[:99]).threshold(0.29) == np.sort(reference[:99])[29 - 1]
    )
    assert TrainingScores.from_scores(reference).threshold(0.05) == np.sort(reference)[9]


@KINDS
def test_nan_is_never_a_p_value(kind):
    with pytest.raises(ValueError, match="must not be NaN"):
        kind.from_scores(np.array([1.0, np.nan]))
    with pytest.raises(ValueError, match="A score is NaN"):
        kind.from_scores(np.array([1.0])).p_values(np.array([np.nan]))


def test_each_kind_says_what_it_guarantees():
    kinds = (HeldOutScores, TrainingScores, CrossFittedScores)
    assert [repr(kind.from_scores(np.zeros(3))) for kind in kinds] == [
        "HeldOutScores(3 scores, guarantee: exact)",
        "TrainingScores(3 scores, guarantee: none)",
        "CrossFittedScores(3 scores, guarantee: empirical)",
    ]


def test_more_held_out_scores_extend_the_reference():
    extended = HeldOutScores.from_scores(np.array([3.0, 1.0])).extended(np.array([2.0]))
    assert_array_equal(extended.scores, [1.0, 2.0, 3.0])


@pytest.mark.parametrize("kind", [TrainingScores, CrossFittedScores])
def test_held_out_scores_replace_those_that_are_not(kind):
    reference = kind.from_scores(np.array([3.0, 1.0]))
    replaced = grown(reference, np.array([2.0]), None, replace=False)
    assert isinstance(replaced, HeldOutScores)
    assert_array_equal(replaced.scores, [2.0])


def thin(monkeypatch, most, exact):
    monkeypatch.setattr("rankad.calibration.reference.MAX_SCORES", most)
    monkeypatch.setattr(
        "rankad.calibration.reference.thinned",
        lambda scores, counts: thinned(scores, counts, max_size=most, exact=exact),
    )


@pytest.mark.parametrize("step", [150, 1_500, 19_500])
def test_millions_of_scores_keep_their_lower_tail_and_stay_valid(monkeypatch, rng, step):
    thin(monkeypatch, most=1_000, exact=400)
    everything = rng.normal(size=20_000)
    exact, kept = HeldOutScores(np.sort(everything)), HeldOutScores.from_scores(everything[:500])
    for start in range(500, 20_000, step):
        kept = kept.extended(everything[start : start + step])
        assert len(kept.scores) <= 1_000
    assert kept.size == exact.size == 20_000
    assert_array_equal(kept.scores[:400], exact.scores[:400])
    new = np.concatenate([rng.normal(size=2_000), everything])
    p, exact_p = kept.p_values(new), exact.p_values(new)
    is_tail = exact_p <= 400 / 20_001
    assert is_tail.sum() > 300
    assert_array_equal(p[is_tail], exact_p[is_tail])
    assert (p >= exact_p).all()
    assert (p - exact_p).max() < 0.1  # with 600 groups only
    for alpha in (1 / 20_001, 0.001, 0.02, 0.3, 0.9999):
        assert_array_equal(new < kept.threshold(alpha), p <= alpha)
    assert kept.threshold(0.01) == exact.threshold(0.01)
    assert kept.order(0.01) == exact.order(0.01) == 200


def test_one_row_has_the_same_p_value_alone_where_scores_are_thinned(monkeypatch, rng):
    thin(monkeypatch, most=300, exact=100)
    detector = RankAD(random_state=0).fit(rng.normal(size=(200, 2)))
    detector.calibrate(rng.normal(size=(2_000, 2)))
    assert detector.reference_.counts is not None
    rows = rng.normal(size=(50, 2)) * 2
    alone = [detector.scorer_.p_value(row) for row in rows]
    assert_array_equal(alone, detector.p_values(rows))


def test_of_many_scores_at_once_no_more_are_kept(monkeypatch, rng):
    thin(monkeypatch, most=1_000, exact=400)
    scores = rng.normal(size=5_000)
    for reference in (
        HeldOutScores.from_scores(scores),
        grown(TrainingScores.from_scores(scores[:9]), scores, None, replace=False),
    ):
        assert len(reference.scores) <= 1_000
        assert reference.size == 5_000


def test_ties_are_noticed_at_the_threshold():
    reference = HeldOutScores.from_scores(np.array([0.0, 1.0, 1.0, 2.0, 3.0]))
    assert [reference.is_tied(order) for order in range(1, 6)] == [False, True, True, False, False]
    grouped = HeldOutScores(np.array([0.0, 1.0]), np.array([1, 4]))
    assert [grouped.is_tied(order) for order in (1, 2)] == [False, True]


def test_ten_million_scores_resolve_a_millionth(rng):
    reference = HeldOutScores.from_scores(rng.normal(size=1_000))
    lowest = []
    for _ in range(10):
        new = rng.normal(size=1_000_000)
        lowest.append(np.sort(new)[:20])
        reference = reference.extended(new)
        assert len(reference.scores) <= 1_000_000
    assert reference.size == 10_001_000
    j = reference.order(1e-6)
    assert j == 10
    in_order = np.sort(np.concatenate(lowest))
    assert reference.threshold(1e-6) == in_order[j - 1]
