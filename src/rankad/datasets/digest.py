"""A fingerprint of labeled rows that does not depend on their order or on a file's format."""

import hashlib

import numpy as np

from rankad._typing import FloatArray, IntArray

_CELLS_PER_UNIT = 1e6


def content_digest(X: FloatArray, y: IntArray) -> str:
    """SHA-256 of the rows ``(X, y)``, X rounded to cells of a millionth, in lexicographic order.

    One more decimal parser or another library's logarithm may move a value by its last bits; that
    must not change the digest, so no value may lie on the edge between two cells. The edges are
    at thirds of a millionth, where no decimal number lies: one with ``k`` digits is at least
    ``10^-k / 3`` away. The logarithms of http and smtp keep a distance of 6e-13, hundreds of
    times their last bit. The rows of the largest set take about half a second.

    >>> X, y = np.array([[0.1, 2.0], [3.0, 4.0]]), np.array([0, 1])
    >>> content_digest(X, y) == content_digest(X[::-1] * (1 + 1e-15), y[::-1])
    True
    >>> content_digest(X, y) == content_digest(X, y[::-1])
    False
    """
    with np.errstate(over="ignore", invalid="ignore"):  # NaN or 1e300: no set of ours, a new digest
        cells = np.floor(np.asarray(X, dtype=np.float64) * _CELLS_PER_UNIT + 1 / 3)
        table = np.column_stack([cells, y]).astype("<i8")
    order = np.lexsort(table.T[::-1])
    return hashlib.sha256(table[order].tobytes()).hexdigest()
