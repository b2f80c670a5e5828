import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import oracles
from rankad.solvers import PairwiseSquaredHinge

ordinary = st.floats(-3, 3)
tied = st.sampled_from([-1.0, 0.0, 0.0, 0.5, 1.0, 1.0, 2.0])
extreme = st.floats(-1e12, 1e12) | st.floats(-1e-12, 1e-12)


@st.composite
def problems(draw):
    values = draw(st.sampled_from([ordinary, tied, extreme, ordinary | extreme]))
    scores = np.array(draw(st.lists(values, min_size=1, max_size=25)))
    levels = draw(st.lists(st.integers(1, 5), min_size=len(scores), max_size=len(scores)))
    anchor = draw(st.sampled_from([0.0, 0.1, 1.0, 30.0]))
    return scores, PairwiseSquaredHinge(np.array(levels), anchor)


@given(problems())
def test_value_and_gradient_match_explicit_pairs(problem):
    scores, loss = problem
    local = loss.at(scores)
    value, gradient, hessian = oracles.pairwise_loss(scores, loss.levels, loss.anchor_weight)
    assert_allclose(local.value, value, rtol=1e-11)
    # A gradient is a difference of sums of one sign each: compare on the scale of those.
    scale = len(scores) * (1.0 + loss.anchor_weight) * (1.0 + np.abs(scores).max())
    assert_allclose(local.gradient, gradient, rtol=1e-11, atol=1e-12 * scale)
    assert_array_equal(local.is_active, np.abs(hessian).sum(axis=1) > 0)


@given(problems(), st.integers(0, 2**32 - 1), st.sampled_from([None, 1, 4]))
def test_hessian_products_match_the_explicit_hessian(problem, seed, n_columns):
    scores, loss = problem
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=len(scores) if n_columns is None else (len(scores), n_columns))
    _, _, hessian = oracles.pairwise_loss(scores, loss.levels, loss.anchor_weight)
    product = loss.at(scores).hessian_product(vectors)
    assert product.shape == vectors.shape
    assert_allclose(product, hessian @ vectors, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("anchor", [0.0, 1.0])
def test_gradient_and_hessian_are_derivatives(anchor, rng):
    scores, direction = 0.7 * rng.normal(size=50), rng.normal(size=50)
    loss = PairwiseSquaredHinge(rng.integers(1, 4, size=50), anchor)
    h = 1e-6
    ahead, behind = loss.at(scores + h * direction), loss.at(scores - h * direction)
    local = loss.at(scores)
    assert_allclose((ahead.value - behind.value) / (2 * h), local.gradient @ direction, rtol=1e-7)
    assert_allclose(
        (ahead.gradient - behind.gradient) / (2 * h),
        local.hessian_product(direction),
        rtol=1e-5,
        atol=1e-3,
    )


def test_the_hessian_is_symmetric_and_blind_to_shifts_without_anchor(rng):
    loss = PairwiseSquaredHinge(rng.integers(1, 4, size=60))
    hessian = loss.at(rng.normal(size=60)).hessian_product(np.eye(60))
    assert_array_equal(hessian, hessian.T)
    assert_allclose(hessian.sum(axis=0), 0.0, atol=1e-12)
    assert loss.is_shift_invariant


def test_the_anchor_weighs_like_all_pairs_together(rng):
    levels = rng.integers(1, 4, size=30)
    at_zero = PairwiseSquaredHinge(levels, anchor=1.0).at(np.zeros(30))
    assert_allclose(at_zero.value, 2 * len(oracles.pairs(levels)))
