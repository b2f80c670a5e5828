"""Compiled kernel sums, one row at a time.

One matrix product for a batch of rows would round differently for different batch sizes. Then a row
equal to a reference row could get a different score, and the tie would be lost. So rows are scored
one by one. Distances come from differences of coordinates, so nothing cancels if the data lie far
from the origin.

Coordinates are in units in which the kernel is ``2^-|x - c|^2``, so exponents need no further
factor. A kernel smaller than ``2^-cutoff`` counts as exactly 0. So tiles of centers whose box is
out of reach can be skipped without changing a bit of the sum.
"""

from math import exp
from typing import Any

import numpy as np

from rankad._compiled import compiled, inlined
from rankad._typing import FloatArray, IntArray
from rankad.kernels.layout import Model
from rankad.kernels.simd import (
    difference,
    lanes_in,
    larger,
    loaded,
    minimum_of,
    multiply_add,
    power_parts,
    shifted_down,
    smaller,
    splat,
    store,
    sum_of,
    where_at_most,
)

#: Digest of ``simd.py`` and ``layout.py``; a test compares it. Numba's cache notices changes of
#: this file only. So a change of these files must change this file, too.
SIMD_SHA256 = "946813107300af4b9fab4721f5ec189a0dc89f7601f34927de4542d11a448756"


@compiled
def fill_scores(scores: FloatArray, rows: FloatArray, model: Model) -> None:
    """Write the score of each row to ``scores``.

    Two rows are scored together, which loads each center once for both. If tiles are skipped, rows
    are scored one by one, because each row skips different tiles. The arithmetic of a row is the
    same in both cases.
    """
    reached = np.arange(model.weights.size // lanes_in(model.weights))
    one, other = np.empty((2, rows.shape[1]), dtype=model.weights.dtype)
    terms = _room_for_terms(model)
    other_terms = _room_for_terms(model)
    n_paired = 0 if model.lower.size else rows.shape[0] - rows.shape[0] % 2
    for i in range(0, n_paired, 2):
        one_has_nan = _place(one, rows[i], model)
        other_has_nan = _place(other, rows[i + 1], model)
        pair = _pair_of_kernel_sums(one, other, terms, other_terms, model)
        total, exponent = sum_of(pair[0]), minimum_of(pair[1])
        scores[i] = _finished(
            one_has_nan, total, exponent, one, terms, reached, reached.size, model
        )
        total, exponent = sum_of(pair[2]), minimum_of(pair[3])
        scores[i + 1] = _finished(
            other_has_nan, total, exponent, other, other_terms, reached, reached.size, model
        )
    for i in range(n_paired, rows.shape[0]):
        scores[i] = _score(rows[i], one, terms, reached, model)


@compiled
def score_of(row: FloatArray, model: Model) -> Any:
    """Score of one row; NaN if the row has NaN."""
    coordinates = np.empty(row.size, dtype=model.weights.dtype)
    reached = np.arange(model.weights.size // lanes_in(model.weights))
    terms = _room_for_terms(model)
    return _score(row, coordinates, terms, reached, model)


@compiled
def rank_of(row: FloatArray, model: Model, reference: FloatArray) -> int:
    """Number of sorted reference scores at most the row's score; -1 if the row has NaN."""
    score = score_of(row, model)
    return -1 if np.isnan(score) else np.searchsorted(reference, score, side="right")


@compiled
def fill_kernels(
    kernels: FloatArray,
    rows: FloatArray,
    factor: float,
    centers: FloatArray,
    powers: FloatArray,
    zero_exponent: float,
) -> None:
    """Write the kernels of each row of ``rows * factor`` with the centers to ``kernels``.

    ``centers`` are in tiles, see `by_feature`, so the rows of ``kernels`` are padded to whole
    vectors. From ``zero_exponent`` on kernels are 0.
    """
    lanes, largest = lanes_in(centers), splat(zero_exponent)
    coordinates = np.empty(rows.shape[1], dtype=centers.dtype)
    for i in range(rows.shape[0]):
        for k in range(rows.shape[1]):
            coordinates[k] = rows[i, k] * factor
        for first in range(0, kernels.shape[1], lanes):
            exponents = smaller(_exponents(coordinates, centers, first), largest)
            power, fraction = power_parts(exponents, powers)
            store(kernels[i], first, multiply_add(power, fraction, power))


@inlined
def _score(
    row: FloatArray, coordinates: FloatArray, terms: FloatArray, reached: IntArray, model: Model
) -> Any:
    has_nan = _place(coordinates, row, model)
    n_reached = reached.size
    if model.lower.size:
        n_reached = _reached_tiles(reached, coordinates, model)
    total, nearest = _kernel_sum(coordinates, terms, reached, n_reached, model)
    exponent = minimum_of(nearest)
    if exponent > model.far and n_reached < reached.size:
        exponent = _nearest(coordinates, model.centers)
    return _finished(
        has_nan, sum_of(total), exponent, coordinates, terms, reached, n_reached, model
    )


@inlined
def _place(coordinates: FloatArray, row: FloatArray, model: Model) -> bool:
    """Write the coordinates of a row, and return whether the row has NaN."""
    has_nan = False
    for k in range(row.size):
        coordinate = (row[k] - model.offset[k]) * model.factor[k]
        has_nan |= np.isnan(coordinate)
        coordinates[k] = min(max(coordinate, -model.limit), model.limit)
    return has_nan


@inlined
def _finished(
    has_nan: bool,
    total: Any,
    exponent: Any,
    coordinates: FloatArray,
    terms: FloatArray,
    reached: IntArray,
    n_reached: int,
    model: Model,
) -> Any:
    """The score, given the kernel sum, its terms and the exponent of the nearest center."""
    if has_nan:
        return model.weights.dtype.type(np.nan)
    if exponent > model.far:
        return model.floor - model.slope * exponent
    return _after_outward_step(
        total, coordinates, terms, reached, n_reached, model.centers, model.outward
    )


@compiled
def _after_outward_step(
    total: Any,
    coordinates: FloatArray,
    terms: FloatArray,
    reached: IntArray,
    n_reached: int,
    centers: FloatArray,
    outward: Any,
) -> Any:
    """``total exp(-outward |v|^2)`` if the total is positive, else the total unchanged.

    ``v = sum_j terms_j (x - c_j) / total`` is a sum of differences, so nothing cancels. It is
    divided, squared and multiplied in float64 even in a float32 expansion. In float64 ``outward``
    is neither 0 nor infinite, so an infinite square gives the score 0, not NaN.
    """
    if outward is None:  # known when this is compiled, so the rest is left out
        return total
    if not total > 0:
        return total
    squares, lanes = 0.0, lanes_in(centers)
    for k in range(coordinates.size):
        x, shift = splat(coordinates[k]), splat(coordinates.dtype.type(0))
        for index in range(n_reached):
            position = (reached[index] * coordinates.size + k) * lanes
            step = difference(x, loaded(centers, position))
            shift = multiply_add(loaded(terms, index * lanes), step, shift)
        squares += (np.float64(sum_of(shift)) / np.float64(total)) ** 2
    return coordinates.dtype.type(total * exp(-outward * squares))


@inlined
def _room_for_terms(model: Model) -> FloatArray:
    """Memory for the terms of a kernel sum; without an outward step nothing is written to it."""
    return model.weights if model.outward is None else np.empty_like(model.weights)


@inlined
def _kernel_sum(
    coordinates: FloatArray, terms: FloatArray, reached: IntArray, n_reached: int, model: Model
) -> Any:
    """Sum of the kernels of the reached tiles and the smallest exponents, both lane by lane.

    For an outward step, the terms of the sum are written to ``terms``.
    """
    weights, lanes = model.weights, lanes_in(model.weights)
    zero, infinity = splat(weights.dtype.type(0)), splat(weights.dtype.type(np.inf))
    total, nearest = zero, infinity
    for index in range(n_reached):
        first = reached[index] * lanes
        exponents = _exponents(coordinates, model.centers, first)
        nearest = smaller(exponents, nearest)
        weight, kernels = loaded(weights, first), _kernels(exponents, model)
        total = multiply_add(weight, kernels, total)
        if model.outward is not None:
            store(terms, index * lanes, multiply_add(weight, kernels, zero))
    return total, nearest


@inlined
def _pair_of_kernel_sums(
    one: FloatArray, other: FloatArray, terms: FloatArray, other_terms: FloatArray, model: Model
) -> Any:
    """Sums and smallest exponents of two rows over all tiles, as by `_kernel_sum` for each row."""
    centers, weights, lanes = model.centers, model.weights, lanes_in(model.weights)
    zero, infinity = splat(weights.dtype.type(0)), splat(weights.dtype.type(np.inf))
    total_of_one, nearest_to_one = zero, infinity
    total_of_other, nearest_to_other = zero, infinity
    for first in range(0, weights.size, lanes):
        from_one, from_other = zero, zero
        position = first * one.size
        for k in range(one.size):
            center = loaded(centers, position)
            step, other_step = (
                difference(splat(one[k]), center),
                difference(splat(other[k]), center),
            )
            from_one = multiply_add(step, step, from_one)
            from_other = multiply_add(other_step, other_step, from_other)
            position += lanes
        nearest_to_one = smaller(from_one, nearest_to_one)
        nearest_to_other = smaller(from_other, nearest_to_other)
        weight = loaded(weights, first)
        kernels, other_kernels = _kernels(from_one, model), _kernels(from_other, model)
        total_of_one = multiply_add(weight, kernels, total_of_one)
        total_of_other = multiply_add(weight, other_kernels, total_of_other)
        if model.outward is not None:
            store(terms, first, multiply_add(weight, kernels, zero))
            store(other_terms, first, multiply_add(weight, other_kernels, zero))
    return total_of_one, nearest_to_one, total_of_other, nearest_to_other


@inlined
def _kernels(exponents: Any, model: Model) -> Any:
    """Kernel values for the exponents of one tile."""
    within = where_at_most(exponents, splat(model.cutoff), exponents, splat(model.zero_exponent))
    power, fraction = power_parts(within, model.powers)
    return multiply_add(power, fraction, shifted_down(power, model.shift))


@inlined
def _exponents(coordinates: FloatArray, centers: FloatArray, first: int) -> Any:
    """Squared distances to the centers of the tile that begins with center ``first``."""
    lanes = lanes_in(centers)
    exponents = splat(coordinates.dtype.type(0))
    position = first * coordinates.size
    for k in range(coordinates.size):
        step = difference(splat(coordinates[k]), loaded(centers, position))
        exponents = multiply_add(step, step, exponents)
        position += lanes
    return exponents


@compiled
def _nearest(coordinates: FloatArray, centers: FloatArray) -> Any:
    """Exponent of the nearest of all centers."""
    nearest = splat(coordinates.dtype.type(np.inf))
    for first in range(0, centers.size // coordinates.size, lanes_in(centers)):
        nearest = smaller(_exponents(coordinates, centers, first), nearest)
    return minimum_of(nearest)


@compiled
def _reached_tiles(reached: IntArray, coordinates: FloatArray, model: Model) -> int:
    """Write the tiles whose box is within reach to ``reached``, and return their number.

    The bound is computed by the same operations as a distance, term by term. So rounding cannot
    make it larger than the distance to a center in the box.
    """
    lanes = lanes_in(coordinates)
    bounds = np.empty(lanes, dtype=coordinates.dtype)
    zero = splat(coordinates.dtype.type(0))
    n_reached = position = 0
    for first in range(0, reached.size, lanes):
        bound = zero
        for k in range(coordinates.size):
            x = splat(coordinates[k])
            below = difference(loaded(model.lower, position), x)
            above = difference(x, loaded(model.upper, position))
            gap = larger(larger(below, above), zero)
            bound = multiply_add(gap, gap, bound)
            position += lanes
        store(bounds, 0, bound)
        for lane in range(lanes):
            if bounds[lane] <= model.cutoff:
                reached[n_reached] = first + lane
                n_reached += 1
    return n_reached
