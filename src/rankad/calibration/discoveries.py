"""Many tests at once: which p-values of a batch are discoveries."""

from __future__ import annotations

from math import ceil
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import false_discovery_control

from rankad._typing import BoolArray, FloatArray
from rankad.calibration.bands import simes_band
from rankad.calibration.bounds import require_probability, smallest_number

#: The number of p-values above it estimates how many rows of a batch are nominal (Storey).
_STOREY_CUTOFF = 0.5


def benjamini_hochberg(p_values: ArrayLike, fdr: float, *, adaptive: bool = False) -> BoolArray:
    """Which p-values are discoveries, so that on average at most a share ``fdr`` is false.

    The average is over batches: each batch has a share of false discoveries, 0 if it has no
    discovery. Over the discoveries of many batches together, the share may be larger. The
    procedure is valid if the p-values are independent, or if they depend on one another
    positively, as split-conformal p-values with one reference do (Bates et al., 2023). The weighted
    p-values of `Reweighted` need not.

    Parameters
    ----------
    p_values : array-like of shape (n,)
        p-values of one batch.
    fdr : float
        False-discovery rate q: the expected share of false discoveries among the discoveries.
    adaptive : bool, default=False
        Use Storey's form, with ``(1 + #{p > 1/2}) / (n / 2)`` as the share of nominal rows. It
        finds more if many rows are anomalies, and may find a little less if none is.

    Returns
    -------
    is_discovery : ndarray of bool, shape (n,)

    Examples
    --------
    >>> benjamini_hochberg([0.01, 0.02, 0.03, 0.9], fdr=0.05)
    array([ True,  True,  True, False])
    """
    require_probability("fdr", fdr)
    p = checked_p_values(p_values)
    if p.size == 0:
        return np.zeros(0, dtype=bool)
    threshold = fdr / uncapped_nominal_share(p) if adaptive else fdr
    return np.asarray(false_discovery_control(p) <= threshold)


def has_discovery(p_values: FloatArray, fdr: float, *, adaptive: bool = False) -> BoolArray:
    """Whether `benjamini_hochberg` finds anything in each batch, a row of p-values.

    >>> has_discovery(np.array([[0.04, 0.9], [0.1, 0.2]]), fdr=0.1)
    array([ True, False])
    """
    size = p_values.shape[1]
    threshold = np.full((len(p_values), 1), fdr)
    if adaptive:
        threshold /= _storey_share((p_values > _STOREY_CUTOFF).sum(axis=1, keepdims=True), size)
    adjusted = np.sort(p_values, axis=1) * (size / np.arange(1, size + 1))
    # An adjusted p-value is at most 1.
    return np.asarray((np.minimum(adjusted, 1.0) <= threshold).any(axis=1))


def checked_p_values(p_values: ArrayLike) -> FloatArray:
    """p-values of one batch as an array. Refuse other shapes, and numbers outside 0 to 1."""
    p = np.asarray(p_values, dtype=np.float64)
    if p.ndim != 1:
        raise ValueError(f"p_values must have shape (n,); got {p.shape}.")
    if not ((p >= 0.0) & (p <= 1.0)).all():
        raise ValueError(
            "p_values must lie between 0 and 1, and none may be NaN; got values from "
            f"{p.min()} to {p.max()}."
        )
    return p


def nominal_share(p_values: ArrayLike) -> float:
    """Storey's estimate of the share of nominal rows in a batch, from their p-values.

    Parameters
    ----------
    p_values : array-like of shape (n,)
        p-values of one batch.

    Returns
    -------
    share : float
        At most 1.

    Examples
    --------
    >>> nominal_share([0.001, 0.002, 0.003, 0.2, 0.8, 0.003, 0.001, 0.002])
    0.5
    """
    p = np.asarray(p_values, dtype=np.float64)
    if p.size == 0:
        raise ValueError("p_values is an empty batch. Give at least one p-value.")
    return min(uncapped_nominal_share(p), 1.0)


def uncapped_nominal_share(p: FloatArray) -> float:
    """Storey's estimate, possibly above 1. Capped at 1, it would not bound false discoveries."""
    return float(_storey_share((p > _STOREY_CUTOFF).sum(), p.size))


def _storey_share(n_above: Any, n: int) -> Any:
    return (1.0 + n_above) / (n * (1.0 - _STOREY_CUTOFF))


def reference_for_discoveries(
    n_batch: int, fdr: float, n_discoveries: int = 1, confidence: float | None = None
) -> int:
    """Number of reference scores that a batch needs for a given number of discoveries.

    The smallest p-value is ``1 / (n + 1)``. r rows with that p-value are discoveries if
    ``1 / (n + 1) <= fdr r / n_batch``.

    Parameters
    ----------
    n_batch : int
        Number of rows in the batch.
    fdr : float
        False-discovery rate.
    n_discoveries : int, default=1
        Number r of discoveries. With fewer reference scores, no r rows can be discoveries.
    confidence : float, optional
        Confidence of a selection by ``select(X, fdr, confidence=...)``.

    Returns
    -------
    n_reference : int
        The smallest such number. With a confidence, a number that is enough; half of it is not.

    Examples
    --------
    >>> reference_for_discoveries(10_000, fdr=0.1, n_discoveries=20)
    4999
    """
    require_probability("fdr", fdr)
    if not 1 <= n_discoveries <= n_batch:
        raise ValueError(f"n_discoveries={n_discoveries} must lie between 1 and n_batch={n_batch}.")
    if confidence is not None:
        require_probability("confidence", confidence)
        return smallest_number(
            lambda n: _lowest_limit(n, confidence) * (n_batch / n_discoveries) <= fdr, 1
        )
    n = ceil(n_batch / (fdr * n_discoveries) - 1e-9) - 1
    while 1.0 / (n + 1) * (n_batch / n_discoveries) > fdr:  # rounded as in the selection
        n += 1
    return n


def _lowest_limit(n_reference: int, confidence: float) -> float:
    """Upper limit of the smallest p-value with a confidence.

    The bands that "auto" uses give Simes' band at least half of delta.
    """
    delta = (1.0 - confidence) / 2.0
    return float(simes_band(np.array([1]), n_reference, delta)[0])
