"""The squared hinge over all preference pairs, in O(m n) after one sort.

With ``L(t) = max(0, 1 - t)^2``, the loss of the scores f is

    sum over pairs (i, j), level_i > level_j, of L(f_i - f_j)  +  a sum_i L(f_i - 0).

The last sum is the *anchor*: one virtual point at infinity, where every Gaussian kernel is 0, that
each training point must outrank; ``a = anchor |P| / n`` makes it weigh like ``anchor`` times one
level of points (|P| is the number of pairs). ``anchor=0`` is the paper's loss.

For one level against all lower ones, a pair is active where ``f_j > u_i = f_i - 1``. With both
groups sorted, the active j of each i are a suffix that grows as u_i falls, and the active i of each
j a prefix that grows with f_j. So two pointers and running sums give everything:

    value      sum_i Q_i,            Q_i = sum over active j of (f_j - u_i)^2
    gradient   of an upper i: -2 S_i,  S_i = sum over active j of (f_j - u_i); of a lower j: +2 S'_j
    Hessian v  of i: 2 (c_i v_i - sum over active partners of v), c_i the number of partners

Moving u_i down by h turns (c, S, Q) into (c, S + c h, Q + 2 h S + c h^2): only nonnegative terms
are added, so nothing cancels however large the scores are. Both sweeps compare the same floats, so
the Hessian is symmetric to the last bit.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rankad._typing import FloatArray, IntArray, compiled
from rankad.preferences import count_pairs


@dataclass(frozen=True)
class PairwiseSquaredHinge:
    """Squared hinge over the pairs of ``levels``, with the anchor at infinity.

    >>> loss = PairwiseSquaredHinge(np.array([1, 2]))
    >>> at_zero = loss.at(np.array([0.0, 0.0]))
    >>> at_zero.value, at_zero.gradient
    (1.0, array([ 2., -2.]))
    """

    levels: IntArray
    anchor: float = 0.0

    @cached_property
    def anchor_weight(self) -> float:
        """Weight of each point's pair with the point at infinity."""
        return self.anchor * count_pairs(self.levels) / self.levels.size

    @property
    def is_shift_invariant(self) -> bool:
        """Without an anchor only differences of scores matter."""
        return self.anchor == 0

    @cached_property
    def _compressed_levels(self) -> tuple[IntArray, int]:
        values, compressed = np.unique(self.levels, return_inverse=True)
        return compressed, len(values)

    def at(self, scores: FloatArray) -> "PairwiseSquaredHingeAt":
        """Expand the loss at these scores: one sort, then linear sweeps."""
        scores = np.ascontiguousarray(scores, dtype=np.float64)
        levels, n_levels = self._compressed_levels
        order = np.argsort(scores)
        value, gradient, n_partners = _pair_sums(scores, levels, n_levels, order)
        shortfall = np.maximum(1.0 - scores, 0.0)
        return PairwiseSquaredHingeAt(
            value=float(value + self.anchor_weight * (shortfall @ shortfall)),
            gradient=gradient - 2.0 * self.anchor_weight * shortfall,
            scores=scores,
            levels=levels,
            n_levels=n_levels,
            order=order,
            n_partners=n_partners,
            anchor_curvature=2.0 * self.anchor_weight * (shortfall > 0),
        )


@dataclass(frozen=True)
class PairwiseSquaredHingeAt:
    """The loss, its gradient and its Hessian at given scores."""

    value: float
    gradient: FloatArray
    scores: FloatArray
    levels: IntArray
    n_levels: int
    order: IntArray
    n_partners: IntArray
    anchor_curvature: FloatArray

    @property
    def is_active(self) -> NDArray[np.bool_]:
        """Whether each point is in an active pair, that with the anchor included."""
        return (self.n_partners > 0) | (self.anchor_curvature > 0)

    def hessian_product(self, vectors: FloatArray) -> FloatArray:
        """Hessian times a vector, or times each column of a matrix."""
        columns = np.ascontiguousarray(vectors.reshape(len(vectors), -1), dtype=np.float64)
        product = _pair_hessian_product(
            self.scores, self.levels, self.n_levels, self.order, columns
        )
        product += self.anchor_curvature[:, None] * columns
        return np.asarray(product.reshape(vectors.shape))


@compiled
def _split_at_level(
    levels: IntArray, level: int, order: IntArray, upper: IntArray, lower: IntArray
) -> tuple[int, int]:
    """Fill ``upper`` with the points of a level and ``lower`` with those below it, by score."""
    n_upper = 0
    n_lower = 0
    for index in order:
        if levels[index] == level:
            upper[n_upper] = index
            n_upper += 1
        elif levels[index] < level:
            lower[n_lower] = index
            n_lower += 1
    return n_upper, n_lower


@compiled
def _pair_sums(
    scores: FloatArray, levels: IntArray, n_levels: int, order: IntArray
) -> tuple[float, FloatArray, IntArray]:
    value = 0.0
    gradient = np.zeros(scores.size)
    n_partners = np.zeros(scores.size, dtype=np.int64)
    upper = np.empty(scores.size, dtype=np.int64)
    lower = np.empty(scores.size, dtype=np.int64)
    for level in range(1, n_levels):
        n_upper, n_lower = _split_at_level(levels, level, order, upper, lower)
        count, total, squares, previous = 0, 0.0, 0.0, 0.0
        j = n_lower - 1
        for i in range(n_upper - 1, -1, -1):
            u = scores[upper[i]] - 1.0
            if count > 0:
                step = previous - u
                squares += step * (2.0 * total + count * step)
                total += count * step
            while j >= 0 and scores[lower[j]] > u:
                excess = scores[lower[j]] - u
                total += excess
                squares += excess * excess
                count += 1
                j -= 1
            value += squares
            gradient[upper[i]] -= 2.0 * total
            n_partners[upper[i]] += count
            previous = u
        count, total, previous = 0, 0.0, 0.0
        i = 0
        for j in range(n_lower):
            score = scores[lower[j]]
            if count > 0:
                total += count * (score - previous)
            while i < n_upper and scores[upper[i]] - 1.0 < score:
                total += score - (scores[upper[i]] - 1.0)
                count += 1
                i += 1
            gradient[lower[j]] += 2.0 * total
            n_partners[lower[j]] += count
            previous = score
    return value, gradient, n_partners


@compiled
def _pair_hessian_product(
    scores: FloatArray, levels: IntArray, n_levels: int, order: IntArray, vectors: FloatArray
) -> FloatArray:
    product = np.zeros_like(vectors)
    n_columns = vectors.shape[1]
    sums = np.empty(n_columns)
    upper = np.empty(scores.size, dtype=np.int64)
    lower = np.empty(scores.size, dtype=np.int64)
    for level in range(1, n_levels):
        n_upper, n_lower = _split_at_level(levels, level, order, upper, lower)
        sums[:] = 0.0
        count = 0
        j = n_lower - 1
        for i in range(n_upper - 1, -1, -1):
            row = upper[i]
            while j >= 0 and scores[lower[j]] > scores[row] - 1.0:
                for k in range(n_columns):
                    sums[k] += vectors[lower[j], k]
                count += 1
                j -= 1
            for k in range(n_columns):
                product[row, k] += 2.0 * (count * vectors[row, k] - sums[k])
        sums[:] = 0.0
        count = 0
        i = 0
        for j in range(n_lower):
            row = lower[j]
            while i < n_upper and scores[upper[i]] - 1.0 < scores[row]:
                for k in range(n_columns):
                    sums[k] += vectors[upper[i], k]
                count += 1
                i += 1
            for k in range(n_columns):
                product[row, k] += 2.0 * (count * vectors[row, k] - sums[k])
    return product
