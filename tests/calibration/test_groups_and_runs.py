"""References of groups and of runs: p-values by the formula, thresholds, growth."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from rankad.calibration import (
    CrossFittedScores,
    GroupScores,
    HeldOutScores,
    TimeScores,
    TrainingScores,
    grown,
)

values = st.sampled_from([-1.0, 0.0, 0.5, 2.0]) | st.floats(-5, 5)
pairs = st.lists(st.tuples(values, st.integers(0, 6)), min_size=1, max_size=60)
alphas = st.floats(0.001, 0.999) | st.fractions(0, 1, max_denominator=60).map(float)


def group_p_value(score, scores, groups):
    """``(1 + sum over the groups of the share of its scores at most as large) / (K + 1)``."""
    labels = sorted(set(groups.tolist()))
    shares = [np.mean(scores[groups == label] <= score) for label in labels]
    return (1.0 + sum(shares)) / (len(labels) + 1.0)


@given(pairs, st.lists(values, min_size=1, max_size=20))
def test_each_group_counts_once(pairs, new):
    scores, groups = np.array([s for s, _ in pairs]), np.array([g for _, g in pairs])
    reference = GroupScores.from_groups(scores, groups)
    expected = [group_p_value(score, scores, groups) for score in new]
    assert_allclose(reference.p_values(np.array(new)), expected, atol=1e-9)
    assert reference.size == len(set(groups))
    assert reference.p_values(np.array([-9.0]))[0] == reference.smallest_alpha
    assert reference.p_values(np.array([9.0]))[0] == 1.0


@given(pairs, st.lists(values, min_size=1, max_size=20), alphas)
def test_below_the_threshold_is_exactly_p_at_most_alpha(pairs, new, alpha):
    scores, groups = np.array([s for s, _ in pairs]), np.array([g for _, g in pairs])
    reference = GroupScores.from_groups(scores, groups)
    new = np.concatenate([new, scores])
    for level in (alpha, *np.unique(reference.p_values(scores))[:-1]):
        assert_array_equal(new < reference.threshold(level), reference.p_values(new) <= level)


@given(pairs)
def test_a_count_of_scores_gives_the_p_value_of_the_score(pairs):
    scores, groups = np.array([s for s, _ in pairs]), np.array([g for _, g in pairs])
    for reference in (
        GroupScores.from_groups(scores, groups),
        TimeScores.from_runs(scores, [0]),
    ):
        n_at_most = np.searchsorted(reference.scores, scores, side="right")
        alone = [reference.p_value(int(n)) for n in n_at_most]
        assert_array_equal(alone, reference.p_values(scores))


def test_groups_of_one_row_are_single_rows(rng):
    scores, new = rng.normal(size=(2, 300))
    grouped = GroupScores.from_groups(scores, rng.permutation(300))
    single = HeldOutScores.from_scores(scores)
    assert_allclose(grouped.p_values(new), single.p_values(new), rtol=1e-12)
    assert grouped.smallest_alpha == single.smallest_alpha
    for alpha in (0.001, 0.01, 0.05, 0.5, 0.999):
        assert grouped.threshold(alpha) == single.threshold(alpha)


def test_shares_that_sum_to_one_are_one():
    groups = np.repeat(np.arange(99), 10)  # ten tenths
    reference = GroupScores.from_groups(np.arange(990.0), groups)
    assert reference.p_values(np.array([9.0, 49.0]))[1] == 0.06
    assert reference.threshold(0.02) == 10.0  # p(9) is 0.02


def test_labels_of_every_type_are_told_apart():
    labels = ["a", 1, "1", ("a", 2), True, b"a", None]
    with pytest.raises(ValueError, match=r"groups must not be missing.*positions 6"):
        GroupScores.from_groups(np.arange(7.0), labels)
    reference = GroupScores.from_groups(np.arange(6.0), labels[:6])
    assert reference.size == 5  # True is 1
    assert repr(reference) == "GroupScores(5 groups, guarantee: groups)"
    with pytest.raises(ValueError, match=r"one value for each of the 3 rows"):
        GroupScores.from_groups(np.zeros(3), ["a"])
    with pytest.raises(ValueError, match="must not be NaN"):
        GroupScores.from_groups(np.array([np.nan]), ["a"])


def test_runs_keep_the_order_of_time():
    reference = TimeScores.from_runs(np.array([3.0, 1.0, 2.0]), np.array([0, 2]))
    longer = reference.extended(np.array([0.0, 5.0]))
    assert_array_equal(longer.in_order, [3.0, 1.0, 2.0, 0.0, 5.0])
    assert_array_equal(longer.run_starts, [0, 2, 3])
    assert_array_equal(longer.scores, [0.0, 1.0, 2.0, 3.0, 5.0])
    assert isinstance(longer, TimeScores)
    with pytest.raises(ValueError, match="must not be NaN"):
        reference.extended(np.array([np.nan]))


OLD = np.array([3.0, 1.0])
KINDS = {
    HeldOutScores: HeldOutScores.from_scores(OLD),
    TrainingScores: TrainingScores.from_scores(OLD),
    CrossFittedScores: CrossFittedScores.from_scores(OLD),
    TimeScores: TimeScores.from_runs(OLD, [0]),
    GroupScores: GroupScores.from_groups(OLD, ["a", "b"]),
}
NEW = np.array([2.0, 5.0, 4.0])


@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("groups", [None, ["c", "c", "d"]])
@pytest.mark.parametrize("in_time", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_what_a_reference_becomes(kind, groups, replace, in_time):
    options = {"replace": replace, "in_order_of_time": in_time}
    is_held_out = kind in (HeldOutScores, TimeScores, GroupScores)
    if is_held_out and not replace and (groups is None) == (kind is GroupScores):
        with pytest.raises(ValueError, match=r"do not mix with.*replace=True"):
            grown(KINDS[kind], NEW, groups, **options)
        return
    result = grown(KINDS[kind], NEW, groups, **options)
    if is_held_out and not replace:
        expected, scores = kind, [1.0, 2.0, 3.0, 4.0, 5.0]
    else:
        expected = TimeScores if in_time else HeldOutScores
        expected, scores = expected if groups is None else GroupScores, [2.0, 4.0, 5.0]
    assert type(result) is expected
    assert_array_equal(result.scores, scores)
    n_groups = {True: 2, False: 4}[replace or kind is not GroupScores]
    assert result.size == (len(scores) if groups is None else n_groups)
    if isinstance(result, TimeScores):
        assert_array_equal(result.in_order[-3:], NEW)


def test_a_group_is_added_once():
    with pytest.raises(ValueError, match=r"already: \['b'\].*new label, or replace"):
        grown(KINDS[GroupScores], NEW, ["b", "c", "c"], replace=False)
    assert grown(KINDS[GroupScores], NEW, ["b", "c", "c"], replace=True).labels == ("b", "c")
