"""Gaussian kernel matrices, ``k(x, y) = exp(-|x - y|^2 / sigma^2)`` (Remark 2: not 2 sigma^2)."""

import numpy as np
from sklearn.metrics.pairwise import euclidean_distances

from rankad._typing import FloatArray


def squared_distances(points: FloatArray, others: FloatArray | None = None) -> FloatArray:
    """``|x - y|^2`` for all pairs; zero on the diagonal where ``others`` is left out.

    >>> squared_distances(np.array([[0.0], [3.0]]), np.array([[1.0]]))
    array([[1.],
           [4.]])
    """
    # Expanded as |x|^2 - 2xy + |y|^2, which cancels least about the mean.
    center = points.mean(axis=0)
    shifted = None if others is None else others - center
    return np.asarray(euclidean_distances(points - center, shifted, squared=True))


def gaussian_gram(squared: FloatArray, sigma: float, *, centered: bool = False) -> FloatArray:
    """Kernel matrix of squared distances; ``centered`` subtracts 1, without losing digits.

    Where coefficients sum to zero the two give the same function, and at a wide sigma, where all
    kernel values are nearly 1, only the centered one keeps its digits.

    >>> gaussian_gram(np.array([[0.0, 4.0]]), sigma=2.0)
    array([[1.        , 0.36787944]])
    """
    exponents = squared / -(sigma**2)
    kernel = np.expm1 if centered else np.exp
    return np.asarray(kernel(exponents, out=exponents))
