import copy
import pickle
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import oracles
from rankad.kernels import FarField, KernelExpansion
from rankad.kernels.fused import rank_of


@pytest.fixture
def expansion(rng):
    weights = rng.normal(size=40)
    return KernelExpansion(
        rng.normal(size=(40, 3)), weights, 0.8, far_field=FarField.below(weights)
    )


@pytest.mark.parametrize("centered", [False, True])
@pytest.mark.parametrize("far", [False, True])
def test_scores_match_the_obvious_sum(expansion, centered, far, rng):
    far_field = FarField(radius=2.0, floor=-7.0) if far else None
    variant = replace(expansion, centered=centered, far_field=far_field)
    points = 3.0 * rng.normal(size=(200, 3))
    slow = oracles.kernel_expansion(
        points, variant.centers, variant.weights, variant.sigma, centered, far_field
    )
    assert_allclose(variant(points), slow, rtol=1e-10, atol=1e-12)
    assert_allclose(variant.astype("float32")(points), slow, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_row_scores_the_same_alone_and_in_any_batch(expansion, dtype, rng):
    points = np.repeat(rng.normal(size=(17, 3)), 5, axis=0)[rng.permutation(85)]
    scorer = expansion.astype(dtype)
    scores = scorer(points)
    assert scores.dtype == dtype
    assert_array_equal(scores, [scorer(point[None])[0] for point in points])
    assert_array_equal(scores[20:61:3], scorer(points[20:61:3]))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@given(
    direction=st.lists(st.floats(-1, 1), min_size=3, max_size=3).filter(
        lambda d: max(map(abs, d)) > 0.1
    ),
    sigma=st.floats(1e-6, 1e6),
    signs=st.sampled_from([(1, 1, 1), (1, -1, 1), (-3, 1, -0.5)]),
)
def test_scores_beyond_the_radius_are_below_all_within_and_fall(dtype, direction, sigma, signs):
    weights = np.array(signs, dtype=float)
    centers = np.eye(3) * sigma
    g = KernelExpansion(centers, weights, sigma, far_field=FarField.below(weights)).astype(dtype)
    ray = np.array([0.0, 0.5, 1.0, 2.0, 1e2, 1e4, 1e8, 1e12])[:, None] * sigma * np.array(direction)
    scores = g(ray)
    assert np.isfinite(scores).all()
    assert (np.diff(scores[3:]) < 0).all()
    assert scores[:4].min() > scores[4]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_no_magnitude_overflows(expansion, dtype):
    far = expansion.astype(dtype)(np.array([[1e300] * 3, [-np.inf, 0.0, 0.0], [1e200, -1e200, 0]]))
    assert np.isfinite(far).all()
    assert (far < -1e30).all()


def test_without_a_far_field_the_sum_dies_to_zero(expansion):
    assert replace(expansion, far_field=None)(np.array([[1e9] * 3]))[0] == 0.0


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("n_centers", [1, 15, 16, 17, 33, 500])
@pytest.mark.parametrize("n_features", [1, 2, 9])
def test_any_number_of_centers_and_features(n_centers, n_features, dtype, rng):
    centers, weights = rng.normal(size=(n_centers, n_features)), rng.normal(size=n_centers)
    points = rng.normal(size=(20, n_features))
    slow = oracles.kernel_expansion(points, centers, weights, 1.3)
    g = KernelExpansion(centers, weights, 1.3).astype(dtype)
    tolerance = {"float64": 1e-13, "float32": 1e-5}[dtype] * np.abs(weights).sum()
    assert_allclose(g(points), slow, rtol=0.0, atol=tolerance)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("is_far", [False, True])
def test_skipping_centers_out_of_reach_changes_no_bit(is_far, dtype, rng, monkeypatch):
    centers, weights = rng.uniform(0, 100, size=(3000, 2)), rng.normal(size=3000)
    far_field = FarField.below(weights)
    skipping = KernelExpansion(centers, weights, 1.0, far_field=far_field).astype(dtype)
    assert skipping._model.lower.size > 0
    monkeypatch.setattr("rankad.kernels.tiles._PAYING_SHARE", 0.0)
    taking_all = KernelExpansion(centers, weights, 1.0, far_field=far_field).astype(dtype)
    assert taking_all._model.lower.size == 0
    points = rng.uniform(-50, 150, size=(2000, 2)) * (1e3 if is_far else 1.0)
    assert_array_equal(skipping(points), taking_all(points))
    slow = oracles.kernel_expansion(points, centers, weights, 1.0, False, far_field)
    assert_allclose(skipping(points), slow, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("centered", [False, True])
def test_without_a_far_field_narrow_kernels_are_summed_rightly(centered, rng):
    centers, weights = rng.uniform(size=(1200, 1)), rng.normal(size=1200)
    g = KernelExpansion(centers, weights - weights.mean(), 1e-3, centered)
    assert (g._model.lower.size == 0) == centered
    points = rng.uniform(-0.5, 1.5, size=(200, 1))
    slow = oracles.kernel_expansion(points, centers, g.weights, 1e-3, centered)
    assert_allclose(g(points), slow, atol=1e-10)


def test_a_far_field_of_any_radius_leaves_no_ties_within(rng):
    g = KernelExpansion(np.zeros((1, 1)), np.ones(1), 1.0, far_field=FarField(10.0, 0.0))
    assert (np.diff(g(np.linspace(0.0, 30.0, 200)[:, None])) < 0).all()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_rows_in_any_form_score_the_same(expansion, dtype, rng):
    points = rng.normal(size=(50, 3)).astype(dtype)
    scores = expansion(points.astype(np.float64))
    read_only = points.copy()
    read_only.setflags(write=False)
    for form in (
        points,
        read_only,
        np.asfortranarray(points),
        np.repeat(points, 2, axis=1)[:, ::2],
    ):
        assert_array_equal(expansion(form), scores)
        assert_array_equal([expansion.score(row) for row in form], scores)


@pytest.mark.parametrize(
    ("offset", "scale", "message"),
    [
        (np.zeros(2), np.ones(3), r"offset must have shape \(3,\); got \(2,\)"),
        (np.zeros(3), np.ones((1, 3)), "scale must have shape"),
        (np.zeros(3), np.array([1.0, 0.0, 1.0]), "scale must be positive"),
    ],
)
def test_offset_and_scale_must_fit_the_columns(expansion, offset, scale, message):
    with pytest.raises(ValueError, match=message):
        expansion.on_columns(offset, scale)


def test_without_a_far_field_no_center_is_out_of_reach_before_its_kernel_underflows(rng):
    g = KernelExpansion(np.zeros((1, 1)), np.ones(1), 1.0)
    assert_allclose(g(np.array([[26.0], [26.6], [27.0]])), [np.exp(-676), 5.5e-308, 0], rtol=1e-1)


def test_threads_change_no_bit(expansion, rng, monkeypatch):
    monkeypatch.setattr("rankad.kernels.expansion._OPERATIONS_PER_CHUNK", 1000)
    points = rng.normal(size=(1001, 3))
    alone = expansion(points, n_jobs=1)
    for n_jobs in (2, 3, -1):
        assert_array_equal(expansion(points, n_jobs=n_jobs), alone)
    assert expansion(points[:0], n_jobs=2).shape == (0,)
    assert_array_equal(expansion(points[:1], n_jobs=2), alone[:1])


def test_one_point_scores_and_ranks_as_in_a_batch(expansion, rng):
    points = rng.normal(size=(30, 3))
    scores = expansion(points)
    reference = np.sort(scores[:20])
    assert_array_equal([expansion.score(point) for point in points], scores)
    assert_array_equal([expansion.score(point.tolist()) for point in points], scores)
    ranks = np.searchsorted(reference, scores, side="right")
    assert_array_equal([expansion.rank(point, reference) for point in points], ranks)
    assert expansion.rank(np.full(3, np.nan), reference) == -1
    with pytest.raises(ValueError, match=r"shape \(3,\); got \(2,\)"):
        expansion.score(np.zeros(2))


def test_columns_can_be_shifted_and_scaled(expansion, rng):
    offset, scale = rng.normal(size=3) * 1e6, rng.uniform(0.1, 10, size=3)
    points = rng.normal(size=(30, 3))
    on_columns = expansion.on_columns(offset, scale)
    assert_allclose(on_columns(points * scale + offset), expansion(points), rtol=1e-7, atol=1e-8)
    # The difference is taken in float64: float32 could not hold the columns.
    narrow = on_columns.astype("float32")
    assert_allclose(narrow(points * scale + offset), expansion(points), rtol=1e-4, atol=1e-4)


def test_nan_scores_nan(expansion):
    points = np.array([[0.0, np.nan, 0.0], [0.0, 0.0, 0.0]])
    assert_array_equal(np.isnan(expansion(points)), [True, False])
    assert np.isnan(expansion.score(points[0]))


ONE = np.ones((1, 1))


@pytest.mark.parametrize(
    ("centers", "weights", "sigma", "message"),
    [
        (1e10 * ONE, np.ones(1), 1e-300, "sigma=1e-300 is too small"),
        (ONE, np.ones(1), 1e-200, "sigma=1e-200 is too small"),
        (ONE, np.ones(1), -2.0, "sigma must be positive"),
        (ONE, np.ones(1), np.nan, "sigma must be positive"),
        (ONE, np.ones(5), 1.0, r"weights \(n_centers,\); got \(1, 1\) and \(5,\)"),
        (np.ones(3), np.ones(3), 1.0, "centers must be"),
        (np.empty((0, 2)), np.empty(0), 1.0, "at least one center"),
        (np.ones((1, 1), dtype=int), np.ones(1), 1.0, "both be float64, or both float32"),
        (ONE, np.ones(1, dtype="float32"), 1.0, "both be float64, or both float32"),
    ],
)
def test_what_cannot_be_an_expansion_is_refused(centers, weights, sigma, message):
    with pytest.raises(ValueError, match=message):
        KernelExpansion(centers, weights, sigma)


@pytest.mark.parametrize("shape", [(3,), (5, 2), (5, 4), (0,)])
def test_points_of_another_shape_are_refused(expansion, shape):
    with pytest.raises(ValueError, match=r"Points must have shape \(n, 3\)"):
        expansion(np.zeros(shape))


def test_no_points_have_no_scores(expansion):
    assert expansion(np.empty((0, 3))).shape == (0,)


def test_an_expansion_is_frozen_and_pickles(expansion, rng):
    with pytest.raises(FrozenInstanceError):
        expansion.sigma = 2.0
    with pytest.raises(ValueError, match="read-only"):
        expansion.weights[0] = 1.0
    points = rng.normal(size=(5, 3))
    for twin in (pickle.loads(pickle.dumps(expansion)), copy.deepcopy(expansion)):
        assert_array_equal(twin(points), expansion(points))
        assert not twin.centers.flags.writeable
    assert expansion.n_centers == 40
    assert repr(expansion) == "KernelExpansion(40 centers, 3 features, sigma=0.8, float64)"


def test_reference_scores_in_any_form_compile_nothing_again(expansion, rng):
    point, reference = rng.normal(size=3), np.sort(expansion(rng.normal(size=(50, 3))))
    rank = expansion.rank(point, reference)
    n_compiled = len(rank_of.signatures)
    read_only, strided = reference.copy(), np.repeat(reference, 2)[::2]
    read_only.setflags(write=False)
    assert expansion.rank(point, read_only) == expansion.rank(point, strided) == rank
    assert len(rank_of.signatures) == n_compiled
