import numpy as np
import pytest
from numba import njit
from numpy.testing import assert_allclose, assert_array_equal

from rankad.kernels.layout import lanes_of, power_constants, zero_exponent
from rankad.kernels.simd import (
    difference,
    lanes_in,
    larger,
    loaded,
    minimum_of,
    multiply_add,
    power_parts,
    shifted_down,
    smaller,
    splat,
    store,
    sum_of,
    where_at_most,
)

DTYPES = pytest.mark.parametrize("dtype", ["float64", "float32"])


@njit
def powers(exponents, constants, power, fraction):
    for start in range(0, exponents.size, lanes_in(exponents)):
        a, b = power_parts(loaded(exponents, start), constants)
        store(power, start, a)
        store(fraction, start, b)


@njit
def combined(a, b, out):
    x, y = loaded(a, 0), loaded(b, 0)
    store(out, 0, multiply_add(difference(x, y), larger(x, y), smaller(x, splat(b[0]))))
    return sum_of(x), minimum_of(x)


@njit
def lowered(a, shift, out):
    store(out, 0, shifted_down(loaded(a, 0), shift))


@njit
def chosen(a, b, limit, out):
    store(out, 0, where_at_most(loaded(a, 0), splat(limit), loaded(a, 0), loaded(b, 0)))


@DTYPES
def test_powers_are_exact_to_rounding(dtype):
    largest = zero_exponent(dtype)
    exponents = np.concatenate(
        [np.linspace(0.0, largest - 2, 9984), np.geomspace(1e-30, 1.0, 128)]
    ).astype(dtype)
    power, fraction = np.empty_like(exponents), np.empty_like(exponents)
    powers(exponents, power_constants(dtype), power, fraction)
    exact = exponents.astype(np.longdouble)
    eps = np.finfo(dtype).eps
    assert_allclose(power * fraction + power, np.exp2(-exact), rtol=2 * eps)
    # Powers that are nearly 1 are exact even after 1 is subtracted.
    assert_allclose(power * fraction + (power - 1), np.expm1(-np.log(2.0) * exact), rtol=4 * eps)


@DTYPES
def test_the_largest_exponent_gives_zero(dtype):
    exponents = np.full(lanes_of(dtype), zero_exponent(dtype), dtype)
    power, fraction = np.empty_like(exponents), np.empty_like(exponents)
    powers(exponents, power_constants(dtype), power, fraction)
    assert_array_equal(power, 0.0)
    assert_array_equal(fraction, 0.0)


@DTYPES
def test_vectors_compute_lane_by_lane(dtype, rng):
    a, b = (rng.normal(size=lanes_of(dtype)).astype(dtype) for _ in range(2))
    out = np.empty_like(a)
    total, minimum = combined(a, b, out)
    assert_allclose(out, (a - b) * np.maximum(a, b) + np.minimum(a, b[0]), rtol=1e-5, atol=1e-6)
    assert_allclose(total, a.sum(), rtol=1e-4)
    assert minimum == a.min()
    lowered(a, a.dtype.type(1.0), out)
    assert_array_equal(out, a - 1)
    lowered(a, None, out)
    assert_array_equal(out, a)
    chosen(a, b, a.dtype.type(0.1), out)
    assert_array_equal(out, np.where(a <= a.dtype.type(0.1), a, b))
