"""Many tests at once: which p-values of a batch to call discoveries."""

from __future__ import annotations

from math import ceil

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import false_discovery_control

from rankad._typing import BoolArray, FloatArray
from rankad.calibration.bounds import require_probability

#: p-values above it tell how many of a batch are nominal (Storey).
_MIDDLE = 0.5


def benjamini_hochberg(p_values: ArrayLike, fdr: float, *, adaptive: bool = False) -> BoolArray:
    """Which p-values to call discoveries, so that at most a share ``fdr`` is false, on average.

    Valid where p-values are independent, or depend on one another positively, as split-conformal
    ones that share a reference do (Bates et al., 2023). Weighted ones (`Reweighted`) need not.

    Parameters
    ----------
    p_values : array-like of shape (n,)
        Of one batch.
    fdr : float
        False-discovery rate q: the expected share of false ones among the discoveries.
    adaptive : bool, default=False
        Storey's form: use the estimate ``(1 + #{p > 1/2}) / (n / 2)`` of the share that is nominal.
        It finds more where many are anomalies, and may find a little less where none is.

    Returns
    -------
    is_discovery : ndarray of bool, shape (n,)

    Examples
    --------
    >>> benjamini_hochberg([0.01, 0.02, 0.03, 0.9], fdr=0.05)
    array([ True,  True,  True, False])
    """
    require_probability("fdr", fdr)
    p = np.asarray(p_values, dtype=np.float64)
    if p.ndim != 1:
        raise ValueError(f"p-values must have shape (n,); got {p.shape}.")
    if not ((p >= 0.0) & (p <= 1.0)).all():
        raise ValueError("p-values must lie in [0, 1], and none may be NaN.")
    if p.size == 0:
        return np.zeros(0, dtype=bool)
    threshold = fdr / estimated_share(p) if adaptive else fdr
    return np.asarray(false_discovery_control(p) <= threshold)


def nominal_share(p_values: ArrayLike) -> float:
    """Storey's estimate of the share of nominal points in a batch, from its p-values; at most 1.

    >>> nominal_share([0.001, 0.002, 0.003, 0.2, 0.8, 0.003, 0.001, 0.002])
    0.5
    """
    p = np.asarray(p_values, dtype=np.float64)
    if p.size == 0:
        raise ValueError("An empty batch has no share of nominal points.")
    return min(estimated_share(p), 1.0)


def estimated_share(p: FloatArray) -> float:
    """Storey's estimate as it is: cut at 1, it would no longer bound the false discoveries."""
    return float((1.0 + (p > _MIDDLE).sum()) / (p.size * (1.0 - _MIDDLE)))


def reference_for_discoveries(n_batch: int, fdr: float, n_discoveries: int = 1) -> int:
    """Reference scores below which a batch of this size cannot have so few discoveries.

    The smallest p-value is ``1 / (n + 1)``; r of them are discoveries where
    ``1 / (n + 1) <= fdr r / n_batch``.

    >>> reference_for_discoveries(10_000, fdr=0.1, n_discoveries=20)
    4999
    """
    require_probability("fdr", fdr)
    if not 1 <= n_discoveries <= n_batch:
        raise ValueError(f"n_discoveries={n_discoveries} must lie between 1 and {n_batch}.")
    n = ceil(n_batch / (fdr * n_discoveries) - 1e-9) - 1
    while 1.0 / (n + 1) * (n_batch / n_discoveries) > fdr:  # as the selection will compare, rounded
        n += 1
    return n
