import hashlib
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from rankad.kernels import fused, layout, simd
from rankad.kernels.fused import fill_kernels
from rankad.kernels.layout import lanes_of, power_constants, zero_exponent
from rankad.kernels.tiles import by_feature, filled_tiles


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_kernels_beyond_the_largest_exponent_are_zero(dtype):
    largest = zero_exponent(dtype)
    lanes = lanes_of(dtype)
    centers = by_feature(filled_tiles(np.zeros((1, 1), dtype=dtype)))
    distances = np.array([0.0, 1.0, 5.0, np.sqrt(largest), 2.0 * np.sqrt(largest), 1e15])
    kernels = np.full((len(distances), lanes), np.nan, dtype=dtype)
    scalar = np.dtype(dtype).type
    fill_kernels(kernels, distances[:, None], 1.0, centers, power_constants(dtype), scalar(largest))
    assert_array_equal(kernels[4:], 0.0)
    expected = np.exp2(-(distances[:3, None] ** 2))
    assert_allclose(kernels[:3], np.repeat(expected, lanes, axis=1), rtol=1e-6)


def test_the_cache_of_compiled_functions_knows_their_vectors():
    contents = b"".join(Path(module.__file__).read_bytes() for module in (simd, layout))
    digest = hashlib.sha256(contents).hexdigest()
    assert digest == fused.SIMD_SHA256, "simd.py or layout.py has changed: put this into fused.py"
