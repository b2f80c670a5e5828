import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_array_equal

from rankad.kernels.tiles import neighborly_order

POINTS = st.tuples(st.integers(1, 80), st.integers(1, 3)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=st.floats(-1e6, 1e6))
)


@given(points=POINTS, tile=st.integers(1, 20))
def test_the_order_of_neighbors_has_every_point_once(points, tile):
    assert_array_equal(np.sort(neighborly_order(points, tile)), np.arange(len(points)))


def test_tiles_of_neighbors_are_smaller_than_tiles_as_they_come(rng):
    points = rng.normal(size=(320, 2))
    ordered = points[neighborly_order(points, 16)]
    in_order, as_they_come = (p.reshape(20, 16, 2) for p in (ordered, points))
    assert np.ptp(in_order, axis=1).mean() < 0.5 * np.ptp(as_they_come, axis=1).mean()
