"""Nearest rows by comparison with every row: fast by matrix products, exact by differences.

A matrix product gives ``|x - y|^2 = |x|^2 - 2 x'y + |y|^2`` many times faster than differences do.
But it cancels: if rows are close together and far from their mean, it finds the wrong neighbors. So
it is only used to exclude rows. With ``N = |x|^2 + |y|^2`` (about the mean of the rows), d columns
and the precision eps, rounding changes it by less than ``c N``, ``c = 2 (d + 8) eps``. Here d + 1
terms are added, and every column and norm is rounded once. The rest of c covers the comparisons and
the rounding of the differences.

So each row has a lower and an upper bound of its squared distance. A row is excluded if its lower
bound is above the K-th smallest upper bound. The few candidates that remain are measured by
differences. This screen is in float32. Queries with many candidates get a second screen in float64.
The result depends on neither screen and not on the batch, but only on the differences, which are
always added in the same order.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self, cast

import numpy as np
from numpy.typing import DTypeLike
from scipy.spatial.distance import cdist

from rankad._compiled import CAN_COMPILE, compiled, compiled_or
from rankad._typing import FloatArray, IntArray

#: Distances in one product. They should stay in the cache.
_CHUNK_ENTRIES = 2**19

#: The rows are divided into lanes. The K-th smallest upper bound of all rows is at most the K-th
#: smallest of the lanes' minima. The number of lanes is a multiple of 240 and at least 8 K. It is
#: not a power of two, because then the rows of the product would share few lines of the cache.
_LANES = 240
_LANES_PER_NEIGHBOR = 8

#: Largest number of bisections in the search for that bound. If no row is far out, about eight are
#: enough.
_MAX_BISECTIONS = 32

#: Up to this many candidates are sorted by comparing all pairs of them.
_MAX_COMPARED = 32

#: Up to this many nearest rows are found by insertion: each candidate moves the farther ones up.
_MAX_INSERTED = 64

#: Number of lower bounds that are compared with the cutoff together. It divides the lanes.
_GROUP = 48

#: Lower bound of the padding in the last lanes, above that of any row.
_OUT_OF_REACH = 1e38

#: Squared norm, in units of the rows' spread, above which float32 might overflow.
_MAX_NORM = 1e30

#: Underflow moves a squared distance by less than this, in units of the rows' spread.
_UNDERFLOW = 1e-30


class BruteForce:
    """Search among rows that are prepared once for any number of queries.

    Returns the indices of the nearest rows of each query and their distances, nearest first. Equal
    distances are in the order of the indices.

    >>> BruteForce(np.array([[0.0], [3.0], [1.0]]), n_nearest=2)(np.array([[2.0]]))
    (array([[1, 2]]), array([[1., 1.]]))
    """

    def __init__(self, rows: FloatArray, n_nearest: int) -> None:
        self.rows, self.n_nearest = np.ascontiguousarray(rows, dtype=np.float64), n_nearest
        # If more than an eighth of the rows is wanted, a screen saves nothing. Its candidates are
        # searched by compiled code only.
        wants_few = CAN_COMPILE and _LANES_PER_NEIGHBOR * n_nearest <= len(rows)
        self._coarse = _Screen.from_rows(self.rows, n_nearest, np.float32) if wants_few else None
        self._max_candidates = 2 * n_nearest + len(rows) // 16

    def __call__(self, queries: FloatArray) -> tuple[IntArray, FloatArray]:
        """Indices of the nearest rows of each query, and their distances."""
        queries = np.ascontiguousarray(queries, dtype=np.float64)
        shape = (len(queries), self.n_nearest)
        indices, squares = np.zeros(shape, dtype=np.int64), np.zeros(shape)
        remaining: IntArray = np.arange(len(queries))
        if self._coarse is not None and remaining.size:
            found = indices, squares
            remaining = self._by_screen(
                self._coarse, self._max_candidates, queries, remaining, *found
            )
            if remaining.size:
                remaining = self._by_screen(self._fine, len(self.rows), queries, remaining, *found)
        _nearest_of_all(self.rows, queries, remaining, indices, squares)
        return indices, np.sqrt(squares)

    @cached_property
    def _fine(self) -> _Screen:
        """The screen in float64, prepared only if it is needed."""
        return cast("_Screen", _Screen.from_rows(self.rows, self.n_nearest, np.float64))

    def _by_screen(
        self,
        screen: _Screen,
        max_candidates: int,
        queries: FloatArray,
        wanted: IntArray,
        indices: IntArray,
        squares: FloatArray,
    ) -> IntArray:
        """Fill in the results of the wanted queries; return those with too many candidates."""
        coefficients, offsets = screen.coefficients(queries[wanted])
        n_chunk = min(max(16, _CHUNK_ENTRIES // screen.slack.size), len(wanted))
        bounds = np.empty((n_chunk, *screen.slack.shape), dtype=screen.slack.dtype)
        unresolved = []
        for start in range(0, len(wanted), n_chunk):
            chunk = wanted[start : start + n_chunk]
            part = slice(start, start + len(chunk))
            # Always into the same memory, because it stays in the cache.
            flat = bounds[: len(chunk)].reshape(len(chunk), -1)
            np.matmul(coefficients[part], screen.factors, out=flat)
            left_out = _nearest_candidates(
                bounds,
                offsets[part],
                screen.slack,
                self.rows,
                queries,
                chunk,
                max_candidates,
                indices,
                squares,
            )
            unresolved.append(chunk[left_out])
        return np.concatenate(unresolved)


@dataclass(frozen=True)
class _Screen:
    """Bounds of squared distances to the rows, by one matrix product.

    All are in units of the rows' spread about their center. ``factors`` holds the rows as columns,
    and in the last line their squared norms minus their share of the rounding. An upper bound is
    the lower bound plus ``slack``.
    """

    center: FloatArray
    scale: float
    factors: FloatArray
    slack: FloatArray
    rounding: float

    @classmethod
    def from_rows(cls, rows: FloatArray, n_nearest: int, dtype: DTypeLike) -> Self | None:
        """The screen of the rows, or None if their differences would overflow."""
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
        """Coefficients that give the lower bounds, and offsets to add to the upper bounds.

        The lower bounds are the coefficients times ``factors``. Lower and upper bounds leave out
        the query's own norm. If that is too large, the offset is so large that no row is excluded.
        """
        coefficients = np.ones((len(queries), len(self.factors)))
        with np.errstate(over="ignore", invalid="ignore"):
            coefficients[:, :-1] = (queries - self.center) * self.scale
            norms = np.square(coefficients[:, :-1]).sum(axis=1)
        too_large = ~(norms <= _MAX_NORM)
        coefficients[too_large, :-1], norms[too_large] = 0.0, 0.0
        coefficients[:, :-1] *= -2.0
        offsets = 2.0 * self.rounding * norms + _UNDERFLOW
        offsets[too_large] = 0.1 * _OUT_OF_REACH
        dtype: Any = self.factors.dtype
        return coefficients.astype(dtype), offsets.astype(dtype)


@compiled
def _squared_distance(rows: FloatArray, row: int, queries: FloatArray, query: int) -> float:
    """``|x - y|^2`` from the differences, in four independent sums, which is faster than one."""
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


def _plain_nearest_of_all(
    rows: FloatArray, queries: FloatArray, wanted: IntArray, indices: IntArray, squares: FloatArray
) -> None:
    n_chunk = max(1, _CHUNK_ENTRIES // len(rows))
    for start in range(0, len(wanted), n_chunk):
        chunk = wanted[start : start + n_chunk]
        measured = cdist(queries[chunk], rows, "sqeuclidean")
        order = np.argsort(measured, axis=1, kind="stable")[:, : indices.shape[1]]
        indices[chunk], squares[chunk] = order, np.take_along_axis(measured, order, axis=1)


@compiled_or(_plain_nearest_of_all)
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
    chunk: IntArray,
    max_candidates: int,
    indices: IntArray,
    squares: FloatArray,
) -> IntArray:
    """Fill in the nearest rows of the queries of a chunk, except queries with many candidates.

    Returns the positions in the chunk of the queries with more than ``max_candidates``.
    """
    candidates = np.empty(slack.size + 1, dtype=np.int64)
    measured = np.empty(slack.size)
    left_out = np.empty(chunk.size, dtype=np.int64)
    n_left_out = 0
    for i in range(chunk.size):
        cutoff = _kth_upper_bound(bounds[i], slack, rows.shape[0], indices.shape[1]) + offsets[i]
        n_candidates = _rows_within(bounds[i].reshape(-1, _GROUP), cutoff, candidates)
        if n_candidates > max_candidates:
            left_out[n_left_out] = i
            n_left_out += 1
            continue
        found = candidates[:n_candidates]
        for k in range(n_candidates):
            measured[k] = _squared_distance(rows, found[k], queries, chunk[i])
        _select(found, measured[:n_candidates], chunk[i], indices, squares)
    return left_out[:n_left_out]


@compiled
def _kth_upper_bound(bounds: FloatArray, slack: FloatArray, n_rows: int, n_nearest: int) -> Any:
    """Bound on the K-th smallest upper bound: at least that, and little more.

    It is the K-th smallest of the lanes' smallest upper bounds, or a little above that.
    """
    smallest = bounds[0] + slack[0]
    for step in range(1, bounds.shape[0]):
        for lane in range(smallest.size):
            upper = bounds[step, lane] + slack[step, lane]
            smallest[lane] = upper if upper < smallest[lane] else smallest[lane]
    # Lanes with padding only are left out of the maximum.
    return _kth_bound(smallest, n_nearest, smallest[:n_rows].max())


@compiled
def _kth_bound(values: FloatArray, n_nearest: int, largest: float) -> Any:
    """Bound on the K-th smallest value: at least that, at most ``largest``, and little more.

    Found by bisection. It counts without branches, because the processor cannot predict them.
    """
    low, high = values.min(), largest
    half = values.dtype.type(0.5)  # in the precision of the values, so comparisons are, too
    for _ in range(_MAX_BISECTIONS):
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
        for j in range(bounds.shape[1]):  # usually none is, and this loop is fast
            n_within += np.int32(bounds[group, j] <= cutoff)
        if n_within > 0:
            for j in range(bounds.shape[1]):  # without branches: they cannot be predicted
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
    """Write the nearest candidates, sorted by distance and then index; candidates ascend."""
    if candidates.size > _MAX_COMPARED and indices.shape[1] > _MAX_INSERTED:
        _select_many(candidates, squares_of_candidates, query, indices, squares)
        return
    n_nearest = indices.shape[1]
    for i in range(candidates.size):
        square = squares_of_candidates[i]
        place = min(i, n_nearest)
        if candidates.size <= _MAX_COMPARED:
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
    """The same by sorting, without most of the candidates beyond the K-th if these are many."""
    n_nearest = indices.shape[1]
    if candidates.size > 2 * n_nearest:
        cutoff = _kth_bound(squares_of_candidates, n_nearest, squares_of_candidates.max())
        within = np.flatnonzero(squares_of_candidates <= cutoff)
        candidates, squares_of_candidates = candidates[within], squares_of_candidates[within]
    order = np.argsort(squares_of_candidates, kind="mergesort")  # stable
    for place in range(n_nearest):
        squares[query, place] = squares_of_candidates[order[place]]
        indices[query, place] = candidates[order[place]]
