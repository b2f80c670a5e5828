from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import oracles
from rankad.kernels import distances_between, gaussian_gram
from rankad.options import Pairs
from rankad.preferences import level_preferences, quantized_levels
from rankad.solvers import (
    PairwiseHinge,
    PairwiseSquaredHinge,
    Status,
    directions,
    minimize,
    minimize_along,
)
from rankad.solvers.line_search import minimum_along
from rankad.statistics import MeanNeighborDistance

ANCHORS = pytest.mark.parametrize("anchor", [0.0, 1.0], ids=["paper", "anchored"])


def problem(rng, n, anchor, relative_sigma=1.0, make_loss=PairwiseSquaredHinge):
    points = np.concatenate([rng.normal(size=(n // 2, 2)), 0.3 * rng.normal(size=(n - n // 2, 2))])
    statistic = MeanNeighborDistance(5)(points)
    sigma = relative_sigma * -statistic.mean()
    gram = gaussian_gram(distances_between(points, points), sigma, centered=anchor == 0)
    levels = quantized_levels(statistic, 3)
    return make_loss(level_preferences(levels), anchor), gram, levels


@ANCHORS
@pytest.mark.parametrize("C", [1e-3, 1e-1, 10.0])
@pytest.mark.parametrize("relative_sigma", [0.5, 2.0, 16.0])
def test_the_optimum_is_that_of_the_primal(anchor, C, relative_sigma, rng):
    loss, gram, levels = problem(rng, 100, anchor, relative_sigma)
    solution = minimize(loss, gram, C)
    plain_gram = gram + 1.0 if loss.is_shift_invariant else gram
    optimum = oracles.primal_optimum(plain_gram, levels, C, anchor)
    assert solution.status is Status.CONVERGED
    assert abs(solution.objective - optimum) <= 1e-6 * optimum


@ANCHORS
def test_conjugate_gradients_and_factorization_agree(anchor, rng, monkeypatch):
    loss, gram, _ = problem(rng, 150, anchor)
    direct = minimize(loss, gram, 0.1)
    monkeypatch.setattr(directions, "_ALWAYS_DIRECT", 0)
    monkeypatch.setattr(directions, "_MAX_DIRECT", 0)
    iterative = minimize(loss, gram, 0.1)
    assert_allclose(iterative.objective, direct.objective, rtol=1e-9)
    assert_allclose(iterative.scores, direct.scores, atol=1e-4)


def test_a_factorization_takes_over_where_conjugate_gradients_are_slow(rng, monkeypatch):
    loss, gram, _ = problem(rng, 300, 1.0)
    fast = minimize(loss, gram, 300.0)
    monkeypatch.setattr(directions, "_MAX_DIRECT", 0)
    slow = minimize(loss, gram, 300.0, max_iter=500)
    assert fast.status is slow.status is Status.CONVERGED
    assert_allclose(fast.objective, slow.objective, rtol=1e-6)


@ANCHORS
def test_coefficients_come_from_the_gradient_and_vanish_off_the_support(anchor, rng):
    loss, gram, _ = problem(rng, 200, anchor, relative_sigma=4.0)
    solution = minimize(loss, gram, 100.0)
    local = loss.at(solution.scores)
    is_zero = solution.coefficients == 0.0
    assert 0 < is_zero.sum() < 200
    assert_array_equal(is_zero, ~local.is_active)
    scale = np.abs(solution.coefficients).max()
    assert_allclose(solution.coefficients, -100.0 * local.gradient, atol=1e-3 * scale)


def test_without_anchor_the_coefficients_sum_to_zero(rng):
    loss, gram, _ = problem(rng, 120, 0.0)
    coefficients = minimize(loss, gram, 1.0).coefficients
    assert abs(coefficients.sum()) <= 1e-12 * np.abs(coefficients).sum()


@ANCHORS
@pytest.mark.parametrize("C", [1e-2, 1.0, 1e3])
@pytest.mark.parametrize("tol", [1e-2, 1e-6])
def test_the_error_bound_certifies_the_scores(anchor, C, tol, rng):
    loss, gram, _ = problem(rng, 120, anchor, relative_sigma=4.0)
    exact = minimize(loss, gram, C, tol=1e-11)
    rough = minimize(loss, gram, C, tol=tol)
    error = np.abs(rough.scores - exact.scores).max()
    assert error <= rough.error_bound + exact.error_bound
    assert rough.error_bound >= rough.gradient_norm


@pytest.mark.parametrize("C", [1.0, 100.0])
def test_more_iterations_never_make_it_worse(C, rng):
    loss, gram, _ = problem(rng, 300, 1.0, relative_sigma=4.0)
    objectives = [minimize(loss, gram, C, max_iter=k).objective for k in range(1, 16)]
    assert (np.diff(objectives) <= 1e-7 * np.array(objectives[:-1])).all()


def test_the_line_search_can_go_beyond_the_full_step(rng):
    loss, gram, _ = problem(rng, 60, 1.0)
    zero = np.zeros(60)
    local = loss.at(zero)
    ascent = -local.gradient * 1e-6
    along = gram @ ascent
    step, there = minimum_along(
        loss, 1.0, zero, local, along, linear=0.0, quadratic=float(ascent @ along)
    )
    assert step > 10.0
    scores = step * along
    assert_array_equal(there.gradient, loss.at(scores).gradient)
    slope = (step * ascent + there.gradient) @ along
    assert abs(slope) <= 0.1 * abs(local.gradient @ along)


@ANCHORS
@pytest.mark.parametrize("C", [0.01, 0.1, 1.0])
@pytest.mark.parametrize("relative_sigma", [1.0, 4.0])
def test_the_hinge_reaches_the_optimum_of_its_dual(anchor, C, relative_sigma, rng):
    loss, gram, levels = problem(rng, 60, anchor, relative_sigma, PairwiseHinge)
    solution = minimize(loss, gram, C)
    plain_gram = gram + 1.0 if loss.is_shift_invariant else gram
    optimum = oracles.hinge_optimum(plain_gram, levels, C, anchor)
    assert abs(solution.objective - optimum) <= 1e-5 * optimum


@pytest.mark.parametrize("C", [0.01, 0.1])
@pytest.mark.parametrize(
    ("make_loss", "optimum_of"),
    [
        (PairwiseSquaredHinge, oracles.primal_optimum),
        (PairwiseHinge, oracles.hinge_optimum),
    ],
    ids=["squared hinge", "hinge"],
)
def test_the_optimum_is_reached_with_a_wide_margin_of_the_anchor(make_loss, optimum_of, C, rng):
    loss, gram, levels = problem(rng, 60, 1.0, make_loss=make_loss)
    solution = minimize(replace(loss, anchor_margin=8.0), gram, C)
    optimum = optimum_of(gram, levels, C, 1.0, anchor_margin=8.0)
    assert abs(solution.objective - optimum) <= 1e-5 * optimum


@pytest.mark.parametrize("scheme", [Pairs(None), Pairs(min_gap=0.2)])
def test_other_schemes_are_solved(scheme, rng):
    points = rng.normal(size=(150, 2))
    statistic = MeanNeighborDistance(5)(points)
    gram = gaussian_gram(distances_between(points, points), 1.0)
    solution = minimize(PairwiseSquaredHinge(scheme(statistic), 1.0), gram, 0.1)
    assert solution.status is Status.CONVERGED
    assert np.corrcoef(solution.scores, statistic)[0, 1] > 0.8


def test_a_warm_start_saves_iterations_and_changes_nothing(rng):
    loss, gram, _ = problem(rng, 150, 1.0)
    near = minimize(loss, gram, 1.0)
    cold = minimize(loss, gram, 1.1)
    warm = minimize(loss, gram, 1.1, start=near.warm_start)
    assert warm.n_iter < cold.n_iter
    assert_allclose(warm.scores, cold.scores, atol=1e-4)


@ANCHORS
@pytest.mark.parametrize("make_loss", [PairwiseSquaredHinge, PairwiseHinge])
def test_a_path_is_one_cold_solve_after_the_other(anchor, make_loss, rng):
    loss, gram, _ = problem(rng, 120, anchor, 2.0, make_loss)
    Cs = [1e-3, 1e-1, 1e1]
    for C, solution in zip(Cs, minimize_along(loss, gram, Cs, tol=1e-6), strict=True):
        cold = minimize(loss, gram, C)
        if make_loss is PairwiseHinge and anchor == 0.0:
            # On some processors it stalls a digit above tol, which its status shows.
            assert max(solution.error_bound, cold.error_bound) <= 1e-3
        else:
            assert solution.status is cold.status is Status.CONVERGED
        assert_allclose(solution.objective, cold.objective, rtol=1e-6)
        assert_allclose(solution.scores, gram @ solution.coefficients, atol=1e-9)
        error = np.abs(solution.scores - cold.scores).max()
        assert error <= solution.error_bound + cold.error_bound + 1e-9


def in_precision(monkeypatch, *, single):
    monkeypatch.setattr(directions, "_ROUGH_FROM", 0 if single else 10**9)


@ANCHORS
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("power", [-10, -1, 1, 4, 10])
def test_single_precision_changes_nothing(anchor, C, power, rng, monkeypatch):
    loss, gram, _ = problem(rng, 300, anchor, relative_sigma=2.0**power)
    in_precision(monkeypatch, single=False)
    exact = minimize(loss, gram, C)
    in_precision(monkeypatch, single=True)
    rough = minimize(loss, gram, C)
    assert rough.status is exact.status
    assert_allclose(rough.objective, exact.objective, rtol=1e-6)
    error = np.abs(rough.scores - exact.scores).max()
    # At such a width scores lose digits: their rounding errors grow with sum |a|.
    rounding = 1e-14 * np.abs(exact.coefficients).sum()
    assert error <= rough.error_bound + exact.error_bound + rounding


def test_directions_that_single_precision_spoils_are_solved_again(rng, monkeypatch):
    in_precision(monkeypatch, single=True)
    loss, gram, _ = problem(rng, 300, 1.0, relative_sigma=8.0)
    system = directions.KernelSystem(gram, sums_to_zero=False)
    start = minimize(loss, gram, 100.0)
    local = loss.at(start.scores)
    residual = start.coefficients + 1000.0 * local.gradient
    equations = local, 1000.0, residual, gram @ residual
    direction = system.direction(*equations, forcing=1e-3)
    assert not system.use_double_precision()  # it has switched after the failure
    hessian = local.hessian_product(np.eye(300))
    exact = np.linalg.solve(np.eye(300) + 1000.0 * hessian @ gram, -residual)
    # The matrix of such wide kernels is nearly singular: two exact solvers differ by over 1e-6.
    assert_allclose(direction.scores, gram @ exact, atol=1e-5 * np.abs(gram @ exact).max())


def test_without_anchor_single_precision_leaves_sums_of_zero(rng, monkeypatch):
    in_precision(monkeypatch, single=True)
    loss, gram, _ = problem(rng, 250, 0.0)
    for solution in minimize_along(loss, gram, [0.01, 1.0, 100.0], tol=1e-2):
        coefficients = solution.coefficients
        assert abs(coefficients.sum()) <= 1e-12 * np.abs(coefficients).sum()


def test_too_few_iterations_are_reported(rng):
    loss, gram, _ = problem(rng, 80, 1.0)
    solution = minimize(loss, gram, 10.0, max_iter=1)
    assert solution.status is Status.MAX_ITER
    assert solution.n_iter == 1
    assert "raise max_iter" in solution.status.value
    assert repr(solution).startswith("Solution(MAX_ITER after 1 iterations, objective=")


def test_the_end_of_floating_point_is_reported(rng):
    loss, gram, _ = problem(rng, 80, 1.0)
    solution = minimize(loss, gram, 1.0, tol=1e-300)
    assert solution.status is Status.STALLED
    assert solution.gradient_norm < 1e-8


@pytest.mark.parametrize("power", [-10, 10])
@pytest.mark.parametrize("C", [1e-3, 1e3])
@ANCHORS
def test_the_corners_of_the_published_grid_are_solved(anchor, C, power, rng):
    loss, gram, _ = problem(rng, 150, anchor, relative_sigma=2.0**power)
    solution = minimize(loss, gram, C)
    assert np.isfinite(solution.coefficients).all()
    assert solution.gradient_norm <= 1e-3 * np.sqrt(solution.coefficients @ solution.scores)
