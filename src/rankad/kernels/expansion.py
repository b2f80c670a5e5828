"""The scoring function: a frozen sum of Gaussian kernels, with a far field."""

from dataclasses import dataclass, fields, replace
from functools import cached_property
from math import e, log, sqrt
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from rankad._rounding import Rounding
from rankad._threads import share_out
from rankad._typing import FloatArray
from rankad.kernels.layout import LOG2_E, Model, power_constants, unit_factor, zero_exponent
from rankad.kernels.sums import fill_scores, rank_of, score_of
from rankad.kernels.tiles import CenterTiles

_DTYPES = (np.dtype(np.float64), np.dtype(np.float32))

#: The far field begins where the kernel of the nearest center is below this.
DEAD_KERNEL = 1e-6

#: A kernel sum is rounded by at most this times the precision times the largest sum of its terms
#: without their signs. Sums in another order differ by less than an eighth of it, for narrow and
#: for very wide kernels.
_ROUNDING_UNITS = 64.0

#: Number of centers at which that largest sum is searched.
_N_PROBES = 200

#: Multiplications in one chunk of rows: about two milliseconds of one thread.
_OPERATIONS_PER_CHUNK = 10_000_000

#: With a far field, a kernel counts as 0 if it is 2^-40 (1e-12) times as large as at the radius, or
#: smaller. It is negligible, because the sum is used only if a center is within the radius.
_BEYOND_FAR = 40.0


@dataclass(frozen=True)
class FarField:
    """The scores of points farther than a radius from every center.

    Far from all centers the kernel sum underflows, so far points would tie at 0. Their order and
    the smallest p-values would be lost. Beyond ``radius`` (in units of sigma) the score is instead
    ``floor - (d / sigma)^2``, with d the distance to the nearest center. That is below every score
    within the radius, and falls without limit.
    """

    radius: float
    floor: float

    @classmethod
    def below(cls, weights: FloatArray, dead_kernel: float = DEAD_KERNEL) -> "FarField":
        """Far field whose scores are below every kernel sum with these weights.

        Kernels are at most 1, so a kernel sum is at least the sum of its negative weights.

        >>> FarField.below(np.array([2.0, -0.5]), dead_kernel=np.exp(-9.0))
        FarField(radius=3.0, floor=-0.5)
        """
        floor = float(np.minimum(weights, 0.0).sum(dtype=np.float64))
        return cls(radius=sqrt(-log(dead_kernel)), floor=floor)

    def applied(self, sums: FloatArray, nearest: FloatArray) -> FloatArray:
        """Scores, given kernel sums and the distances to the nearest center in units of sigma."""
        return np.where(nearest > self.radius, self.floor - nearest**2, sums)


@dataclass(frozen=True, eq=False, repr=False)
class KernelExpansion:
    """``g(x) = sum_j weights_j exp(-|x - centers_j|^2 / sigma^2)``: arrays in, scores out.

    The score of a row is the same to the last bit in every batch and with any number of threads.
    The arithmetic is that of ``centers`` (float64 or float32). Only the shape of rows is checked. A
    row with NaN gets the score NaN.

    Parameters
    ----------
    centers : array of shape (n_centers, n_features)
    weights : array of shape (n_centers,)
    sigma : float
        Width of the kernel.
    centered : bool
        Subtract 1 from every kernel value. This shifts g by a constant, which is 0 if the weights
        sum to 0. It keeps the digits of g if sigma is so wide that all kernels are nearly 1.
    far_field : FarField, optional
        Scores of points beyond the reach of every center.
    offset, scale : array of shape (n_features,), optional
        Rows x are scored at ``(x - offset) / scale``. The centers and sigma are in those units.
    outward : float
        Within reach of the centers, if g(x) is positive, the score is ``g(x) exp(-outward |v|^2 /
        sigma^2)``. Here v is the mean of ``x - centers_j`` weighted by the terms of the sum. v is
        short between the centers, long beside them, and points away from them. So the point is
        scored a little further out than it is: to first order at ``x + outward / 2 * v``. 0 is the
        plain sum.

    Examples
    --------
    >>> g = KernelExpansion(np.array([[0.0]]), np.array([1.0]), sigma=1.0)
    >>> g(np.array([[0.0], [1.0], [30.0]]))
    array([1.        , 0.36787944, 0.        ])
    >>> g.score(np.array([1.0]))
    0.36787944117144233

    Two points have the same sum. An outward step lowers the score of the one beside the centers:

    >>> centers, weights = np.array([[-1.0], [1.0]]), np.array([1.0, 1.0])
    >>> among_and_beside = np.array([[0.0], [1.55]])
    >>> KernelExpansion(centers, weights, sigma=1.0)(among_and_beside).round(2)
    array([0.74, 0.74])
    >>> KernelExpansion(centers, weights, sigma=1.0, outward=2.0)(among_and_beside).round(2)
    array([0.74, 0.4 ])
    """

    centers: FloatArray
    weights: FloatArray
    sigma: float
    centered: bool = False
    far_field: FarField | None = None
    offset: FloatArray | None = None
    scale: FloatArray | None = None
    outward: float = 0.0

    def __post_init__(self) -> None:
        if self.centers.ndim != 2 or self.weights.shape != self.centers.shape[:1]:
            raise ValueError(
                "centers must be (n_centers, n_features) and weights (n_centers,); "
                f"got {self.centers.shape} and {self.weights.shape}."
            )
        if self.centers.size == 0:
            raise ValueError(
                "An expansion needs at least one center and one feature; got centers of shape "
                f"{self.centers.shape}."
            )
        if self.centers.dtype not in _DTYPES or self.weights.dtype != self.centers.dtype:
            raise ValueError(
                "centers and weights must both be float64, or both float32; "
                f"got {self.centers.dtype} and {self.weights.dtype}."
            )
        if not 0.0 < self.sigma < np.inf:
            raise ValueError(f"sigma must be positive and finite; got {self.sigma}.")
        if not (np.abs(self._center_coordinates) <= self._coordinate_limit).all():
            raise ValueError(
                f"sigma={self.sigma} is too small for centers as large as "
                f"{np.abs(self.centers).max():.3g}: distances overflow {self.centers.dtype}. Raise "
                "sigma, or scale the columns."
            )
        self._check_columns()
        self._check_outward()
        self._freeze()

    def _check_columns(self) -> None:
        for name in ("offset", "scale"):
            array = getattr(self, name)
            if array is not None and array.shape != (self.n_features,):
                raise ValueError(f"{name} must have shape ({self.n_features},); got {array.shape}.")
        if self.scale is not None and not (self.scale > 0.0).all():
            raise ValueError(f"scale must be positive; got {self.scale.min()}.")

    def _check_outward(self) -> None:
        if not 0.0 <= self.outward < np.inf:
            raise ValueError(f"outward must be finite and at least 0; got {self.outward}.")
        if self.outward and self.centered:
            raise ValueError(
                f"outward={self.outward} must be 0 with centered=True: a centered sum has no sign, "
                "and an outward step needs a positive sum."
            )

    def _freeze(self) -> None:
        for name in ("centers", "weights", "offset", "scale"):
            array = getattr(self, name)
            if array is not None:
                frozen = array.copy()
                frozen.setflags(write=False)
                object.__setattr__(self, name, frozen)

    def __repr__(self) -> str:
        outward = f"outward={self.outward:.4g}, " if self.outward else ""
        return (
            f"KernelExpansion({self.n_centers} centers, {self.n_features} features, "
            f"sigma={self.sigma:.4g}, {outward}{self.centers.dtype})"
        )

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._freeze()

    def __call__(self, points: FloatArray, n_jobs: int | None = None) -> FloatArray:
        """Score of each row of ``points``, shape ``(n,)``; higher is more nominal.

        The memory beside the scores does not grow with the number of rows. ``n_jobs`` threads share
        large batches.
        """
        if points.ndim != 2 or points.shape[1] != self.n_features:
            raise ValueError(f"Points must have shape (n, {self.n_features}); got {points.shape}.")
        scores = np.empty(len(points), dtype=self.centers.dtype)
        model = self._model
        share_out(
            lambda chunk: fill_scores(scores[chunk], _plain(points[chunk]), model),
            self._chunks(len(points)),
            n_jobs,
        )
        return scores

    def _chunks(self, n_rows: int) -> list[slice]:
        """Chunks of the rows, each large enough to pay for its share of a thread."""
        n_each = max(_OPERATIONS_PER_CHUNK // self.centers.size, 1)
        return [slice(start, start + n_each) for start in range(0, n_rows, n_each)]

    def score(self, point: FloatArray) -> float:
        """Score of one point, shape ``(n_features,)``, in microseconds."""
        return float(score_of(self._row(point), self._model))

    def rank(self, point: FloatArray, sorted_scores: FloatArray) -> int:
        """Number of ``sorted_scores`` (ascending) at most the point's; -1 if it has NaN."""
        return int(rank_of(self._row(point), self._model, _plain(sorted_scores)))

    @property
    def n_centers(self) -> int:
        """Number of kernels in the sum."""
        return len(self.weights)

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return int(self.centers.shape[1])

    def rounding(self, row_rounding: float = 0.0) -> Rounding:
        """By how much two computations of a score may differ.

        Each value of a row may differ by ``row_rounding``. The slope of a kernel is at most
        ``sqrt(2 / e) / sigma``, that of the far field ``2 radius / sigma`` where it begins. An
        outward step multiplies a rounding by at most the factor below.
        """
        total = float(np.abs(self.weights).sum(dtype=np.float64))
        largest = total if self.centered else self._largest_sum_of_magnitudes()
        radius = 0.0 if self.far_field is None else self.far_field.radius
        slope = (total * sqrt(2.0 / e) + 2.0 * radius) / self.sigma
        row_change = slope * row_rounding * sqrt(self.n_features)
        sum_rounding = _ROUNDING_UNITS * float(np.finfo(self.centers.dtype).eps) * largest
        factor = 2.0 + 4.0 * sqrt(self.outward) if self.outward else 1.0
        return Rounding.in_precision(self.centers.dtype, factor * (sum_rounding + row_change))

    def _largest_sum_of_magnitudes(self) -> float:
        """Largest kernel sum of the weights without their signs, at some of the centers."""
        magnitudes = KernelExpansion(self.centers, np.abs(self.weights), self.sigma)
        return float(magnitudes(self.centers[:: -(-self.n_centers // _N_PROBES)]).max())

    def astype(self, dtype: DTypeLike) -> "KernelExpansion":
        """The same expansion in another floating-point type."""
        return replace(self, centers=self.centers.astype(dtype), weights=self.weights.astype(dtype))

    def on_columns(self, offset: FloatArray, scale: FloatArray) -> "KernelExpansion":
        """The same function of rows x before they are scaled to ``(x - offset) / scale``."""
        return replace(self, offset=offset, scale=scale)

    def _row(self, point: FloatArray) -> FloatArray:
        row = _plain(np.asarray(point))
        if row.shape != (self.n_features,):
            raise ValueError(f"A point must have shape ({self.n_features},); got {row.shape}.")
        return row

    @cached_property
    def _model(self) -> Model:
        far = self.far_field
        far_exponent = np.inf if far is None else far.radius**2 * LOG2_E
        cutoff = min(far_exponent + _BEYOND_FAR, zero_exponent(self.centers.dtype))
        tiles = CenterTiles.from_centers(
            self._center_coordinates,
            self.weights,
            # A centered kernel is -1 out of reach, not 0, so no center may be skipped.
            reach=np.inf if self.centered else cutoff,
        )
        ones = np.ones(self.n_features)
        return Model(
            offset=0.0 * ones if self.offset is None else self.offset.copy(),
            factor=unit_factor(self.sigma) / (ones if self.scale is None else self.scale),
            centers=tiles.centers,
            weights=tiles.weights,
            lower=tiles.lower,
            upper=tiles.upper,
            powers=power_constants(self.centers.dtype),
            shift=self._scalar(1.0) if self.centered else None,
            limit=self._scalar(self._coordinate_limit),
            cutoff=self._scalar(cutoff),
            zero_exponent=self._scalar(zero_exponent(self.centers.dtype)),
            far=self._scalar(far_exponent),
            floor=self._scalar(0.0 if far is None else far.floor),
            slope=self._scalar(1.0 / LOG2_E),
            outward=float(self.outward) / LOG2_E if self.outward else None,
        )

    @property
    def _center_coordinates(self) -> FloatArray:
        # Scaled by the same arithmetic as rows. So in float64 without offset and scale, the
        # distance of a center to itself is 0.
        with np.errstate(over="ignore"):
            coordinates = self.centers.astype(np.float64) * unit_factor(self.sigma)
            return np.asarray(coordinates.astype(self.centers.dtype))

    @property
    def _coordinate_limit(self) -> float:
        """Largest coordinate; larger ones are set to it, so that squared distances are finite."""
        largest = float(np.finfo(self.centers.dtype).max)
        return float(self._scalar(sqrt(largest / 16.0 / self.n_features)))

    def _scalar(self, value: float) -> Any:
        return self.centers.dtype.type(value)


def _plain(array: FloatArray) -> FloatArray:
    """The array in the one form that the compiled functions were compiled for."""
    flags = array.flags
    if array.dtype == np.float64 and flags.c_contiguous and flags.writeable:
        return array
    return np.array(array, dtype=np.float64, order="C")
