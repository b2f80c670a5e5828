"""The Hessian of the pair loss in few features, ``Z'HZ``, without forming H or HZ.

The Hessian of one block of pairs is ``2 w (D - A)``. A holds a 1 for each active pair of an upper
point i and a lower point j, and D the row sums of A. So with z_i the rows of Z,

    Z'HZ = 2 w (sum over all points of D_i z_i z_i'  -  M - M'),    M = sum over i of z_i s_i',

with s_i the sum of z_j over the active partners j of the upper point i. In descending order of
scores, each point keeps the partners of the point before and adds more, so s_i is a running sum.
Chunk by chunk of rows, M is a matrix product. Each block takes O(n r^2) operations and memory for
one chunk. With many blocks (every rank a level of its own) a few columns of HZ at a time are
cheaper.
"""

from collections.abc import Callable

import numpy as np

from rankad._compiled import compiled_or
from rankad._typing import FloatArray, IntArray
from rankad.solvers.plain import fill_partner_sums

#: Upper members and their starts, lower members and their starts, weights of the blocks. The
#: members of each block are in ascending order of scores.
Blocks = tuple[IntArray, IntArray, IntArray, IntArray, FloatArray]

_CHUNK_ROWS = 2048

#: Above this many blocks, columns of HZ are cheaper.
MANY_BLOCKS = 30

_CHUNK_COLUMNS = 32


def by_columns(
    hessian_product: Callable[[FloatArray], FloatArray], features: FloatArray
) -> FloatArray:
    """``Z'HZ`` from the columns of HZ, a few at a time."""
    parts = [
        features.T @ hessian_product(features[:, first : first + _CHUNK_COLUMNS])
        for first in range(0, features.shape[1], _CHUNK_COLUMNS)
    ]
    projected = np.concatenate(parts, axis=1)
    return np.asarray(0.5 * (projected + projected.T))


def projected_hessian(
    scores: FloatArray,
    margin: float,
    blocks: Blocks,
    diagonal: FloatArray,
    features: FloatArray,
) -> FloatArray:
    """``Z'HZ`` for the squared hinge, given the diagonal of H."""
    hessian = _weighted_gram(features, diagonal)
    upper, upper_starts, lower, lower_starts, weights = blocks
    for block, weight in enumerate(weights):
        cross = _cross_gram(
            scores,
            margin,
            upper[upper_starts[block] : upper_starts[block + 1]][::-1],
            lower[lower_starts[block] : lower_starts[block + 1]][::-1],
            features,
        )
        hessian -= 2.0 * weight * (cross + cross.T)
    return hessian


def _weighted_gram(features: FloatArray, row_weights: FloatArray) -> FloatArray:
    """Sum over the rows z_i of ``row_weights[i] z_i z_i'``."""
    gram = np.zeros((features.shape[1], features.shape[1]))
    for start in range(0, len(features), _CHUNK_ROWS):
        chunk = features[start : start + _CHUNK_ROWS]
        gram += chunk.T @ (row_weights[start : start + _CHUNK_ROWS, None] * chunk)
    return gram


def _cross_gram(
    scores: FloatArray, margin: float, upper: IntArray, lower: IntArray, features: FloatArray
) -> FloatArray:
    """M of one block, given its points in descending order of scores."""
    cross = np.zeros((features.shape[1], features.shape[1]))
    running, n_passed = np.zeros(features.shape[1]), 0
    partner_sums = np.empty((min(_CHUNK_ROWS, len(upper)), features.shape[1]))
    for start in range(0, len(upper), _CHUNK_ROWS):
        chunk = upper[start : start + _CHUNK_ROWS]
        sums = partner_sums[: len(chunk)]
        n_passed = _fill_partner_sums(
            sums, running, n_passed, scores, margin, chunk, lower, features
        )
        cross += features[chunk].T @ sums
    return cross


@compiled_or(fill_partner_sums)
def _fill_partner_sums(
    sums: FloatArray,
    running: FloatArray,
    n_passed: int,
    scores: FloatArray,
    margin: float,
    upper: IntArray,
    lower: IntArray,
    features: FloatArray,
) -> int:
    """Write s_i for a chunk of upper points, and return the new ``n_passed``.

    ``running`` is the sum over the first ``n_passed`` lower points, and is updated in place.
    """
    for i in range(upper.size):
        threshold = scores[upper[i]] - margin
        while n_passed < lower.size and scores[lower[n_passed]] > threshold:
            running += features[lower[n_passed]]
            n_passed += 1
        sums[i] = running
    return n_passed
