import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from rankad.preferences import level_preferences, rank_gap_preferences
from rankad.solvers import LOSSES, PairwiseSquaredHinge, Status, minimize, minimize_linear


@pytest.fixture
def features(rng):
    return rng.normal(size=(150, 6))


def preferences_of(kind, rng):
    if kind == "levels":
        return level_preferences(rng.integers(1, 5, size=150))
    if kind == "weighted":
        return level_preferences(rng.integers(1, 5, size=150), lambda a, b: 0.5 * (a - b))
    return rank_gap_preferences(rng.normal(size=150), 0.3)


@pytest.mark.parametrize("kind", ["levels", "weighted", "gaps"])
@pytest.mark.parametrize("loss", sorted(LOSSES))
@pytest.mark.parametrize("anchor", [0.0, 0.7])
def test_the_projected_hessian_is_the_hessian_between_features(
    kind, loss, anchor, features, rng, monkeypatch
):
    monkeypatch.setattr("rankad.solvers.projection._CHUNK_ROWS", 7)
    monkeypatch.setattr("rankad.solvers.pairwise.MANY_BLOCKS", 10**9)
    local = LOSSES[loss](preferences_of(kind, rng), anchor).at(rng.normal(size=150))
    expected = features.T @ local.hessian_product(features)
    scale = np.abs(expected).max()
    assert_allclose(local.projected_hessian(features), expected, atol=1e-9 * max(scale, 1.0))


@pytest.mark.parametrize("loss", sorted(LOSSES))
@pytest.mark.parametrize("C", [1e-4, 1e-1])
def test_the_minimum_is_that_of_the_kernel_solver(loss, C, features, rng):
    problem = LOSSES[loss](preferences_of("levels", rng), 1.0)
    linear = minimize_linear(problem, features, C, tol=1e-10)
    kernel = minimize(problem, features @ features.T, C, tol=1e-10)
    assert linear.status is not Status.MAX_ITER
    assert_allclose(linear.objective, kernel.objective, rtol=1e-6)
    assert_allclose(linear.scores, features @ linear.coefficients)
    assert_allclose(linear.scores, kernel.scores, atol=1e-3 * np.abs(kernel.scores).max())


@pytest.mark.parametrize("loss", sorted(LOSSES))
def test_a_factorization_takes_over_where_conjugate_gradients_are_slow(
    loss, features, rng, monkeypatch
):
    problem = LOSSES[loss](preferences_of("levels", rng), 1.0)
    by_gradients = minimize_linear(problem, features, 0.01, tol=1e-8)
    monkeypatch.setattr("rankad.solvers.linear._MAX_CG_ITERATIONS", 1)
    by_factor = minimize_linear(problem, features, 0.01, tol=1e-8)
    assert_allclose(by_factor.objective, by_gradients.objective, rtol=1e-8)
    assert_allclose(by_factor.scores, by_gradients.scores, atol=1e-4)


def test_at_the_minimum_the_gradient_vanishes(features, rng):
    problem = PairwiseSquaredHinge(preferences_of("levels", rng), 1.0)
    solution = minimize_linear(problem, features, 0.01, tol=1e-9)
    assert solution.status is Status.CONVERGED

    def objective(w):
        return 0.5 * w @ w + 0.01 * problem.at(features @ w).value

    step = 1e-5 * np.eye(6)
    w = solution.coefficients
    slopes = [(objective(w + h) - objective(w - h)) / 2e-5 for h in step]
    assert_allclose(slopes, 0.0, atol=1e-5 * objective(w))


def test_a_warm_start_needs_no_step(features, rng):
    problem = PairwiseSquaredHinge(preferences_of("levels", rng), 1.0)
    solution = minimize_linear(problem, features, 0.01)
    again = minimize_linear(problem, features, 0.01, start=solution.coefficients)
    assert again.n_iter == 0
    assert_array_equal(again.coefficients, solution.coefficients)


def test_too_few_steps_are_reported(features, rng):
    levels = np.digitize(features[:, 0], [-0.5, 0.5])
    problem = PairwiseSquaredHinge(level_preferences(levels), 1.0)
    solution = minimize_linear(problem, features, 1.0, max_iter=1)
    assert solution.status is Status.MAX_ITER
    assert solution.n_iter == 1


@pytest.mark.parametrize("loss", sorted(LOSSES))
@pytest.mark.parametrize("anchor", [0.0, 1.0])
def test_a_sample_as_preconditioner_leads_to_the_same_minimum(loss, anchor, rng, monkeypatch):
    features = rng.normal(size=(2000, 6))
    levels = np.digitize(features[:, 0] + 0.3 * rng.normal(size=2000), [-0.5, 0.5])
    problem = LOSSES[loss](level_preferences(levels), anchor)
    directly = minimize_linear(problem, features, 1e-4, tol=1e-8)
    monkeypatch.setattr("rankad.solvers.linear._SAMPLE", 300)
    by_sample = minimize_linear(problem, features, 1e-4, tol=1e-8)
    assert_allclose(by_sample.objective, directly.objective, rtol=1e-9)
    assert_allclose(by_sample.scores, directly.scores, atol=1e-4)


def test_many_blocks_are_projected_by_columns_and_few_by_sweeps(features, rng, monkeypatch):
    local = PairwiseSquaredHinge(preferences_of("gaps", rng), 0.5).at(rng.normal(size=150))
    by_columns = local.projected_hessian(features)
    monkeypatch.setattr("rankad.solvers.pairwise.MANY_BLOCKS", 10**9)
    assert_allclose(by_columns, local.projected_hessian(features), rtol=1e-10, atol=1e-8)
    assert_array_equal(by_columns, by_columns.T)


def test_the_unit_of_the_weights_does_not_change_the_share_of_a_sample(rng):
    levels = rng.integers(1, 4, size=100)
    factors = [
        PairwiseSquaredHinge(level_preferences(levels, lambda a, b, u=u: u), 1.0).sampled(
            np.arange(0, 100, 2)
        )[1]
        for u in (1.0, 1e-6)
    ]
    assert_allclose(factors[0], factors[1])


@pytest.mark.parametrize("loss", sorted(LOSSES))
@pytest.mark.parametrize("kind", ["levels", "weighted", "gaps"])
def test_a_sample_of_all_points_is_the_whole_loss(loss, kind, rng):
    problem = LOSSES[loss](preferences_of(kind, rng), 0.7)
    order = rng.permutation(150)
    sample, factor = problem.sampled(order)
    scores = rng.normal(size=150)
    assert factor == 1.0
    assert_allclose(sample.at(scores[order]).value, problem.at(scores).value)
    assert_allclose(sample.at(scores[order]).gradient, problem.at(scores).gradient[order])


@pytest.mark.parametrize("n_sample", [20_000, 50], ids=["directly", "by sample"])
@pytest.mark.parametrize("loss", sorted(LOSSES))
def test_a_hopeless_C_stalls(loss, n_sample, features, rng, monkeypatch):
    # Rounding leaves matrices that are not positive definite.
    monkeypatch.setattr("rankad.solvers.linear._SAMPLE", n_sample)
    problem = LOSSES[loss](preferences_of("levels", rng), 1.0)
    solution = minimize_linear(problem, features, 1e14)
    assert solution.status is Status.STALLED
    assert np.isfinite(solution.coefficients).all()


def test_a_stage_samples_its_loss_once(features, rng, monkeypatch):
    monkeypatch.setattr("rankad.solvers.linear._SAMPLE", 50)
    n_samples, sampled = [], PairwiseSquaredHinge.sampled
    monkeypatch.setattr(
        PairwiseSquaredHinge,
        "sampled",
        lambda loss, points: n_samples.append(len(points)) or sampled(loss, points),
    )
    problem = PairwiseSquaredHinge(preferences_of("levels", rng), 1.0)
    solution = minimize_linear(problem, features, 0.01)
    assert solution.n_iter > 2
    assert n_samples == [50, 50]  # for the start, and for the one stage
