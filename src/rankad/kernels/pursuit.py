"""Fewer centers for a given function, by greedy pursuit in the kernel's space.

At a wide sigma neighboring kernels are nearly the same function. So a few dozen kernels can express
a sum of hundreds. The pursuit picks centers one by one, always the center whose kernel lowers the
distance to g the most, and projects g onto the picked kernels. Because k(x, x) = 1, no score
changes by more than that distance,

    sup |g - g'| <= |g - g'|_H.

The projection is in an orthonormal (Newton) basis v_1, v_2, ... of the picked kernels, as in a
pivoted Cholesky factorization. With s kernels picked, the next one costs one column of K and
O(n s).
"""

from dataclasses import dataclass
from math import sqrt

import numpy as np
import scipy.linalg

from rankad._typing import FloatArray, IntArray

#: A kernel is not picked if its squared distance to the span of the picked ones is below this.
_SMALLEST_REMAINDER = 1e-12


@dataclass(frozen=True, eq=False)
class Pursuit:
    """Indices of the picked centers, their weights, and a bound on the change of any score."""

    picked: IntArray
    weights: FloatArray
    error_bound: float


def effective_rank(gram: FloatArray) -> float:
    """Effective number of different kernels, ``trace(K)^2 / |K|_F^2``, from 1 to n.

    >>> effective_rank(np.eye(5)), effective_rank(np.ones((5, 5)))
    (5.0, 1.0)
    """
    return float(np.trace(gram) ** 2 / np.square(gram).sum())


def pursue(
    gram: FloatArray, weights: FloatArray, *, tolerance: float, n_max: int
) -> Pursuit | None:
    """Approximate ``g = sum_j weights_j k(c_j, .)`` with at most ``n_max`` of its centers c_j.

    ``gram`` is the kernel matrix of the centers. The result is None if ``n_max`` centers do not
    come within ``tolerance`` of g, or if the norm of g is at most ``tolerance``.

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
    change = weights.copy()
    change[indices] -= new_weights
    error_bound = _norm_bound(change, gram)
    return Pursuit(indices, new_weights, error_bound) if error_bound <= 2.0 * tolerance else None


def _norm_bound(coefficients: FloatArray, gram: FloatArray) -> float:
    """Norm of a function in the kernel's space, plus what rounding may hide.

    It is computed from the coefficients, because the error summed up step by step in the pursuit
    is no more exact than its roundings.
    """
    magnitude = np.abs(coefficients)
    rounding = np.finfo(np.float64).eps * float(magnitude @ gram @ magnitude)
    return sqrt(max(float(coefficients @ gram @ coefficients), 0.0) + rounding)
