"""Nearest rows by comparing with every row: fast by matrix products, exact by differences.

A product gives ``|x - y|^2 = |x|^2 - 2 x'y + |y|^2`` many times faster than differences do, but it
cancels: where rows lie close together far from their mean it finds the wrong neighbors. So it only
screens. With ``N = |x|^2 + |y|^2`` (about the mean of the rows), d columns and the precision eps,
rounding moves it by less than ``c N``, ``c = 2 (d + 8) eps``: d + 1 terms are added, every column
and norm is rounded once, and the rest of c covers the comparisons and the differences' rounding.
Rows whose lower bound is above the K-th smallest upper bound are out; the few that remain are
measured by differences. The screen is in float32, and again in float64 for the queries that it
leaves with many candidates. What comes out depends on neither, nor on the batch: only on the
differences, always added in the same order.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self, cast

import numpy as np
from numpy.typing import DTypeLike

from rankad._compiled import compiled
from rankad._typing import FloatArray, IntArray

#: Distances in one product, which should stay in the cache.
_TILE_ENTRIES = 2**19

#: Lanes, and lanes per neighbor, of which the smallest upper bounds bound the K-th. Not a power of
#: two: rows of the product that many bytes apart would share few lines of the cache.
_LANES = 240
_LANES_PER_NEIGHBOR = 8

#: Most steps in search of that bound; about eight are taken where no row is far out.
_BISECTIONS = 32

#: Up to so many candidates are sorted by comparing each with each; up to so many nearest are kept
#: in order while the candidates pass, which takes a step for each of them.
_FEW = 32
_SOME = 64

#: Lower bounds that are compared with the cutoff together; divides the lanes.
_GROUP = 48

#: Lower bound of the rows that fill up the last lanes: above all others.
_OUT_OF_REACH = 1e38

#: Squared norm, in units of the rows' spread, beyond which float32 might overflow.
_LARGEST_NORM = 1e30

#: Underflow moves a squared distance by less than this, in units of the rows' spread.
_UNDERFLOW = 1e-30


class BruteForce:
    """The rows, prepared once for any number of queries, of each of which it finds the nearest.

    Gives indices and distances, nearest first; equal distances are in the order of the indices.

    >>> BruteForce(np.array([[0.0], [3.0], [1.0]]), n_nearest=2)(np.array([[2.0]]))
    (array([[1, 2]]), array([[1., 1.]]))
    """

    def __init__(self, rows: FloatArray, n_nearest: int) -> None:
        self.rows, self.n_nearest = np.ascontiguousarray(rows, dtype=np.float64), n_nearest
        # Where an eighth of the rows is wanted, screening saves nothing.
        wants_few = _LANES_PER_NEIGHBOR * n_nearest <= len(rows)
        self._coarse = _Screen.from_rows(self.rows, n_nearest, np.float32) if wants_few else None
        self._most_candidates = 2 * n_nearest + len(rows) // 16

    def __call__(self, queries: FloatArray) -> tuple[IntArray, FloatArray]:
        """Indices of and distances to the nearest rows of each query."""
        queries = np.ascontiguousarray(queries, dtype=np.float64)
        shape = (len(queries), self.n_nearest)
        indices, squares = np.zeros(shape, dtype=np.int64), np.zeros(shape)
        remaining: IntArray = np.arange(len(queries))
        if self._coarse is not None and remaining.size:
            found = indices, squares
            remaining = self._by_screen(
                self._coarse, self._most_candidates, queries, remaining, *found
            )
            if remaining.size:
                remaining = self._by_screen(self._fine, len(self.rows), queries, remaining, *found)
        _nearest_of_all(self.rows, queries, remaining, indices, squares)
        return indices, np.sqrt(squares)

    @cached_property
    def _fine(self) -> _Screen:
        """The screen in float64: prepared only if it is needed."""
        return cast("_Screen", _Screen.from_rows(self.rows, self.n_nearest, np.float64))

    def _by_screen(
        self,
        screen: _Screen,
        most_candidates: int,
        queries: FloatArray,
        wanted: IntArray,
        indices: IntArray,
        squares: FloatArray,
    ) -> IntArray:
        """Search for the wanted queries; return those with more than so many candidates."""
        coefficients, offsets = screen.coefficients(queries[wanted])
        n_tile = min(max(16, _TILE_ENTRIES // screen.slack.size), len(wanted))
        bounds = np.empty((n_tile, *screen.slack.shape), dtype=screen.slack.dtype)
        unresolved = []
        for start in range(0, len(wanted), n_tile):
            tile = wanted[start : start + n_tile]
            part = slice(start, start + len(tile))
            # Into the same memory again and again: it stays in the cache.
            flat = bounds[: len(tile)].reshape(len(tile), -1)
            np.matmul(coefficients[part], screen.factors, out=flat)
            left_out = _nearest_candidates(
                bounds,
                offsets[part],
                screen.slack,
                self.rows,
                queries,
                tile,
                most_candidates,
                indices,
                squares,
            )
            unresolved.append(tile[left_out])
        return np.concatenate(unresolved)


@dataclass(frozen=True)
class _Screen:
    """Bounds of squared distances to the rows, by one matrix product.

    In units of the rows' spread about their center. ``factors`` holds the rows in columns, and
    their norms less their share of the rounding; upper bounds lie ``slack`` above lower ones.
    """

    center: FloatArray
    scale: float
    factors: FloatArray
    slack: FloatArray
    rounding: float

    @classmethod
    def from_rows(cls, rows: FloatArray, n_nearest: int, dtype: DTypeLike) -> Self | None:
        """Prepare a screen; none where the rows are so large that differences overflow."""
        with np.errstate(over="ignore", invalid="ignore"):
            center = rows.mean(axis=0)
            centered = rows - center
            spread = float(np.abs(centered).max(initial=0.0))
        if not np.isfinite(spread):
            return None
        scale = float(np.ldexp(1.0, -max(int(np.frexp(spread)[1]), -1000)))
        n_lanes = _LANES * -(-_LANES_PER_NEIGHBOR * n_nearest // _LANES)
        n_padded = n_lanes * -(-len(rows) // n_lanes)
        factors = np.zeros((rows.shape[1] + 1, n_padded), dtype=dtype)
        factors[:-1, : len(rows)] = (centered * scale).T
        norms = np.square(factors[:-1], dtype=np.float64).sum(axis=0)
        rounding = 2.0 * (rows.shape[1] + 8) * float(np.finfo(dtype).eps)
        factors[-1] = (1.0 - rounding) * norms
        factors[-1, len(rows) :] = _OUT_OF_REACH
        slack = (2.0 * rounding * norms).astype(dtype).reshape(-1, n_lanes)
        return cls(center, scale, factors, slack, rounding)

    def coefficients(self, queries: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Coefficients of lower bounds of the distances, and how far upper bounds may exceed slack.

        The coefficients times the factors are the lower bounds. Both leave out the query's own
        norm. Where that is too large, no row is excluded.
        """
        coefficients = np.ones((len(queries), len(self.factors)))
        with np.errstate(over="ignore", invalid="ignore"):
            coefficients[:, :-1] = (queries - self.center) * self.scale
            norms = np.square(coefficients[:, :-1]).sum(axis=1)
        too_large = ~(norms <= _LARGEST_NORM)
        coefficients[too_large, :-1], norms[too_large] = 0.0, 0.0
        coefficients[:, :-1] *= -2.0
        offsets = 2.0 * self.rounding * norms + _UNDERFLOW
        offsets[too_large] = 0.1 * _OUT_OF_REACH
        dtype: Any = self.factors.dtype
        return coefficients.astype(dtype), offsets.astype(dtype)


@compiled
def _squared_distance(rows: FloatArray, row: int, queries: FloatArray, query: int) -> float:
    """``|x - y|^2`` from the differences, in four sums that need not wait for each other."""
    n_columns = rows.shape[1]
    n_by_four = n_columns - n_columns % 4
    first = second = third = fourth = 0.0
    for k in range(0, n_by_four, 4):
        first += (rows[row, k] - queries[query, k]) ** 2
        second += (rows[row, k + 1] - queries[query, k + 1]) ** 2
        third += (rows[row, k + 2] - queries[query, k + 2]) ** 2
        fourth += (rows[row, k + 3] - queries[query, k + 3]) ** 2
    for k in range(n_by_four, n_columns):
        first += (rows[row, k] - queries[query, k]) ** 2
    return (first + second) + (third + fourth)


@compiled
def _nearest_of_all(
    rows: FloatArray, queries: FloatArray, wanted: IntArray, indices: IntArray, squares: FloatArray
) -> None:
    """Fill in the nearest rows of the wanted queries, without a screen."""
    candidates = np.arange(rows.shape[0])
    measured = np.empty(rows.shape[0])
    for query in wanted:
        for row in range(rows.shape[0]):
            measured[row] = _squared_distance(rows, row, queries, query)
        _select(candidates, measured, query, indices, squares)


@compiled
def _nearest_candidates(
    bounds: FloatArray,
    offsets: FloatArray,
    slack: FloatArray,
    rows: FloatArray,
    queries: FloatArray,
    tile: IntArray,
    most_candidates: int,
    indices: IntArray,
    squares: FloatArray,
) -> IntArray:
    """Fill in the nearest rows of the queries of a tile; return the positions of those left out.

    Left out are those that have more than ``most_candidates``.
    """
    candidates = np.empty(slack.size + 1, dtype=np.int64)
    measured = np.empty(slack.size)
    left_out = np.empty(tile.size, dtype=np.int64)
    n_left_out = 0
    for i in range(tile.size):
        cutoff = _kth_upper_bound(bounds[i], slack, rows.shape[0], indices.shape[1]) + offsets[i]
        n_candidates = _rows_within(bounds[i].reshape(-1, _GROUP), cutoff, candidates)
        if n_candidates > most_candidates:
            left_out[n_left_out] = i
            n_left_out += 1
            continue
        found = candidates[:n_candidates]
        for k in range(n_candidates):
            measured[k] = _squared_distance(rows, found[k], queries, tile[i])
        _select(found, measured[:n_candidates], tile[i], indices, squares)
    return left_out[:n_left_out]


@compiled
def _kth_upper_bound(bounds: FloatArray, slack: FloatArray, n_rows: int, n_nearest: int) -> Any:
    """At least the K-th smallest upper bound, and hardly more.

    The K-th smallest of the lanes' smallest, or a little above: lanes go side by side through the
    data.
    """
    smallest = bounds[0] + slack[0]
    for step in range(1, bounds.shape[0]):
        for lane in range(smallest.size):
            upper = bounds[step, lane] + slack[step, lane]
            smallest[lane] = upper if upper < smallest[lane] else smallest[lane]
    # Rows that fill up are far out of it.
    return _at_least_kth(smallest, n_nearest, smallest[:n_rows].max())


@compiled
def _at_least_kth(values: FloatArray, n_nearest: int, largest: float) -> Any:
    """At least the K-th smallest of the values up to the largest, and hardly more.

    By bisection, which counts without branches: those could not be predicted.
    """
    low, high = values.min(), largest
    half = values.dtype.type(0.5)  # in their precision, so that the comparisons are
    for _ in range(_BISECTIONS):
        middle = low + half * (high - low)
        n_below = np.int32(0)
        for i in range(values.size):
            n_below += np.int32(values[i] <= middle)
        if n_below < n_nearest:
            low = middle
            continue
        high = middle
        if n_below <= n_nearest + 1 + n_nearest // 16:
            break
    return high


@compiled
def _rows_within(bounds: FloatArray, cutoff: float, candidates: IntArray) -> int:
    """Write the rows whose lower bound is within the cutoff, ascending; return their number."""
    n_candidates = 0
    for group in range(bounds.shape[0]):
        n_within = np.int32(0)
        for j in range(bounds.shape[1]):  # mostly none are: found out many at a time
            n_within += np.int32(bounds[group, j] <= cutoff)
        if n_within > 0:
            for j in range(bounds.shape[1]):  # without branches, which could not be predicted
                candidates[n_candidates] = group * bounds.shape[1] + j
                n_candidates += bounds[group, j] <= cutoff
    return n_candidates


@compiled
def _select(
    candidates: IntArray,
    squares_of_candidates: FloatArray,
    query: int,
    indices: IntArray,
    squares: FloatArray,
) -> None:
    """Keep the nearest of the candidates, which ascend, sorted by distance, then index."""
    if candidates.size > _FEW and indices.shape[1] > _SOME:
        _select_many(candidates, squares_of_candidates, query, indices, squares)
        return
    n_nearest = indices.shape[1]
    for i in range(candidates.size):
        square = squares_of_candidates[i]
        place = min(i, n_nearest)
        if candidates.size <= _FEW:
            place = 0
            for j in range(i):
                place += squares_of_candidates[j] <= square
            for j in range(i + 1, candidates.size):
                place += squares_of_candidates[j] < square
        else:
            while place > 0 and squares[query, place - 1] > square:
                place -= 1
            for later in range(min(i, n_nearest - 1), place, -1):
                squares[query, later] = squares[query, later - 1]
                indices[query, later] = indices[query, later - 1]
        if place < n_nearest:
            squares[query, place] = square
            indices[query, place] = candidates[i]


@compiled
def _select_many(
    candidates: IntArray,
    squares_of_candidates: FloatArray,
    query: int,
    indices: IntArray,
    squares: FloatArray,
) -> None:
    """The same by sorting; where those beyond the K-th are many, most are left out first."""
    n_nearest = indices.shape[1]
    if candidates.size > 2 * n_nearest:
        cutoff = _at_least_kth(squares_of_candidates, n_nearest, squares_of_candidates.max())
        within = np.flatnonzero(squares_of_candidates <= cutoff)
        candidates, squares_of_candidates = candidates[within], squares_of_candidates[within]
    order = np.argsort(squares_of_candidates, kind="mergesort")  # stable
    for place in range(n_nearest):
        squares[query, place] = squares_of_candidates[order[place]]
        indices[query, place] = candidates[order[place]]
