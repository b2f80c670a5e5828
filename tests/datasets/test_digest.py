import numpy as np
import pytest

from rankad.datasets.digest import content_digest
from rankad.datasets.loader import names


@pytest.fixture
def rows(rng):
    X = np.c_[rng.normal(size=40).round(8), rng.integers(-9, 9, 40), np.log(np.arange(40) + 0.1)]
    return X, rng.integers(0, 2, size=40)


def test_the_order_of_rows_and_memory_does_not_matter(rows, rng):
    X, y = rows
    order = rng.permutation(40)
    assert content_digest(X[order], y[order]) == content_digest(X, y)
    assert content_digest(np.asfortranarray(X), y.astype(np.int8)) == content_digest(X, y)


@pytest.mark.parametrize("direction", [-np.inf, np.inf])
def test_the_last_bits_do_not_matter(rows, direction):
    X, y = rows
    moved = X
    for _ in range(4):
        moved = np.nextafter(moved, direction)
    assert content_digest(moved, y) == content_digest(X, y)


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e300, 1.0001])
def test_every_value_counts(rows, value):
    X, y = rows
    changed = X.copy()
    changed[11, 1] = value
    assert content_digest(changed, y) != content_digest(X, y)


def test_every_label_and_copy_counts(rows):
    X, y = rows
    changed = y.copy()
    changed[3] = 1 - changed[3]
    assert content_digest(X, changed) != content_digest(X, y)
    assert content_digest(np.r_[X, X[:1]], np.r_[y, y[:1]]) != content_digest(X, y)


@pytest.mark.data
@pytest.mark.parametrize("name", names())
def test_no_real_value_lies_on_the_edge_of_a_cell(name, real_set):
    X = real_set(name).X
    position = X * 1e6 + 1 / 3
    to_edge = np.abs(position - np.round(position)) / 1e6
    assert (to_edge > 50 * np.spacing(np.abs(X))).all()
