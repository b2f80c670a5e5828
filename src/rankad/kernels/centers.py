"""Few centers for many points: their places, distances to them, and features made of them."""

from dataclasses import dataclass

import numpy as np

from rankad._progress import track
from rankad._threads import one_thread_each
from rankad._typing import FloatArray
from rankad.kernels.gram import distances_between, gaussian_gram
from rankad.kernels.layout import power_constants, unit_factor, zero_exponent
from rankad.kernels.sums import fill_kernels
from rankad.kernels.tiles import by_feature, filled_tiles

#: k-means and the mean distance to a center use a sample of this many points per center, and of at
#: least this many points in all.
_POINTS_PER_CENTER = 50
_MIN_SAMPLE = 10_000

#: Iterations of k-means. They are few, because centers need to cover the points, not be optimal.
_MAX_ITER = 30

#: Entries of one chunk of a kernel matrix. This bounds the memory beside the result.
_CHUNK_ENTRIES = 2**20

#: Eigenvalues below this share of the largest one are dropped, with their eigenvectors.
_NEGLIGIBLE = 1e-12


def kmeans_centers(points: FloatArray, n_centers: int, rng: np.random.RandomState) -> FloatArray:
    """Distinct centers that cover the points evenly, by k-means on a sample of the points.

    Random points as centers would leave thin regions without a center. There may be fewer than
    ``n_centers`` if the sample has fewer distinct points.

    >>> points = np.array([[0.0], [0.2], [9.8], [10.0]])
    >>> np.sort(kmeans_centers(points, 2, np.random.RandomState(0)), axis=0)
    array([[0.1],
           [9.9]])
    """
    # Imported here, because it takes a quarter of a second and only large data need it.
    from sklearn.cluster import KMeans

    sample = _sample(points, n_centers, rng)
    distinct = np.unique(sample, axis=0)
    if len(distinct) <= n_centers:
        return distinct.astype(np.float64)
    # OpenMP's threads do not survive a fork: a forked process that needs them would hang.
    with one_thread_each():
        kmeans = KMeans(n_centers, n_init=1, max_iter=_MAX_ITER, random_state=rng).fit(sample)
    return np.unique(kmeans.cluster_centers_.astype(np.float64), axis=0)


def mean_center_distance(
    points: FloatArray, centers: FloatArray, rng: np.random.RandomState
) -> float:
    """Mean over a sample of the points of the distance to the nearest center."""
    return float(center_distances(_sample(points, len(centers), rng), centers).mean())


def center_distances(points: FloatArray, centers: FloatArray) -> FloatArray:
    """Distance of each point to its nearest center."""
    chunk = max(1, _CHUNK_ENTRIES // len(centers))
    nearest = [
        distances_between(points[start : start + chunk], centers).min(axis=1)
        for start in range(0, len(points), chunk)
    ]
    return np.concatenate([*nearest, np.empty(0)])


def _sample(points: FloatArray, n_centers: int, rng: np.random.RandomState) -> FloatArray:
    """Random sample of the points, large enough for so many centers."""
    n_max = max(_POINTS_PER_CENTER * n_centers, _MIN_SAMPLE)
    if len(points) <= n_max:
        return points
    return points[rng.choice(len(points), n_max, replace=False)]


@dataclass(frozen=True, eq=False)
class CenterFeatures:
    """Orthonormal coordinates of the functions ``sum_j a_j k(c_j, .)``.

    With ``U = K_cc^-1/2`` (by eigendecomposition, without negligible eigenvalues), the features of
    a point are ``z(x) = U' k(centers, x)``. A function with coordinates w has the values
    ``w'z(x)``, the norm ``|w|`` and the coefficients ``a = U w``.
    """

    centers: FloatArray
    sigma: float
    basis: FloatArray

    @classmethod
    def from_centers(cls, centers: FloatArray, sigma: float) -> "CenterFeatures":
        """Features for these centers, in float64."""
        centers = np.asarray(centers, dtype=np.float64)
        gram = gaussian_gram(distances_between(centers, centers), sigma)
        with one_thread_each():  # on a busy machine, more threads wait for each other
            eigenvalues, eigenvectors = np.linalg.eigh(gram)
        is_kept = eigenvalues > _NEGLIGIBLE * eigenvalues[-1]
        return cls(centers, sigma, eigenvectors[:, is_kept] / np.sqrt(eigenvalues[is_kept]))

    def __call__(self, points: FloatArray) -> FloatArray:
        """Features of each point, shape ``(n, r)``, with bounded memory beside the result."""
        factor = unit_factor(self.sigma)
        tiles = filled_tiles(self.centers * factor)
        n_filled = len(tiles) * tiles.shape[1]
        basis = np.zeros((n_filled, self.basis.shape[1]))
        basis[: len(self.centers)] = self.basis
        centers, constants = by_feature(tiles), power_constants(np.float64)
        features = np.empty((len(points), self.basis.shape[1]))
        kernels = np.empty((min(len(points), max(1, _CHUNK_ENTRIES // n_filled)), n_filled))
        starts = range(0, len(points), max(len(kernels), 1))
        for start in track(starts, len(starts), "features of the rows"):
            rows = np.ascontiguousarray(points[start : start + len(kernels)])
            part = kernels[: len(rows)]
            fill_kernels(part, rows, factor, centers, constants, zero_exponent(np.float64))
            np.matmul(part, basis, out=features[start : start + len(rows)])
        return features

    def coefficients(self, coordinates: FloatArray) -> FloatArray:
        """Weights of the centers for the function with these coordinates."""
        return np.asarray(self.basis @ coordinates)
