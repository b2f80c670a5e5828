"""Compiled kernel sums, one row at a time.

Row by row, rather than by one matrix product over the batch: a matrix product rounds differently
for different batch sizes, and a reference score that ties with its own duplicate must not lose the
tie by an ulp.
"""

from math import exp, expm1
from typing import Any

import numpy as np

from rankad._compiled import compiled
from rankad._typing import FloatArray


@compiled
def kernel_sums(
    points: FloatArray,
    inverse_width: Any,
    centers_by_column: FloatArray,
    weights: FloatArray,
    centered: bool,
    far_exponent: Any,
    floor: Any,
    coordinate_limit: Any,
) -> FloatArray:
    """Scores of a `KernelExpansion`; ``centers_by_column`` are in units of sigma, transposed.

    The far field holds where even the nearest center's exponent exceeds ``far_exponent``.
    """
    n_points, n_features = points.shape
    n_centers = weights.size
    scores = np.empty(n_points, dtype=points.dtype)
    exponents = np.empty(n_centers, dtype=points.dtype)
    for i in range(n_points):
        exponents[:] = 0
        for k in range(n_features):
            x = min(max(points[i, k] * inverse_width, -coordinate_limit), coordinate_limit)
            for j in range(n_centers):
                difference = x - centers_by_column[k, j]
                exponents[j] += difference * difference
        nearest = exponents.min()
        if nearest > far_exponent:
            scores[i] = floor - nearest
            continue
        total = points.dtype.type(0)
        if centered:
            for j in range(n_centers):
                total += weights[j] * expm1(-exponents[j])
        else:
            for j in range(n_centers):
                total += weights[j] * exp(-exponents[j])
        scores[i] = total
    return scores
