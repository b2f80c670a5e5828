"""Gaussian kernel matrices, ``k(x, y) = exp(-|x - y|^2 / sigma^2)``.

As in Remark 2 of the paper, the exponent has sigma^2, not 2 sigma^2.
"""

import numpy as np
from scipy.spatial.distance import cdist

from rankad._compiled import compiled_or
from rankad._typing import FloatArray, IntArray


def distances_between(points: FloatArray, others: FloatArray) -> FloatArray:
    """``|x - y|`` for all pairs of rows, from differences.

    ``|x|^2 - 2xy + |y|^2`` would be faster, but cancels.

    >>> distances_between(np.array([[0.0], [3.0]]), np.array([[1.0]]))
    array([[1.],
           [2.]])
    """
    return np.asarray(cdist(points, others))


def gaussian_gram(
    distances: FloatArray, sigma: float, *, centered: bool = False, overwrite: bool = False
) -> FloatArray:
    """Kernel matrix of distances; with ``centered``, minus 1 in every entry.

    If coefficients sum to zero, both matrices give the same function. At a wide sigma all kernel
    values are nearly 1, and only the centered matrix keeps the digits. With ``overwrite`` the
    matrix takes the memory of the distances, because new memory costs as much as the arithmetic.

    >>> gaussian_gram(np.array([[0.0, 2.0]]), sigma=2.0)
    array([[1.        , 0.36787944]])
    """
    with np.errstate(over="ignore"):  # at an infinite exponent the kernel is rightly 0
        exponents = np.divide(distances, sigma, out=distances if overwrite else None)
        np.square(exponents, out=exponents)
    np.negative(exponents, out=exponents)
    kernel = np.expm1 if centered else np.exp
    return np.asarray(kernel(exponents, out=exponents))


def _plain_submatrix(matrix: FloatArray, rows: IntArray, columns: IntArray) -> FloatArray:
    return np.asarray(matrix[np.ix_(rows, columns)])


@compiled_or(_plain_submatrix)
def submatrix(matrix: FloatArray, rows: IntArray, columns: IntArray) -> FloatArray:
    """``matrix[np.ix_(rows, columns)]``, but faster and without the interpreter lock.

    >>> submatrix(np.eye(3), np.array([0, 2]), np.array([2]))
    array([[0.],
           [1.]])
    """
    part = np.empty((rows.size, columns.size), dtype=matrix.dtype)
    for i in range(rows.size):
        for j in range(columns.size):
            part[i, j] = matrix[rows[i], columns[j]]
    return part
