"""The Hessian of the pair loss seen from few features: ``Z'HZ``, without ever forming H or HZ.

One block of pairs has the Hessian ``2 w (D - A)``: A holds a 1 for each active pair, upper point i
with lower point j, and D its row sums. So with z_i the rows of Z,

    Z'HZ = 2 w (sum over all points of D_i z_i z_i'  -  M - M'),    M = sum over i of z_i s_i',

s_i the sum of z_j over the active partners j of the upper point i. In descending order of scores
these partners only grow in number, so s_i is a running sum; a batch of rows at a time, M is a
matrix product. In all O(n r^2) operations for each of the blocks, and memory for one batch. With
many blocks (every rank a level of its own) a few columns of HZ at a time are cheaper.
"""

from collections.abc import Callable

import numpy as np

from rankad._compiled import compiled
from rankad._typing import FloatArray, IntArray

#: Upper members and where each block's begin, lower members likewise, weights of the blocks; the
#: members of each block in ascending order of scores.
Blocks = tuple[IntArray, IntArray, IntArray, IntArray, FloatArray]

_BATCH = 2048

#: From so many blocks on, columns of HZ are cheaper.
MANY_BLOCKS = 30

_COLUMNS = 32


def by_columns(
    hessian_product: Callable[[FloatArray], FloatArray], features: FloatArray
) -> FloatArray:
    """``Z'HZ`` from the columns of HZ, a few at a time."""
    parts = [
        features.T @ hessian_product(features[:, first : first + _COLUMNS])
        for first in range(0, features.shape[1], _COLUMNS)
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
    gram = np.zeros((features.shape[1], features.shape[1]))
    for start in range(0, len(features), _BATCH):
        batch = features[start : start + _BATCH]
        gram += batch.T @ (row_weights[start : start + _BATCH, None] * batch)
    return gram


def _cross_gram(
    scores: FloatArray, margin: float, upper: IntArray, lower: IntArray, features: FloatArray
) -> FloatArray:
    """M of one block; its points come in descending order of scores."""
    cross = np.zeros((features.shape[1], features.shape[1]))
    running, n_passed = np.zeros(features.shape[1]), 0
    partner_sums = np.empty((min(_BATCH, len(upper)), features.shape[1]))
    for start in range(0, len(upper), _BATCH):
        batch = upper[start : start + _BATCH]
        sums = partner_sums[: len(batch)]
        n_passed = _fill_partner_sums(
            sums, running, n_passed, scores, margin, batch, lower, features
        )
        cross += features[batch].T @ sums
    return cross


@compiled
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
    """Write s_i for a batch of upper points, going on from the sum of the lower points passed."""
    for i in range(upper.size):
        threshold = scores[upper[i]] - margin
        while n_passed < lower.size and scores[lower[n_passed]] > threshold:
            running += features[lower[n_passed]]
            n_passed += 1
        sums[i] = running
    return n_passed
