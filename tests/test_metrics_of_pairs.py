import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import oracles
from rankad.metrics import pairwise_disagreement
from rankad.preferences import level_preferences

scores_and_levels = st.lists(
    st.tuples(st.sampled_from([-1.0, 0.0, 0.5, 1.0]) | st.floats(-2, 2), st.integers(1, 4)),
    min_size=1,
    max_size=30,
).map(lambda rows: tuple(np.array(column) for column in zip(*rows, strict=True)))


@given(scores_and_levels, st.sampled_from([None, lambda a, b: a - b]))
def test_disagreement_matches_explicit_pairs(problem, weight):
    scores, levels = problem
    preferences = level_preferences(levels, weight)
    assert_allclose(
        pairwise_disagreement(scores, preferences),
        oracles.disagreement(scores, oracles.pair_weights(preferences)),
    )


def test_a_constant_score_disagrees_by_one_half(rng):
    preferences = level_preferences(rng.integers(1, 4, size=50))
    assert pairwise_disagreement(np.zeros(50), preferences) == 0.5


def test_the_true_order_disagrees_nowhere():
    levels = np.array([1, 2, 3, 3])
    assert pairwise_disagreement(levels.astype(float), level_preferences(levels)) == 0.0
