import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import oracles
from rankad.kernels import FarField, KernelExpansion
from rankad.kernels.layout import unit_factor

DTYPES = ["float64", "float32"]


@pytest.fixture
def expansion(rng):
    """Weights of both signs, a far field and an outward step."""
    weights = rng.normal(0.3, size=43)
    return KernelExpansion(
        rng.normal(size=(43, 3)), weights, 0.8, far_field=FarField.below(weights), outward=0.7
    )


@pytest.fixture
def points(rng):
    """An odd number of points: within the radius of a center, about at the radius, and beyond."""
    return np.repeat([0.7, 1.5, 4.0], [101, 100, 100])[:, None] * rng.normal(size=(301, 3))


def many_centers(rng, **parameters):
    """An expansion in which most centers are out of reach of any point."""
    centers, weights = rng.uniform(0, 100, size=(3001, 2)), rng.normal(0.3, size=3001)
    far_field = FarField.below(weights)
    return KernelExpansion(centers, weights, 1.0, far_field=far_field, **parameters)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n_features", range(1, 13))
@pytest.mark.parametrize("n_centers", [1, 17, 83])
def test_scores_match_the_obvious_sums(n_centers, n_features, dtype, rng):
    centers, weights = rng.normal(size=(n_centers, n_features)), rng.normal(0.3, size=n_centers)
    sigma, outward = np.sqrt(n_features), 0.6
    points = 1.5 * rng.normal(size=(41, n_features))
    g = KernelExpansion(centers, weights, sigma, outward=outward).astype(dtype)
    slow = oracles.outward_expansion(points, centers, weights, sigma, outward)
    tolerance = {"float64": 1e-14, "float32": 1e-5}[dtype] * np.abs(weights).sum()
    assert_allclose(g(points), slow, rtol=0.0, atol=tolerance)
    assert g(points).dtype == dtype


@pytest.mark.parametrize("outward", [0.01, 1.0, 5.0])
@pytest.mark.parametrize("n_features", [1, 3, 8])
def test_of_positive_sums_every_digit_is_right(n_features, outward, rng):
    """With positive weights nothing cancels, so small scores and long steps keep all digits."""
    centers, weights = rng.normal(size=(50, n_features)), rng.uniform(0.1, 1.0, size=50)
    points = 3.0 * rng.normal(size=(60, n_features))
    g = KernelExpansion(centers, weights, 1.0, outward=outward)
    slow = oracles.outward_expansion(points, centers, weights, 1.0, outward)
    assert slow.min() < 1e-14
    assert_allclose(g(points), slow, rtol=1e-11)


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_far_field_stays_as_it_is(expansion, points, dtype):
    stepped = expansion.astype(dtype)
    plain = replace(stepped, outward=0.0)
    slow = oracles.outward_expansion(
        points, expansion.centers, expansion.weights, 0.8, 0.7, expansion.far_field
    )
    tolerance = {"float64": 1e-12, "float32": 1e-4}[dtype]
    assert_allclose(stepped(points), slow, rtol=tolerance, atol=tolerance)
    is_far = plain(points) < expansion.far_field.floor
    assert 30 < is_far.sum() < 200
    assert_array_equal(stepped(points)[is_far], plain(points)[is_far])
    assert stepped(points)[~is_far].min() > stepped(points)[is_far].max()


def test_columns_can_be_shifted_and_scaled(expansion, points, rng):
    offset, scale = rng.normal(size=3) * 1e6, rng.uniform(0.1, 10, size=3)
    on_columns = expansion.on_columns(offset, scale)
    assert on_columns.outward == expansion.outward
    rows = points * scale + offset
    assert_allclose(on_columns(rows), expansion(points), rtol=1e-7, atol=1e-7)
    narrow = on_columns.astype("float32")
    assert narrow.outward == expansion.outward
    assert_allclose(narrow(rows), expansion(points), rtol=1e-4, atol=1e-4)


def test_far_from_the_origin_nothing_cancels(rng):
    """Differences of integers are exact at a scale of exactly 1, but a mean would not be."""
    sigma = unit_factor(1.0)
    centers, points = rng.integers(-3, 4, size=(2, 50, 2)).astype(float)
    near, far = (
        KernelExpansion(centers + origin, np.ones(50), sigma, outward=1.0)(points + origin)
        for origin in (0.0, 2.0**52)
    )
    assert_array_equal(far, near)


@pytest.mark.parametrize("dtype", DTYPES)
def test_skipping_centers_out_of_reach_changes_no_bit(dtype, rng, monkeypatch):
    points = rng.uniform(-20, 120, size=(1501, 2))
    skipping = many_centers(rng, outward=0.7).astype(dtype)
    assert skipping._model.lower.size > 0
    monkeypatch.setattr("rankad.kernels.tiles._PAYING_SHARE", 0.0)
    taking_all = replace(skipping)
    assert taking_all._model.lower.size == 0
    assert_array_equal(skipping(points), taking_all(points))
    assert_array_equal([skipping.score(point) for point in points[:50]], taking_all(points[:50]))
    some = points[:60]
    slow = oracles.outward_expansion(
        some, skipping.centers.astype(float), skipping.weights, 1.0, 0.7, skipping.far_field
    )
    tolerance = {"float64": 1e-9, "float32": 1e-3}[dtype]
    assert_allclose(skipping(some), slow, rtol=tolerance, atol=tolerance)


def test_without_a_far_field_narrow_kernels_are_summed_rightly(rng):
    centers, weights = rng.uniform(size=(1200, 1)), rng.uniform(size=1200)
    g = KernelExpansion(centers, weights, 1e-3, outward=0.5)
    assert g._model.lower.size > 0
    points = rng.uniform(0.0, 1.0, size=(100, 1))
    slow = oracles.outward_expansion(points, centers, weights, 1e-3, 0.5)
    assert_allclose(g(points), slow, rtol=1e-9)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("is_skipping", [False, True])
def test_a_row_scores_the_same_however_it_is_scored(
    expansion, dtype, is_skipping, rng, monkeypatch
):
    monkeypatch.setattr("rankad.kernels.expansion._OPERATIONS_PER_CHUNK", 20_000)
    scorer = (many_centers(rng, outward=0.7) if is_skipping else expansion).astype(dtype)
    scale = 60.0 if is_skipping else 1.0
    points = scale * np.repeat(rng.normal(size=(67, scorer.n_features)), 3, axis=0)
    points = points[rng.permutation(len(points))]
    scores = scorer(points)
    assert_array_equal(scores[20:61:3], scorer(points[20:61:3]))
    assert_array_equal(scores[1:], scorer(points[1:]))
    for n_jobs in (1, 2, 3, -1):
        assert_array_equal(scores, scorer(points, n_jobs=n_jobs))
    assert_array_equal(scores, [scorer(point[None])[0] for point in points])
    assert_array_equal(scores, [scorer.score(point) for point in points])
    reference = np.sort(scores[:101]).astype(np.float64)
    ranks = np.searchsorted(reference, scores, side="right")
    assert_array_equal(ranks, [scorer.rank(point, reference) for point in points])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("parameters", [{}, {"far_field": None}, {"centered": True}])
def test_no_step_is_the_plain_sum(expansion, points, dtype, parameters):
    arguments = (expansion.centers, expansion.weights, expansion.sigma)
    parameters = {"far_field": expansion.far_field} | parameters
    plain = KernelExpansion(*arguments, **parameters).astype(dtype)
    without = KernelExpansion(*arguments, **parameters, outward=0.0).astype(dtype)
    assert_array_equal(without(points), plain(points))
    assert without._model.outward is None


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_step_lowers_positive_sums_and_leaves_the_others(expansion, points, dtype):
    last = plain = replace(expansion.astype(dtype), outward=0.0)(points)
    is_positive = plain > 0
    assert 50 < is_positive.sum() < 250
    for outward in (1e-3, 0.1, 1.0, 30.0):
        scores = replace(expansion.astype(dtype), outward=outward)(points)
        assert_array_equal(scores[~is_positive], plain[~is_positive])
        assert (scores[is_positive] <= last[is_positive]).all()
        assert (scores[is_positive] >= 0.0).all()
        last = scores
    assert (last < plain)[is_positive].all()


def test_small_steps_tend_to_the_plain_sum(expansion, points):
    plain = replace(expansion, outward=0.0)(points)
    gaps = [
        np.abs(replace(expansion, outward=outward)(points) - plain).max()
        for outward in (1.0, 1e-2, 1e-4, 1e-8, 1e-300, 5e-324)
    ]
    assert (np.diff(gaps) <= 0.0).all()
    assert gaps[0] > 0.1
    assert gaps[3] < 1e-6
    assert gaps[-1] == 0.0


def test_to_first_order_a_step_moves_the_point_outward(rng):
    centers, weights = rng.normal(size=(40, 3)), rng.uniform(size=40)
    g = KernelExpansion(centers, weights, 1.2)
    points = 1.5 * rng.normal(size=(30, 3))
    shifts = np.array([oracles.mean_shift(point, centers, weights, 1.2) for point in points])
    gaps = []
    for outward in (1e-2, 1e-3, 1e-4):
        moved = g(points + 0.5 * outward * shifts)
        change = np.abs(moved - g(points)).max()
        gaps.append(np.abs(replace(g, outward=outward)(points) - moved).max() / change)
    # The gap is of second order: a tenth of the step gives a tenth of the relative gap.
    assert_allclose(gaps[1:], np.array(gaps[:-1]) / 10.0, rtol=0.2)
    assert gaps[-1] < 1e-3


@pytest.mark.parametrize("dtype", DTYPES)
def test_beside_a_center_the_step_is_the_difference(dtype):
    g = KernelExpansion(np.zeros((1, 2)), np.ones(1), 2.0, outward=0.5).astype(dtype)
    points = np.array([[0.0, 0.0], [1.0, 0.0], [3.0, 4.0]])
    assert_allclose(g(points), np.exp([0.0, -1.5 / 4, -1.5 * 25 / 4]), rtol=1e-5)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("outward", [5e-324, 1e-60, 1.0, 1e60, 1.7e308])
def test_no_step_overflows(dtype, outward):
    """Terms that cancel or are nearly 0, so that the sum is tiny and the mean shift is huge."""
    epsilon = float(np.finfo(dtype).eps)
    points = np.concatenate([np.linspace(-30.0, 30.0, 701), [0.0, 1e300, -np.inf]])[:, None]
    for weights in ([1.0, epsilon - 1.0], [1.0, -0.5], [5e-324, 0.0], [1e-40, -1e-41]):
        g = KernelExpansion(np.array([[-1.0], [1.0]]), np.array(weights), 1.0, outward=outward)
        scores, plain = g.astype(dtype)(points), replace(g, outward=0.0).astype(dtype)(points)
        assert np.isfinite(scores).all()
        assert ((scores >= 0.0) & (scores <= plain))[plain > 0].all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_where_the_mean_shift_is_infinite_nothing_is_left(dtype):
    """Two terms cancel, but their steps add up. A third term is the whole sum."""
    third = {"float64": 1e-200, "float32": 1e-30}[dtype]
    centers, weights = np.array([[-2.0], [0.0], [2.0]]), np.array([1.0, third, -1.0])
    g = KernelExpansion(centers, weights, 1.0, outward=1.0).astype(dtype)
    point = np.zeros((1, 1))
    assert_allclose(replace(g, outward=0.0)(point), third)
    assert g(point)[0] == 0.0


@pytest.mark.parametrize("dtype", DTYPES)
@given(
    coordinates=st.lists(st.floats(allow_nan=False), min_size=2, max_size=2),
    weights=st.lists(st.floats(-1e30, 1e30), min_size=3, max_size=3),
    outward=st.floats(0.0, 1e300),
)
def test_any_step_is_between_nothing_and_the_sum(dtype, coordinates, weights, outward):
    centers = np.array([[0.0, 0.0], [1.0, 0.5], [-0.3, 2.0]])
    weights = np.array(weights)
    plain = KernelExpansion(centers, weights, 1.0, far_field=FarField.below(weights)).astype(dtype)
    stepped, point = replace(plain, outward=outward), np.array(coordinates)
    score, total = stepped.score(point), plain.score(point)
    assert 0.0 <= score <= total if total > 0 else score == total


def test_nan_scores_nan(expansion):
    points = np.array([[0.0, np.nan, 0.0], [0.0, 0.0, 0.0], [np.inf, 0.0, np.nan]])
    assert_array_equal(np.isnan(expansion(points)), [True, False, True])
    assert np.isnan(expansion.score(points[0]))
    assert expansion.rank(points[0], np.zeros(1)) == -1


@pytest.mark.parametrize("outward", [-0.1, -np.inf, np.inf, np.nan])
def test_bad_steps_are_refused(expansion, outward):
    with pytest.raises(ValueError, match=f"outward must be finite and at least 0; got {outward}"):
        replace(expansion, outward=outward)


def test_a_centered_sum_takes_no_step(expansion):
    with pytest.raises(ValueError, match="a centered sum has no sign"):
        replace(expansion, centered=True)


def test_the_step_is_kept_and_shown(expansion, points):
    for twin in (pickle.loads(pickle.dumps(expansion)), copy.deepcopy(expansion)):
        assert twin.outward == 0.7
        assert_array_equal(twin(points), expansion(points))
    assert repr(expansion) == (
        "KernelExpansion(43 centers, 3 features, sigma=0.8, outward=0.7, float64)"
    )
    assert "outward" not in repr(replace(expansion, outward=0.0))


def test_what_was_pickled_before_there_were_steps_has_none(expansion, points):
    plain = replace(expansion, outward=0.0)
    state = plain.__getstate__()
    del state["outward"]
    old = object.__new__(KernelExpansion)
    old.__setstate__(state)
    assert_array_equal(old(points), plain(points))
