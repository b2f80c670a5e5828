"""The sweeps over sorted scores in plain NumPy, where numba cannot compile.

They compute what ``pairwise.py`` derives and ``projection.py`` needs, by sums over prefixes and
suffixes instead of running sums. Scores are taken from a point in their middle, so that little
cancels.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from rankad._typing import FloatArray, IntArray


class _Block(NamedTuple):
    """One block of pairs: members and their scores, ascending, and how many partners are active.

    ``upper_scores`` are less the margin. The active partners of an upper point are a suffix of
    ``lower``, which begins at ``first_active``; those of a lower point are the ``n_active`` first
    of ``upper``.
    """

    weight: float
    upper: IntArray
    lower: IntArray
    upper_scores: FloatArray
    lower_scores: FloatArray
    first_active: IntArray
    n_active: IntArray


def _blocks(
    scores: FloatArray,
    margin: float,
    upper: IntArray,
    upper_starts: IntArray,
    lower: IntArray,
    lower_starts: IntArray,
    weights: FloatArray,
) -> Iterator[_Block]:
    for block, weight in enumerate(weights.tolist()):
        above = upper[upper_starts[block] : upper_starts[block + 1]]
        below = lower[lower_starts[block] : lower_starts[block + 1]]
        u, f = scores[above] - margin, scores[below]
        first_active = np.searchsorted(f, u, side="right")
        n_active = np.searchsorted(u, f, side="left")
        yield _Block(weight, above, below, u, f, first_active, n_active)


def members_in_order(
    order: IntArray, blocks: IntArray, block_starts: IntArray, member_starts: IntArray
) -> IntArray:
    """Members of all blocks, in each block in the given order of the points."""
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    points = np.repeat(np.arange(len(order)), np.diff(block_starts))
    return points[np.lexsort((place[points], blocks))]


def pair_sums(
    scores: FloatArray,
    margin: float,
    upper: IntArray,
    upper_starts: IntArray,
    lower: IntArray,
    lower_starts: IntArray,
    weights: FloatArray,
) -> tuple[float, FloatArray, FloatArray]:
    """Value, gradient, and the total weight of each point's active pairs."""
    value, gradient, partner_weights = 0.0, np.zeros(scores.size), np.zeros(scores.size)
    for block in _blocks(scores, margin, upper, upper_starts, lower, lower_starts, weights):
        middle = 0.5 * (block.lower_scores[:1].sum() + block.lower_scores[-1:].sum())
        u, f = block.upper_scores - middle, block.lower_scores - middle
        counts = f.size - block.first_active
        sums, squares = (_suffix_sums(terms)[block.first_active] for terms in (f, f * f))
        value += block.weight * float((squares - u * (2.0 * sums - counts * u)).sum())
        gradient[block.upper] -= 2.0 * block.weight * (sums - counts * u)
        partner_weights[block.upper] += block.weight * counts
        excess = block.n_active * f - _prefix_sums(u)[block.n_active]
        gradient[block.lower] += 2.0 * block.weight * excess
        partner_weights[block.lower] += block.weight * block.n_active
    return value, gradient, partner_weights


def pair_hessian_product(
    scores: FloatArray,
    margin: float,
    upper: IntArray,
    upper_starts: IntArray,
    lower: IntArray,
    lower_starts: IntArray,
    weights: FloatArray,
    place: IntArray,
    vectors: FloatArray,
) -> FloatArray:
    """Hessian times vectors. Their row of point i is ``place[i]``, which is -1 if it has none."""
    product = np.zeros_like(vectors)
    for block in _blocks(scores, margin, upper, upper_starts, lower, lower_starts, weights):
        if not block.n_active.any():
            continue
        # Only active points have a row: the first upper points, and the last lower points.
        first, n_upper = int(block.first_active[0]), int(block.n_active[-1])
        of_upper, of_lower = place[block.upper[:n_upper]], place[block.lower[first:]]
        factor, counts = 2.0 * block.weight, block.lower.size - block.first_active[:n_upper]
        sums = _suffix_sums(vectors[of_lower])[block.first_active[:n_upper] - first]
        product[of_upper] += factor * (counts[:, None] * vectors[of_upper] - sums)
        counts = block.n_active[first:]
        sums = _prefix_sums(vectors[of_upper])[counts]
        product[of_lower] += factor * (counts[:, None] * vectors[of_lower] - sums)
    return product


def fill_partner_sums(
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

    ``running`` is the sum over the first ``n_passed`` lower points, and is updated in place. Upper
    and lower points are in descending order of scores.
    """
    if not len(upper):
        return n_passed
    n_active = np.searchsorted(-scores[lower], margin - scores[upper], side="left")
    n_active = np.maximum(n_active, n_passed)
    passed = _prefix_sums(features[lower[n_passed : n_active[-1]]])
    sums[:] = running + passed[n_active - n_passed]
    running[:] = sums[-1]
    return int(n_active[-1])


def _prefix_sums(terms: FloatArray) -> FloatArray:
    """Sums of the first 0, 1, ... terms."""
    return np.concatenate([np.zeros_like(terms[:1], shape=(1, *terms.shape[1:])), terms]).cumsum(0)


def _suffix_sums(terms: FloatArray) -> FloatArray:
    """Sums of all terms from the first, the second, ... on; the last sum is empty."""
    return _prefix_sums(terms[::-1])[::-1]
