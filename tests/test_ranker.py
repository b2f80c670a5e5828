import numpy as np
import pytest
from numpy.testing import assert_allclose

from rankad.exceptions import ConvergenceWarning
from rankad.metrics import pairwise_disagreement
from rankad.preferences import quantized_levels
from rankad.ranker import fit_ranker
from rankad.statistics import MeanNeighborDistance

ANCHORS = pytest.mark.parametrize("anchor", [0.0, 1.0], ids=["paper", "anchored"])


@pytest.fixture
def levels(nominal):
    return quantized_levels(MeanNeighborDistance(10)(nominal), 3)


@ANCHORS
@pytest.mark.parametrize("sigma", [0.3, 1.0, 5.0, 500.0])
def test_the_expansion_reproduces_the_solvers_scores(anchor, sigma, nominal, levels):
    ranker = fit_ranker(nominal, levels, C=0.1, sigma=sigma, anchor=anchor)
    assert_allclose(ranker.expansion(nominal), ranker.solution.scores, rtol=1e-7, atol=1e-7)


@ANCHORS
def test_the_ranker_learns_the_levels(anchor, nominal, levels):
    ranker = fit_ranker(nominal, levels, C=1.0, sigma=1.0, anchor=anchor)
    assert pairwise_disagreement(ranker.expansion(nominal), levels) < 0.02


@ANCHORS
@pytest.mark.parametrize("C", [0.03, 3.0])
def test_the_order_of_the_rows_does_not_matter(anchor, C, nominal, levels, rng):
    order = rng.permutation(len(nominal))
    points = rng.normal(size=(50, 3))
    one = fit_ranker(nominal, levels, C=C, sigma=1.0, anchor=anchor)
    other = fit_ranker(nominal[order], levels[order], C=C, sigma=1.0, anchor=anchor)
    # Each ranker is within twice its gradient norm of the optimum, at every point.
    tolerance = 2 * (one.solution.gradient_norm + other.solution.gradient_norm) + 1e-9
    assert tolerance < 1e-3
    assert_allclose(one.expansion(points), other.expansion(points), atol=tolerance, rtol=0)


def test_only_support_vectors_become_centers(nominal, levels):
    ranker = fit_ranker(nominal, levels, C=10.0, sigma=2.0)
    coefficients = ranker.solution.coefficients
    assert 0 < ranker.expansion.n_centers < len(nominal)
    assert ranker.expansion.n_centers == np.count_nonzero(coefficients)
    assert (ranker.expansion.centers == nominal[coefficients != 0]).all()


def test_the_anchor_lifts_the_data_above_infinity(nominal, levels):
    far = np.full((1, 3), 1e9)
    paper = fit_ranker(nominal, levels, C=1.0, sigma=1.0, anchor=0.0).expansion
    assert (paper(nominal) < paper(far)).mean() > 0.1
    anchored = fit_ranker(nominal, levels, C=1.0, sigma=1.0, anchor=1.0).expansion
    assert anchored(nominal).min() > anchored(far)


def test_an_early_stop_warns_with_advice(nominal, levels):
    with pytest.warns(ConvergenceWarning, match="after 1 iterations: max_iter reached; raise"):
        fit_ranker(nominal, levels, C=1.0, sigma=1.0, max_iter=1)
