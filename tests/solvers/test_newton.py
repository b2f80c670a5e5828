import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import oracles
import rankad.solvers.newton
from rankad.kernels import gaussian_gram, squared_distances
from rankad.preferences import quantized_levels
from rankad.solvers import PairwiseSquaredHinge, Status, minimize
from rankad.statistics import MeanNeighborDistance

ANCHORS = pytest.mark.parametrize("anchor", [0.0, 1.0], ids=["paper", "anchored"])


def problem(rng, n, anchor, relative_sigma=1.0):
    points = np.concatenate([rng.normal(size=(n // 2, 2)), 0.3 * rng.normal(size=(n - n // 2, 2))])
    statistic = MeanNeighborDistance(5)(points)
    sigma = relative_sigma * -statistic.mean()
    gram = gaussian_gram(squared_distances(points), sigma, centered=anchor == 0)
    return PairwiseSquaredHinge(quantized_levels(statistic, 3), anchor), gram


@ANCHORS
@pytest.mark.parametrize("C", [1e-3, 1e-1, 10.0])
@pytest.mark.parametrize("relative_sigma", [0.5, 2.0, 16.0])
def test_the_optimum_is_that_of_the_primal(anchor, C, relative_sigma, rng):
    loss, gram = problem(rng, 100, anchor, relative_sigma)
    solution = minimize(loss, gram, C)
    plain_gram = gram + 1.0 if loss.is_shift_invariant else gram
    optimum = oracles.primal_optimum(plain_gram, loss.levels, C, anchor)
    assert solution.status is Status.CONVERGED
    assert abs(solution.objective - optimum) <= 1e-6 * optimum


@ANCHORS
def test_conjugate_gradients_and_factorization_agree(anchor, rng, monkeypatch):
    loss, gram = problem(rng, 150, anchor)
    direct = minimize(loss, gram, 0.1)
    monkeypatch.setattr(rankad.solvers.newton, "_ALWAYS_DIRECT", 0)
    monkeypatch.setattr(rankad.solvers.newton, "_EVER_DIRECT", 0)
    iterative = minimize(loss, gram, 0.1)
    assert_allclose(iterative.objective, direct.objective, rtol=1e-9)
    assert_allclose(iterative.scores, direct.scores, atol=1e-4)


def test_a_factorization_takes_over_where_conjugate_gradients_are_slow(rng, monkeypatch):
    loss, gram = problem(rng, 300, 1.0)
    fast = minimize(loss, gram, 300.0)
    monkeypatch.setattr(rankad.solvers.newton, "_EVER_DIRECT", 0)
    slow = minimize(loss, gram, 300.0, max_iter=500)
    assert fast.status is slow.status is Status.CONVERGED
    assert_allclose(fast.objective, slow.objective, rtol=1e-6)


@ANCHORS
def test_coefficients_come_from_the_gradient_and_vanish_off_the_support(anchor, rng):
    loss, gram = problem(rng, 200, anchor, relative_sigma=4.0)
    solution = minimize(loss, gram, 100.0)
    local = loss.at(solution.scores)
    is_zero = solution.coefficients == 0.0
    assert 0 < is_zero.sum() < 200
    assert_array_equal(is_zero, ~local.is_active)
    scale = np.abs(solution.coefficients).max()
    assert_allclose(solution.coefficients, -100.0 * local.gradient, atol=1e-3 * scale)


def test_without_anchor_the_coefficients_sum_to_zero(rng):
    loss, gram = problem(rng, 120, 0.0)
    coefficients = minimize(loss, gram, 1.0).coefficients
    assert abs(coefficients.sum()) <= 1e-12 * np.abs(coefficients).sum()


@ANCHORS
def test_the_gradient_norm_certifies_the_scores(anchor, rng):
    loss, gram = problem(rng, 120, anchor)
    exact = minimize(loss, gram, 1.0, tol=1e-10)
    rough = minimize(loss, gram, 1.0, tol=1e-2)
    assert rough.gradient_norm > 1e-6
    assert np.abs(gram @ rough.warm_start - exact.scores).max() <= rough.gradient_norm


def test_a_warm_start_saves_iterations_and_changes_nothing(rng):
    loss, gram = problem(rng, 150, 1.0)
    near = minimize(loss, gram, 1.0)
    cold = minimize(loss, gram, 1.1)
    warm = minimize(loss, gram, 1.1, start=near.warm_start)
    assert warm.n_iter < cold.n_iter
    assert_allclose(warm.scores, cold.scores, atol=1e-4)


def test_too_few_iterations_are_reported(rng):
    loss, gram = problem(rng, 80, 1.0)
    solution = minimize(loss, gram, 10.0, max_iter=1)
    assert solution.status is Status.MAX_ITER
    assert solution.n_iter == 1
    assert "raise max_iter" in solution.status.value


def test_the_end_of_floating_point_is_reported(rng):
    loss, gram = problem(rng, 80, 1.0)
    solution = minimize(loss, gram, 1.0, tol=1e-300)
    assert solution.status is Status.STALLED
    assert solution.gradient_norm < 1e-8


@pytest.mark.parametrize("power", [-10, 10])
@pytest.mark.parametrize("C", [1e-3, 1e3])
@ANCHORS
def test_the_corners_of_the_published_grid_are_solved(anchor, C, power, rng):
    loss, gram = problem(rng, 150, anchor, relative_sigma=2.0**power)
    solution = minimize(loss, gram, C)
    assert np.isfinite(solution.coefficients).all()
    assert solution.gradient_norm <= 1e-3 * np.sqrt(solution.coefficients @ solution.scores)
