"""Memory layout of the centers of an expansion: tiles of neighboring centers, with boxes."""

from dataclasses import dataclass

import numpy as np

from rankad._typing import FloatArray, IntArray
from rankad.kernels.layout import VECTOR_BYTES, lanes_of

#: Boxes are used if the centers themselves are within reach of at most this share of the boxes, in
#: the mean.
_PAYING_SHARE = 0.6

#: Number of centers that this is measured on.
_N_PROBES = 200


@dataclass(frozen=True, eq=False)
class CenterTiles:
    """Centers and weights in tiles of one vector each, and boxes around them.

    Attributes
    ----------
    weights : array of shape (n_tiles * n_lanes,)
        The last tile is padded with copies of a center, of weight 0.
    centers : array of shape (n_tiles * n_features * n_lanes,)
        Tile by tile, feature by feature.
    lower, upper : array of shape (n_groups * n_features * n_lanes,)
        Corners of the box around each tile. A group has as many boxes as a vector has lanes, and
        the last group is padded with boxes at infinity. There are no groups if no tile is skipped.
    """

    weights: FloatArray
    centers: FloatArray
    lower: FloatArray
    upper: FloatArray

    @classmethod
    def from_centers(cls, centers: FloatArray, weights: FloatArray, reach: float) -> "CenterTiles":
        """Lay out centers whose kernels are 0 at squared distances above ``reach``.

        The boxes are kept only if many tiles are out of reach.
        """
        lanes = lanes_of(centers.dtype)
        order = neighborly_order(centers, lanes)
        in_tiles = filled_tiles(centers[order])
        tile_weights = np.zeros(len(in_tiles) * lanes, dtype=weights.dtype)
        tile_weights[: len(order)] = weights[order]
        lower, upper = in_tiles.min(axis=1), in_tiles.max(axis=1)
        if not _boxes_pay(centers, lower, upper, reach):
            lower = upper = np.empty((0, centers.shape[1]), dtype=centers.dtype)
        return cls(
            weights=_aligned(tile_weights),
            centers=by_feature(in_tiles),
            lower=_in_groups(lower, lanes),
            upper=_in_groups(upper, lanes),
        )


def neighborly_order(points: FloatArray, tile: int) -> IntArray:
    """Order of the points, by a k-d tree, in which every ``tile`` points lie close together.

    >>> neighborly_order(np.array([[0.0], [9.0], [1.0], [8.0], [7.0]]), tile=2)
    array([0, 2, 4, 3, 1])
    """
    parts, finished = [np.arange(len(points))], []
    while parts:
        part = parts.pop()
        if len(part) <= tile:
            finished.append(part)
            continue
        widest = int(np.ptp(points[part], axis=0).argmax())
        in_order = part[np.argsort(points[part, widest], kind="stable")]
        # Halved between two tiles, so that all tiles but the last are full.
        middle = tile * -(-len(part) // (2 * tile))
        parts += [in_order[middle:], in_order[:middle]]
    return np.concatenate(finished)


def _boxes_pay(centers: FloatArray, lower: FloatArray, upper: FloatArray, reach: float) -> bool:
    """Whether enough boxes are out of reach of a center to pay for the test of all boxes."""
    if len(lower) < 2 * lanes_of(centers.dtype) or reach == np.inf:
        return False
    probes = centers[:: -(-len(centers) // _N_PROBES)]
    shares = []
    for probe in probes:
        gaps = np.maximum(np.maximum(lower - probe, probe - upper), 0)
        shares.append(np.mean((gaps**2).sum(axis=1) <= reach))
    return bool(np.mean(shares) <= _PAYING_SHARE)


def filled_tiles(centers: FloatArray) -> FloatArray:
    """Centers in tiles of one vector, ``(n_tiles, n_lanes, n_features)``.

    The last tile is padded with copies of the last center.
    """
    lanes = lanes_of(centers.dtype)
    padding = np.repeat(centers[-1:], -len(centers) % lanes, axis=0)
    return np.concatenate([centers, padding]).reshape(-1, lanes, centers.shape[1])


def by_feature(tiles: FloatArray) -> FloatArray:
    """The tiles as a flat array for the compiled functions: tile by tile, feature by feature."""
    return _aligned(tiles.transpose(0, 2, 1).ravel())


def _aligned(array: FloatArray) -> FloatArray:
    """Copy that begins at a multiple of a vector's size, so that no load spans two cache lines."""
    space = np.empty(array.nbytes + VECTOR_BYTES, dtype=np.uint8)
    start = -space.ctypes.data % VECTOR_BYTES
    copy = space[start : start + array.nbytes].view(array.dtype)
    copy[:] = array
    return copy


def _in_groups(corners: FloatArray, lanes: int) -> FloatArray:
    """Corners of boxes in groups of one vector, feature by feature, padded with infinity."""
    n_missing = -len(corners) % lanes
    padding = np.full((n_missing, corners.shape[1]), np.inf, dtype=corners.dtype)
    padded = np.concatenate([corners, padding])
    return by_feature(padded.reshape(-1, lanes, corners.shape[1]))
