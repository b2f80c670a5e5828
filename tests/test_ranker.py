import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from rankad.exceptions import ConvergenceWarning
from rankad.kernels import center_distances, kmeans_centers
from rankad.metrics import pairwise_disagreement
from rankad.preferences import level_preferences, quantized_levels
from rankad.ranker import RankProblem, fit_ranker, pruned
from rankad.statistics import MeanNeighborDistance

ANCHORS = pytest.mark.parametrize("anchor", [0.0, 1.0], ids=["paper", "anchored"])


def fit(points, levels, *, C, sigma, anchor=1.0, **params):
    problem = RankProblem(anchor, **params)
    return fit_ranker(points, level_preferences(levels), C=C, sigma=sigma, problem=problem)


@pytest.fixture
def levels(nominal):
    return quantized_levels(MeanNeighborDistance(10)(nominal), 3)


@ANCHORS
@pytest.mark.parametrize("sigma", [0.3, 1.0, 5.0, 500.0])
def test_the_expansion_reproduces_the_solvers_scores(anchor, sigma, nominal, levels):
    ranker = fit(nominal, levels, C=0.1, sigma=sigma, anchor=anchor)
    assert_allclose(ranker.expansion(nominal), ranker.solution.scores, rtol=1e-7, atol=1e-7)


@ANCHORS
@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_the_ranker_learns_the_levels(anchor, loss, nominal, levels):
    # Some processors leave the hinge without an anchor no progress below this tolerance.
    ranker = fit(nominal, levels, C=1.0, sigma=1.0, anchor=anchor, loss=loss, tol=1e-4)
    preferences = level_preferences(levels)
    assert pairwise_disagreement(ranker.expansion(nominal), preferences) < 0.02


@ANCHORS
@pytest.mark.parametrize("C", [0.03, 3.0])
def test_the_order_of_the_rows_does_not_matter(anchor, C, nominal, levels, rng):
    order = rng.permutation(len(nominal))
    points = rng.normal(size=(50, 3))
    one = fit(nominal, levels, C=C, sigma=1.0, anchor=anchor)
    other = fit(nominal[order], levels[order], C=C, sigma=1.0, anchor=anchor)
    # Each ranker is within its error bound of the optimum, at every point.
    tolerance = one.solution.error_bound + other.solution.error_bound + 1e-9
    assert tolerance < 1e-3
    assert_allclose(one.expansion(points), other.expansion(points), atol=tolerance, rtol=0)


def test_only_support_vectors_become_centers(nominal, levels):
    ranker = fit(nominal, levels, C=10.0, sigma=2.0)
    coefficients = ranker.solution.coefficients
    assert 0 < ranker.expansion.n_centers < len(nominal)
    assert ranker.expansion.n_centers == np.count_nonzero(coefficients)
    assert_array_equal(
        np.unique(ranker.expansion.centers, axis=0), np.unique(nominal[coefficients != 0], axis=0)
    )


def test_the_anchor_lifts_the_data_above_infinity(nominal, levels):
    far = np.full((1, 3), 1e9)
    paper = fit(nominal, levels, C=1.0, sigma=1.0, anchor=0.0).expansion
    assert (paper(nominal) < paper(far)).mean() > 0.1
    anchored = fit(nominal, levels, C=1.0, sigma=1.0, anchor=1.0).expansion
    assert anchored(nominal).min() > anchored(far)


def test_an_early_stop_warns_with_advice(nominal, levels):
    with pytest.warns(ConvergenceWarning, match="after 1 iterations .*max_iter reached; raise"):
        fit(nominal, levels, C=1.0, sigma=1.0, max_iter=1)


def test_an_early_stop_still_ranks(nominal, levels):
    preferences = level_preferences(levels)
    for max_iter in (2, 4, 8):
        with pytest.warns(ConvergenceWarning):
            ranker = fit(nominal, levels, C=100.0, sigma=4.0, max_iter=max_iter)
        assert pairwise_disagreement(ranker.expansion(nominal), preferences) < 0.1


def test_close_clusters_far_apart_lose_no_digits(rng):
    points = np.concatenate([rng.normal(size=(60, 2)), rng.normal(size=(60, 2)) + 1e8])
    levels = quantized_levels(MeanNeighborDistance(10)(points), 3)
    ranker = fit(points, levels, C=1.0, sigma=1.0)
    assert_allclose(ranker.expansion(points), ranker.solution.scores, atol=1e-9)


@ANCHORS
@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_all_points_as_given_centers_give_the_same_ranker(anchor, loss, nominal, levels, rng):
    preferences, problem = level_preferences(levels), RankProblem(anchor, loss=loss, tol=1e-9)
    on_points, on_centers = (
        fit_ranker(nominal, preferences, C=0.1, sigma=1.5, problem=problem, centers=centers)
        for centers in (None, nominal)
    )
    assert_allclose(on_points.solution.objective, on_centers.solution.objective, rtol=1e-5)
    points = rng.normal(size=(50, 3))
    one, other = on_points.expansion(points), on_centers.expansion(points)
    if anchor == 0.0:  # the scores of the paper's ranker have no zero
        one, other = one - one.mean(), other - other.mean()
    assert_allclose(one, other, atol=1e-2 if loss == "hinge" else 1e-5)


def test_repeated_rows_are_one_center(nominal, levels, rng):
    ranker = fit(np.repeat(nominal, 3, axis=0), np.repeat(levels, 3), C=0.1, sigma=1.0)
    assert ranker.expansion.n_centers <= len(nominal)
    assert_allclose(ranker.expansion(nominal), ranker.solution.scores[::3], rtol=1e-7, atol=1e-7)


def test_pruning_keeps_the_scores_within_its_certificate(nominal, levels, rng):
    ranker = fit(nominal, levels, C=1.0, sigma=20.0)
    fewer, error_bound = pruned(ranker, RankProblem(), nominal)
    assert fewer.n_centers <= ranker.expansion.n_centers / 4
    assert 0.0 < error_bound < 0.03 * ranker.solution.scores.std()
    points = 3.0 * rng.normal(size=(500, 3))
    change = fewer(points) - ranker.expansion(points)
    assert np.abs(change).max() <= error_bound * (1.0 + 1e-6)


def test_narrow_kernels_are_not_pruned(nominal, levels):
    ranker = fit(nominal, levels, C=0.1, sigma=0.3)
    assert pruned(ranker, RankProblem(), nominal) == (ranker.expansion, 0.0)


def test_the_papers_ranker_is_not_pruned(nominal, levels):
    ranker = fit(nominal, levels, C=100.0, sigma=1e6, anchor=0.0)
    assert pruned(ranker, RankProblem(0.0), nominal) == (ranker.expansion, 0.0)


@pytest.mark.parametrize("sigma", [2.0, 3.0, 5.0])
def test_pruning_moves_no_training_row_into_the_far_field(sigma, rng):
    points = np.concatenate([rng.normal(size=(300, 2)), rng.uniform(-40, 40, size=(6, 2))])
    levels = quantized_levels(MeanNeighborDistance(10)(points), 3)
    ranker = fit(points, levels, C=0.03, sigma=sigma)
    fewer, error_bound = pruned(ranker, RankProblem(), points)
    change = np.abs(fewer(points) - ranker.expansion(points)).max()
    assert change <= error_bound * (1.0 + 1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_pruning_leaves_no_row_behind_that_is_no_center(seed):
    # Rows just within reach of the centers. The centers come from a sample without these rows.
    rng = np.random.default_rng(seed)
    sigma, radius = 40.0, np.sqrt(-np.log(1e-6))
    bulk, directions = rng.normal(size=(600, 3)), rng.normal(size=(30, 3))
    lengths = sigma * radius + rng.uniform(0.5, 2.5, size=(30, 1))
    edge = directions / np.linalg.norm(directions, axis=1, keepdims=True) * lengths
    points = np.concatenate([bulk, edge])
    levels = quantized_levels(MeanNeighborDistance(10)(points), 3)
    centers = kmeans_centers(bulk, 40, np.random.RandomState(0))
    ranker = fit_ranker(points, level_preferences(levels), C=1.0, sigma=sigma, centers=centers)
    fewer, error_bound = pruned(ranker, RankProblem(), points)
    reached = points[center_distances(points, centers) <= sigma * radius]
    assert len(bulk) < len(reached) < len(points)
    change = np.abs(fewer(reached) - ranker.expansion(reached)).max()
    assert change <= error_bound * (1.0 + 1e-6)


def test_centers_may_be_float32(nominal, levels):
    narrow, wide = (
        fit_ranker(nominal, level_preferences(levels), C=0.1, sigma=1.0, centers=centers)
        for centers in (
            nominal[::5].astype(np.float32),
            nominal[::5].astype(np.float32).astype(float),
        )
    )
    assert_array_equal(narrow.expansion(nominal), wide.expansion(nominal))
