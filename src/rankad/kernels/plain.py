"""Kernel sums in plain NumPy: the functions of ``fused.py`` where numba cannot compile.

The scores are the same up to rounding. Distances come from differences, here too.
"""

from typing import Any

import numpy as np

from rankad._typing import FloatArray
from rankad.kernels.layout import Model, lanes_of

#: Entries of one work array.
_CHUNK_ENTRIES = 2**18


def fill_scores(scores: FloatArray, rows: FloatArray, model: Model) -> None:
    """Write the score of each row to ``scores``."""
    n_chunk = max(1, _CHUNK_ENTRIES // model.weights.size)
    for start in range(0, len(rows), n_chunk):
        chunk = slice(start, start + n_chunk)
        scores[chunk] = _scores(rows[chunk], model)


def score_of(row: FloatArray, model: Model) -> Any:
    """Score of one row; NaN if the row has NaN."""
    return _scores(row[None], model)[0]


def rank_of(row: FloatArray, model: Model, reference: FloatArray) -> int:
    """Number of sorted reference scores at most the row's score; -1 if the row has NaN."""
    score = score_of(row, model)
    return -1 if np.isnan(score) else int(np.searchsorted(reference, score, side="right"))


def fill_kernels(
    kernels: FloatArray,
    rows: FloatArray,
    factor: float,
    centers: FloatArray,
    powers: FloatArray,
    zero_exponent: float,
) -> None:
    """Write the kernels of each row of ``rows * factor`` with the centers to ``kernels``."""
    tiles = _by_feature(centers, rows.shape[1])
    n_chunk = max(1, _CHUNK_ENTRIES // kernels.shape[1])
    for start in range(0, len(rows), n_chunk):
        chunk = slice(start, start + n_chunk)
        exponents = _exponents((rows[chunk] * factor).astype(centers.dtype), tiles)
        kernels[chunk] = np.where(exponents < zero_exponent, np.exp2(-exponents), 0.0)


def _scores(rows: FloatArray, model: Model) -> FloatArray:
    dtype, tiles = model.weights.dtype, _by_feature(model.centers, rows.shape[1])
    with np.errstate(over="ignore", invalid="ignore"):
        placed = (rows - model.offset) * model.factor
    has_nan = np.isnan(placed).any(axis=1)
    coordinates = np.clip(np.where(np.isnan(placed), 0.0, placed), -model.limit, model.limit)
    coordinates = coordinates.astype(dtype)
    exponents = _exponents(coordinates, tiles)
    terms = _kernels(exponents, model) * model.weights
    nearest, sums = exponents.min(axis=1), terms.sum(axis=1)
    if model.outward is not None:
        sums = _after_outward_step(sums, terms, coordinates, tiles, model.outward)
    with np.errstate(invalid="ignore"):  # without a far field, infinity is nowhere exceeded
        scores = np.where(nearest > model.far, model.floor - model.slope * nearest, sums)
    scores[has_nan] = np.nan
    return np.asarray(scores, dtype=dtype)


def _by_feature(centers: FloatArray, n_features: int) -> FloatArray:
    """Centers from tiles to shape ``(n_features, n_centers)``, padding included."""
    tiles = centers.reshape(-1, n_features, lanes_of(centers.dtype))
    return tiles.transpose(1, 0, 2).reshape(n_features, -1)


def _exponents(coordinates: FloatArray, tiles: FloatArray) -> FloatArray:
    """Squared distances, shape ``(n_rows, n_centers)``, added feature by feature."""
    exponents = np.zeros((len(coordinates), tiles.shape[1]), dtype=tiles.dtype)
    for column, centers in zip(coordinates.T, tiles, strict=True):
        exponents += np.square(column[:, None] - centers)
    return exponents


def _kernels(exponents: FloatArray, model: Model) -> FloatArray:
    """Kernels, less the shift of 1 if there is one, with all digits at small exponents."""
    is_reached = exponents <= model.cutoff
    within = np.where(is_reached, exponents, exponents.dtype.type(0))
    if model.shift is None:
        kernels, out_of_reach = np.exp2(-within), within.dtype.type(0)
    else:
        kernels, out_of_reach = np.expm1(-within * within.dtype.type(np.log(2.0))), -model.shift
    return np.asarray(np.where(is_reached, kernels, out_of_reach))


def _after_outward_step(
    sums: FloatArray, terms: FloatArray, coordinates: FloatArray, tiles: FloatArray, outward: float
) -> FloatArray:
    """``sum exp(-outward |v|^2)`` where the sum is positive, v the mean step to the centers."""
    is_positive = sums > 0
    totals = np.where(is_positive, sums, 1.0).astype(np.float64)
    squares = np.zeros(len(sums))
    with np.errstate(over="ignore"):
        for column, centers in zip(coordinates.T, tiles, strict=True):
            shifts = (terms * (column[:, None] - centers)).sum(axis=1)
            squares += (shifts.astype(np.float64) / totals) ** 2
        stepped = totals * np.exp(-outward * squares)
    return np.asarray(np.where(is_positive, stepped, sums), dtype=sums.dtype)
