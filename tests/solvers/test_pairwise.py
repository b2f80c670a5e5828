import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import oracles
from rankad.options import Pairs
from rankad.preferences import level_preferences, rank_gap_preferences
from rankad.solvers import PairwiseHinge, PairwiseSquaredHinge

WIDTH = 0.3
LOSSES = pytest.mark.parametrize(
    ("make_loss", "hinge"),
    [
        (PairwiseSquaredHinge, oracles.squared_hinge),
        (lambda *args: PairwiseHinge(*args, width=WIDTH), oracles.smoothed_hinge(WIDTH)),
    ],
    ids=["squared hinge", "hinge"],
)

ordinary = st.floats(-3, 3)
tied = st.sampled_from([-1.0, 0.0, 0.0, 0.5, 1.0, 1.0, 2.0])
extreme = st.floats(-1e12, 1e12) | st.floats(-1e-12, 1e-12)
schemes = st.sampled_from(
    [
        level_preferences,
        lambda levels: level_preferences(levels, weight=lambda a, b: a + 0.5 * b),
        lambda levels: Pairs(None)(levels),
        lambda levels: rank_gap_preferences(levels, 0.3),
    ]
)


@st.composite
def problems(draw, values=(ordinary, tied, extreme, ordinary | extreme)):
    scores = np.array(draw(st.lists(draw(st.sampled_from(values)), min_size=1, max_size=25)))
    levels = draw(st.lists(st.integers(1, 9), min_size=len(scores), max_size=len(scores)))
    anchor = draw(st.sampled_from([(0.0, 1.0), (0.1, 8.0), (1.0, 1.0), (30.0, 0.5)]))
    return scores, draw(schemes)(np.array(levels)), anchor


def explicit(hinge, scores, preferences, anchor):
    weights = oracles.pair_weights(preferences)
    anchor_weight = anchor[0] * sum(weights.values()) / len(scores)
    return oracles.pairwise_loss(hinge, scores, weights, anchor_weight, anchor[1])


@given(problems())
def test_value_and_gradient_match_explicit_pairs_at_any_magnitude(problem):
    scores, preferences, anchor = problem
    local = PairwiseSquaredHinge(preferences, *anchor).at(scores)
    value, gradient, hessian = explicit(oracles.squared_hinge, scores, preferences, anchor)
    assert_allclose(local.value, value, rtol=1e-11)
    # A gradient is a difference of two positive sums, so compare on the scale of these.
    scale = (1.0 + anchor[0]) * preferences.total_weight * (1.0 + np.abs(scores).max())
    assert_allclose(local.gradient, gradient, rtol=1e-11, atol=1e-13 * scale)
    assert_array_equal(local.is_active, np.abs(hessian).sum(axis=1) > 0)


@LOSSES
@given(problems(values=(ordinary, tied)))
def test_every_loss_matches_explicit_pairs(make_loss, hinge, problem):
    scores, preferences, anchor = problem
    local = make_loss(preferences, *anchor).at(scores)
    value, gradient, _ = explicit(hinge, scores, preferences, anchor)
    assert_allclose(local.value, value, rtol=1e-9, atol=1e-9)
    assert_allclose(local.gradient, gradient, rtol=1e-9, atol=1e-8)


@LOSSES
@given(
    problem=problems(values=(ordinary, tied)),
    seed=st.integers(0, 2**32 - 1),
    n_columns=st.sampled_from([None, 1, 4]),
)
def test_hessian_products_match_the_explicit_hessian(make_loss, hinge, problem, seed, n_columns):
    scores, preferences, anchor = problem
    # Move off the kinks, where the second derivative jumps and rounding decides.
    rng = np.random.default_rng(seed)
    scores = scores + 1e-3 * rng.normal(size=len(scores))
    vectors = rng.normal(size=len(scores) if n_columns is None else (len(scores), n_columns))
    _, _, hessian = explicit(hinge, scores, preferences, anchor)
    product = make_loss(preferences, *anchor).at(scores).hessian_product(vectors)
    assert product.shape == vectors.shape
    assert_allclose(product, hessian @ vectors, rtol=1e-9, atol=1e-8)


@LOSSES
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@given(problem=problems(values=(ordinary, tied)))
def test_the_active_rows_alone_multiply_as_all_rows_do(make_loss, hinge, dtype, problem):
    scores, preferences, anchor = problem
    local = make_loss(preferences, *anchor).at(scores)
    rows = np.flatnonzero(local.is_active)
    hessian = local.hessian_product(np.eye(len(scores)))
    part = local.hessian_product(np.eye(rows.size, dtype=dtype), rows)
    assert part.dtype == dtype
    assert_allclose(part, hessian[np.ix_(rows, rows)], rtol=1e-5)
    assert not np.delete(hessian, rows, axis=0).any()


@LOSSES
@pytest.mark.parametrize("anchor", [(0.0, 1.0), (1.0, 1.0), (1.0, 4.0)])
def test_gradient_and_hessian_are_derivatives(make_loss, hinge, anchor, rng):
    scores, direction = 0.7 * rng.normal(size=50), rng.normal(size=50)
    loss = make_loss(level_preferences(rng.integers(1, 4, size=50)), *anchor)
    h = 1e-6
    ahead, behind = loss.at(scores + h * direction), loss.at(scores - h * direction)
    local = loss.at(scores)
    assert_allclose((ahead.value - behind.value) / (2 * h), local.gradient @ direction, rtol=1e-6)
    assert_allclose(
        (ahead.gradient - behind.gradient) / (2 * h),
        local.hessian_product(direction),
        rtol=1e-5,
        atol=1e-3,
    )


def test_the_smoothed_hinge_is_within_a_quarter_of_its_width(rng):
    scores, preferences = rng.normal(size=40), level_preferences(rng.integers(1, 4, size=40))
    exact = sum(max(0.0, 1 - scores[i] + scores[j]) for i, j in oracles.pair_weights(preferences))
    for width in (1.0, 1e-2, 1e-5):
        excess = PairwiseHinge(preferences, width=width).at(scores).value - exact
        assert -1e-8 <= excess <= preferences.total_weight * width / 4 + 1e-8


def test_the_hessian_is_symmetric_and_blind_to_shifts_without_anchor(rng):
    loss = PairwiseSquaredHinge(level_preferences(rng.integers(1, 4, size=60)))
    hessian = loss.at(rng.normal(size=60)).hessian_product(np.eye(60))
    assert_array_equal(hessian, hessian.T)
    assert_allclose(hessian.sum(axis=0), 0.0, atol=1e-12)
    assert loss.is_shift_invariant


def test_the_anchor_weighs_as_much_as_all_pairs_together(rng):
    preferences = level_preferences(rng.integers(1, 4, size=30))
    at_zero = PairwiseSquaredHinge(preferences, anchor=1.0).at(np.zeros(30))
    assert_allclose(at_zero.value, 2 * preferences.total_weight)


def test_a_wider_margin_of_the_anchor_weighs_its_square(rng):
    preferences = level_preferences(rng.integers(1, 4, size=30))
    at_zero = PairwiseSquaredHinge(preferences, anchor=1.0, anchor_margin=3.0).at(np.zeros(30))
    assert_allclose(at_zero.value, (1 + 9) * preferences.total_weight)
