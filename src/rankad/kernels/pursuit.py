"""Fewer centers for a given function, by greedy pursuit in the kernel's space.

At a wide sigma neighboring kernels are nearly the same function, and a sum of hundreds can be
written with a few dozen. The pursuit picks one center after another, always the one whose kernel
lowers the distance to g the most, and projects g onto the kernels picked. It ends with a
certificate: as k(x, x) = 1, no score changes by more than that distance,

    sup |g - g'| <= |g - g'|_H.

The projection is kept in an orthonormal (Newton) basis v_1, v_2, ... of the picked kernels, as in a
pivoted Cholesky factorization: picking one costs one column of K and O(n s).
"""

from dataclasses import dataclass
from math import sqrt

import numpy as np
import scipy.linalg

from rankad._typing import FloatArray, IntArray

#: Pursuit stops where what is left of a kernel's own norm is rounding.
_SMALLEST_REMAINDER = 1e-12


@dataclass(frozen=True, eq=False)
class Pursuit:
    """Centers picked, by index, their weights, and how far the functions are apart at most."""

    picked: IntArray
    weights: FloatArray
    error_bound: float


def effective_rank(gram: FloatArray) -> float:
    """How many really different kernels there are: ``trace(K)^2 / |K|_F^2``, from 1 to n.

    >>> effective_rank(np.eye(5)), effective_rank(np.ones((5, 5)))
    (5.0, 1.0)
    """
    return float(np.trace(gram) ** 2 / np.square(gram).sum())


def pursue(
    gram: FloatArray, weights: FloatArray, *, tolerance: float, n_max: int
) -> Pursuit | None:
    """Write ``g = sum_j weights_j k(c_j, .)`` with at most ``n_max`` of its centers c_j.

    ``gram`` is the kernel matrix of the centers. None where so few do not come within
    ``tolerance``, and where g itself is not above it.

    >>> line = np.linspace(0.0, 1.0, 50)
    >>> gram = np.exp(-np.subtract.outer(line, line) ** 2 / 25)
    >>> found = pursue(gram, np.ones(50), tolerance=1e-3, n_max=25)
    >>> len(found.picked), bool(found.error_bound <= 1e-3)
    (3, True)
    """
    residual = gram @ weights
    squared_error = float(weights @ residual)
    remainders = np.ones(len(gram))
    newton = np.empty((n_max, len(gram)))
    picked: list[int] = []
    coordinates: list[float] = []
    while squared_error > tolerance**2:
        is_new = remainders > _SMALLEST_REMAINDER
        gains = np.divide(residual**2, remainders, out=np.zeros(len(gram)), where=is_new)
        best = int(gains.argmax())
        if len(picked) == n_max or gains[best] == 0.0:
            return None
        n_picked = len(picked)
        vector = gram[best] - newton[:n_picked, best] @ newton[:n_picked]
        vector /= np.sqrt(remainders[best])
        coordinate = residual[best] / np.sqrt(remainders[best])
        newton[n_picked] = vector
        residual = residual - coordinate * vector
        remainders = remainders - vector**2
        remainders[best] = 0.0
        squared_error -= coordinate**2
        picked.append(best)
        coordinates.append(coordinate)
    if not picked:
        return None
    indices = np.array(picked, dtype=np.int64)
    triangle = newton[: len(picked), indices].T
    new_weights = scipy.linalg.solve_triangular(triangle, coordinates, lower=True, trans="T")
    # Summed up step by step, the error would be as good as its roundings; so it is taken afresh,
    # with what rounding may hide.
    change = weights.copy()
    change[indices] -= new_weights
    magnitude = np.abs(change)
    rounding = np.finfo(np.float64).eps * float(magnitude @ gram @ magnitude)
    error_bound = sqrt(max(float(change @ gram @ change), 0.0) + rounding)
    return Pursuit(indices, new_weights, error_bound) if error_bound <= 2.0 * tolerance else None
