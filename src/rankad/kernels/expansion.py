"""The scoring function: a frozen sum of Gaussian kernels, with a far field."""

from dataclasses import dataclass, fields, replace
from functools import cached_property
from math import log, sqrt
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from rankad._typing import FloatArray
from rankad.kernels.fused import kernel_sums

_DTYPES = (np.dtype(np.float64), np.dtype(np.float32))

#: Kernel value below which a center no longer counts: the far field begins there.
DEAD_KERNEL = 1e-6


@dataclass(frozen=True)
class FarField:
    """The scores of points farther than a radius from every center.

    There the kernel sum has died: it underflows, far points tie at 0, and so their order, and with
    it the smallest p-values, are lost. Beyond ``radius`` (in units of sigma) the score is instead
    ``floor - (d / sigma)^2``, d the distance to the nearest center: below every score attained
    within the radius, and falling for ever.
    """

    radius: float
    floor: float

    @classmethod
    def below(cls, weights: FloatArray, dead_kernel: float = DEAD_KERNEL) -> "FarField":
        """Far field for a kernel sum with these weights.

        The sum is nowhere below minus the sum of its negative weights, as kernels are at most 1.

        >>> FarField.below(np.array([2.0, -0.5]), dead_kernel=np.exp(-9.0))
        FarField(radius=3.0, floor=-0.5)
        """
        floor = float(np.minimum(weights, 0.0).sum(dtype=np.float64))
        return cls(radius=sqrt(-log(dead_kernel)), floor=floor)

    def applied(self, sums: FloatArray, nearest: FloatArray) -> FloatArray:
        """Scores from kernel sums and the distances to the nearest center, in units of sigma."""
        return np.where(nearest > self.radius, self.floor - nearest**2, sums)


@dataclass(frozen=True, eq=False, repr=False)
class KernelExpansion:
    """``g(x) = sum_j weights_j exp(-|x - centers_j|^2 / sigma^2)``: arrays in, scores out.

    A row's score depends on that row alone, to the last bit: it is the same whether the row is
    scored by itself or in any batch. The arithmetic is that of ``centers`` (float64 or float32).

    Parameters
    ----------
    centers : array of shape (n_centers, n_features)
    weights : array of shape (n_centers,)
    sigma : float
        Width of the kernel.
    centered : bool
        Subtract 1 from every kernel value. It only shifts g by a constant (none where the weights
        sum to 0), and keeps the digits where sigma is so wide that all kernels are nearly 1.
    far_field : FarField, optional
        How to score points beyond the reach of every center.

    Examples
    --------
    >>> g = KernelExpansion(np.array([[0.0]]), np.array([1.0]), sigma=1.0)
    >>> g(np.array([[0.0], [1.0], [30.0]]))
    array([1.        , 0.36787944, 0.        ])
    """

    centers: FloatArray
    weights: FloatArray
    sigma: float
    centered: bool = False
    far_field: FarField | None = None

    def __post_init__(self) -> None:
        if self.centers.ndim != 2 or self.weights.shape != self.centers.shape[:1]:
            raise ValueError(
                "centers must be (n_centers, n_features) and weights (n_centers,); "
                f"got {self.centers.shape} and {self.weights.shape}."
            )
        if self.centers.size == 0:
            raise ValueError("An expansion needs at least one center and one feature.")
        if self.centers.dtype not in _DTYPES or self.weights.dtype != self.centers.dtype:
            raise ValueError(
                "centers and weights must both be float64, or both float32; "
                f"got {self.centers.dtype} and {self.weights.dtype}."
            )
        if not 0.0 < self.sigma < np.inf:
            raise ValueError(f"sigma must be positive and finite; got {self.sigma}.")
        if not (np.abs(self._centers_by_column) <= self._coordinate_limit).all():
            raise ValueError(
                f"sigma={self.sigma} is too small for centers as large as "
                f"{np.abs(self.centers).max():.3g}: distances overflow {self.centers.dtype}."
            )
        for name in ("centers", "weights"):
            frozen = getattr(self, name).copy()
            frozen.setflags(write=False)
            object.__setattr__(self, name, frozen)

    def __repr__(self) -> str:
        n_centers, n_features = self.centers.shape
        return (
            f"KernelExpansion({n_centers} centers, {n_features} features, sigma={self.sigma:.4g}, "
            f"{self.centers.dtype})"
        )

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __call__(self, points: FloatArray) -> FloatArray:
        """Score of each row of ``points``, shape ``(n,)``; higher is more nominal."""
        if points.ndim != 2 or points.shape[1] != self.centers.shape[1]:
            raise ValueError(
                f"Points must have shape (n, {self.centers.shape[1]}); got {points.shape}."
            )
        far = self.far_field
        with np.errstate(over="ignore"):  # what float32 cannot hold is cut off below
            rows = np.ascontiguousarray(points, dtype=self.centers.dtype)
        return np.asarray(
            kernel_sums(
                rows,
                self._inverse_width,
                self._centers_by_column,
                self.weights,
                self.centered,
                self._scalar(np.inf if far is None else far.radius**2),
                self._scalar(0.0 if far is None else far.floor),
                self._coordinate_limit,
            )
        )

    @property
    def n_centers(self) -> int:
        """Number of kernels in the sum."""
        return len(self.weights)

    def astype(self, dtype: DTypeLike) -> "KernelExpansion":
        """Return the same expansion in another floating-point type."""
        return replace(self, centers=self.centers.astype(dtype), weights=self.weights.astype(dtype))

    @cached_property
    def _inverse_width(self) -> Any:
        return self._scalar(1.0 / self.sigma)

    @cached_property
    def _centers_by_column(self) -> FloatArray:
        # Scaled exactly as the kernel scales points, so that a center is at distance 0 from itself.
        with np.errstate(over="ignore"):
            return np.ascontiguousarray((self.centers * self._inverse_width).T)

    @cached_property
    def _coordinate_limit(self) -> Any:
        """Coordinates (in sigmas) are cut off here, so that squared distances stay finite."""
        largest = float(np.finfo(self.centers.dtype).max)
        return self._scalar(np.sqrt(largest / (16.0 * self.centers.shape[1])))

    def _scalar(self, value: float) -> Any:
        return self.centers.dtype.type(value)
