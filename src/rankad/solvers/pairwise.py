"""The squared hinge loss over all preference pairs, by linear sweeps over sorted scores.

With ``L`` a hinge, the loss of the scores f is

    sum over pairs (i, j) of w_ij L(f_i - f_j)  +  a sum_i L_M(f_i - 0).

The last sum is the *anchor*. It is one virtual point at infinity, where every Gaussian kernel is 0,
and each training point should score above it. With ``a = anchor |P| / n``, |P| the total weight of
the pairs, its n pairs weigh ``anchor`` times as much as all other pairs together. ``anchor=0`` is
the paper's loss.

``L_M`` is the same hinge with its own margin M, the ``anchor_margin``. Levels are a margin of 1
apart, so with ten levels g ranges over ten units. If the anchor's margin is 1, too, a gap beside a
dense cluster scores higher than the thin parts of the data. With a wider margin the data lie on a
plateau of height M, and the levels are steps on it.

Take the squared hinge with margin t, ``max(0, t - (f_i - f_j))^2``, and one block of pairs, all of
its upper points i with all of its lower points j. A pair is active if ``f_j > u_i = f_i - t``. With
both sides sorted, the active j of each i are a suffix that grows as u_i falls. The active i of each
j are a prefix that grows with f_j. So two pointers and running sums give everything:

    value      sum_i Q_i,            Q_i = sum over active j of (f_j - u_i)^2
    gradient   of an upper i: -2 S_i,  S_i = sum over active j of (f_j - u_i); of a lower j: +2 S'_j
    Hessian v  of i: 2 (c_i v_i - sum over active partners of v), c_i the number of partners

If u_i falls by h, (c, S, Q) becomes (c, S + c h, Q + 2 h S + c h^2). Only nonnegative terms are
added, so nothing cancels even if the scores are large. Both sweeps compare the same floats, so the
Hessian is symmetric to the last bit.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from math import prod

import numpy as np

from rankad._compiled import compiled_or
from rankad._typing import BoolArray, FloatArray, IntArray
from rankad.preferences import Preferences
from rankad.solvers import plain
from rankad.solvers.projection import MANY_BLOCKS, Blocks, by_columns, projected_hessian


@dataclass(frozen=True, eq=False)
class PairwiseSquaredHinge:
    """``L(t) = max(0, margin - t)^2`` over preference pairs, with the anchor at infinity.

    The anchor's pairs have their own margin, ``anchor_margin``.

    >>> from rankad.preferences import level_preferences
    >>> loss = PairwiseSquaredHinge(level_preferences(np.array([1, 2])))
    >>> at_zero = loss.at(np.array([0.0, 0.0]))
    >>> at_zero.value, at_zero.gradient
    (1.0, array([ 2., -2.]))
    """

    preferences: Preferences
    anchor: float = 0.0
    anchor_margin: float = 1.0
    margin: float = 1.0

    @property
    def stages(self) -> tuple["PairwiseSquaredHinge"]:
        """Only the loss itself, because it is smooth enough for Newton's method."""
        return (self,)

    @cached_property
    def anchor_weight(self) -> float:
        """Weight of each point's pair with the point at infinity."""
        return self.anchor * self.preferences.total_weight / self.preferences.n

    @property
    def is_shift_invariant(self) -> bool:
        """Whether only differences of scores matter, as without an anchor."""
        return self.anchor == 0

    def sampled(self, points: IntArray) -> tuple["PairwiseSquaredHinge", float]:
        """The loss of some of the points, and the factor from it to about the loss of all."""
        preferences = self.preferences.among(points)
        factor = self.preferences.total_weight / (preferences.total_weight or 1.0)
        return replace(self, preferences=preferences), factor

    def at(self, scores: FloatArray) -> "PairwiseSquaredHingeAt":
        """The loss at these scores, by one sort and linear sweeps."""
        scores = np.ascontiguousarray(scores, dtype=np.float64)
        sweep = Sweep.from_scores(self.preferences, scores, self.margin)
        value, gradient, partner_weights = sweep.sums()
        shortfall = np.maximum(self.anchor_margin - scores, 0.0)
        return PairwiseSquaredHingeAt(
            value=float(value + self.anchor_weight * (shortfall @ shortfall)),
            gradient=gradient - 2.0 * self.anchor_weight * shortfall,
            sweep=sweep,
            partner_weights=partner_weights,
            anchor_curvature=2.0 * self.anchor_weight * (shortfall > 0),
        )


@dataclass(frozen=True, eq=False)
class PairwiseSquaredHingeAt:
    """The loss, its gradient and its Hessian at given scores."""

    value: float
    gradient: FloatArray
    sweep: "Sweep"
    partner_weights: FloatArray
    anchor_curvature: FloatArray

    @property
    def is_active(self) -> BoolArray:
        """Whether each point is in an active pair, the pair with the anchor included."""
        return (self.partner_weights > 0) | (self.anchor_curvature > 0)

    def hessian_product(self, vectors: FloatArray, rows: IntArray | None = None) -> FloatArray:
        """Hessian times a vector, or times each column of a matrix."""
        columns = np.ascontiguousarray(vectors.reshape(len(vectors), prod(vectors.shape[1:])))
        curvature = self.anchor_curvature if rows is None else self.anchor_curvature[rows]
        product = self.sweep.hessian_product(columns, rows)
        if curvature.any():
            product += curvature[:, None] * columns
        return product.reshape(vectors.shape)

    def projected_hessian(self, features: FloatArray) -> FloatArray:
        """``Z' Hessian Z`` for the rows Z of ``features``."""
        if self.sweep.preferences.weights.size > MANY_BLOCKS:
            return by_columns(self.hessian_product, features)
        return projected_hessian(
            self.sweep.scores,
            self.sweep.margin,
            self.sweep.blocks,
            self.anchor_curvature + 2.0 * self.partner_weights,
            features,
        )


@dataclass(frozen=True, eq=False)
class Sweep:
    """The blocks of preference pairs, with the members of each block sorted by score."""

    scores: FloatArray
    margin: float
    preferences: Preferences
    upper: IntArray
    lower: IntArray

    @classmethod
    def from_scores(cls, preferences: Preferences, scores: FloatArray, margin: float) -> "Sweep":
        """Sort the points once, and write them to their blocks in that order."""
        order = np.argsort(scores)
        of_upper, of_lower = preferences.memberships
        upper, lower = (
            _members_in_order(order, blocks.points, blocks.starts, members.starts)
            for blocks, members in ((of_upper, preferences.upper), (of_lower, preferences.lower))
        )
        return cls(scores, margin, preferences, upper, lower)

    def sums(self) -> tuple[float, FloatArray, FloatArray]:
        """Value and gradient of the squared hinge, and the total weight of each point's pairs.

        Only active pairs count in that weight.
        """
        return _pair_sums(self.scores, self.margin, *self.blocks)

    def hessian_product(self, columns: FloatArray, rows: IntArray | None = None) -> FloatArray:
        """Hessian of the squared hinge times each column.

        With ``rows``, columns and product have only these rows, which include all active ones.
        """
        place = np.arange(self.scores.size)
        if rows is not None:
            place[:] = -1
            place[rows] = np.arange(rows.size)
        return np.asarray(
            _pair_hessian_product(self.scores, self.margin, *self.blocks, place, columns)
        )

    @property
    def blocks(self) -> Blocks:
        """Upper members and their starts, lower members and their starts, weights of the blocks."""
        preferences = self.preferences
        return (
            self.upper,
            preferences.upper.starts,
            self.lower,
            preferences.lower.starts,
            preferences.weights,
        )


@compiled_or(plain.members_in_order)
def _members_in_order(
    order: IntArray, blocks: IntArray, block_starts: IntArray, member_starts: IntArray
) -> IntArray:
    """Members of all blocks, in each block in the given order of the points."""
    members = np.empty(blocks.size, dtype=np.int64)
    free = member_starts.copy()
    for point in order:
        for k in range(block_starts[point], block_starts[point + 1]):
            members[free[blocks[k]]] = point
            free[blocks[k]] += 1
    return members


@compiled_or(plain.pair_sums)
def _pair_sums(
    scores: FloatArray,
    margin: float,
    upper: IntArray,
    upper_starts: IntArray,
    lower: IntArray,
    lower_starts: IntArray,
    weights: FloatArray,
) -> tuple[float, FloatArray, FloatArray]:
    """Value, gradient, and the total weight of each point's active pairs."""
    value = 0.0
    gradient = np.zeros(scores.size)
    partner_weights = np.zeros(scores.size)
    for block in range(weights.size):
        weight = weights[block]
        # Upper points i in descending order: count, total and squares are c_i, S_i and Q_i.
        count, total, squares, previous = 0, 0.0, 0.0, 0.0
        j = lower_starts[block + 1] - 1
        for i in range(upper_starts[block + 1] - 1, upper_starts[block] - 1, -1):
            u = scores[upper[i]] - margin
            if count > 0:
                step = previous - u
                squares += step * (2.0 * total + count * step)
                total += count * step
            while j >= lower_starts[block] and scores[lower[j]] > u:
                excess = scores[lower[j]] - u
                total += excess
                squares += excess * excess
                count += 1
                j -= 1
            value += weight * squares
            gradient[upper[i]] -= 2.0 * weight * total
            partner_weights[upper[i]] += weight * count
            previous = u
        # Lower points j in ascending order: count and total are c_j and S'_j.
        count, total, previous = 0, 0.0, 0.0
        i = upper_starts[block]
        for j in range(lower_starts[block], lower_starts[block + 1]):
            score = scores[lower[j]]
            if count > 0:
                total += count * (score - previous)
            while i < upper_starts[block + 1] and scores[upper[i]] - margin < score:
                total += score - (scores[upper[i]] - margin)
                count += 1
                i += 1
            gradient[lower[j]] += 2.0 * weight * total
            partner_weights[lower[j]] += weight * count
            previous = score
    return value, gradient, partner_weights


@compiled_or(plain.pair_hessian_product)
def _pair_hessian_product(  # noqa: C901 - a call per row would double the time of one column
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
    n_columns = vectors.shape[1]
    sums = np.empty(n_columns, dtype=vectors.dtype)
    for block in range(weights.size):
        factor = 2.0 * weights[block]
        # Upper points i in descending order: sums holds the sum of the active partners' rows.
        sums[:] = 0.0
        count = 0
        j = lower_starts[block + 1] - 1
        for i in range(upper_starts[block + 1] - 1, upper_starts[block] - 1, -1):
            u = scores[upper[i]] - margin
            while j >= lower_starts[block] and scores[lower[j]] > u:
                row = place[lower[j]]
                for k in range(n_columns):
                    sums[k] += vectors[row, k]
                count += 1
                j -= 1
            if count > 0:
                row = place[upper[i]]
                for k in range(n_columns):
                    product[row, k] += factor * (count * vectors[row, k] - sums[k])
        # Lower points j in ascending order.
        sums[:] = 0.0
        count = 0
        i = upper_starts[block]
        for j in range(lower_starts[block], lower_starts[block + 1]):
            score = scores[lower[j]]
            while i < upper_starts[block + 1] and scores[upper[i]] - margin < score:
                row = place[upper[i]]
                for k in range(n_columns):
                    sums[k] += vectors[row, k]
                count += 1
                i += 1
            if count > 0:
                row = place[lower[j]]
                for k in range(n_columns):
                    product[row, k] += factor * (count * vectors[row, k] - sums[k])
    return product
