"""Inputs of displays: checked detectors and p-values, and the alphas to draw at."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from rankad._base import BaseDetector
from rankad._typing import FloatArray, IntArray
from rankad.calibration import reference_needed
from rankad.calibration.control import checked_alpha
from rankad.calibration.reference import order_of
from rankad.exceptions import UnresolvableAlphaError

#: Number of points of a curve with even distances, and of points with even ratios.
_N_EVEN = 60

#: Alphas at which alarms are counted if the user gives none.
_DEFAULT_ALPHAS: Final = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)


def calibrated_detector(detector: Any, display: str) -> BaseDetector:
    """The detector. Refuse one that is not fitted, or not of rankad."""
    if not isinstance(detector, BaseDetector):
        raise TypeError(
            f"{display} takes a fitted detector of rankad; got {detector!r}. "
            f"{advice_for_another(detector)}"
        )
    check_is_fitted(detector, "reference_")
    return detector


def advice_for_another(detector: Any) -> str:
    """What to give in place of a pipeline, or of a detector of another library."""
    if hasattr(detector, "steps"):
        return (
            "Of a pipeline, give the last step and the rows that it gets: "
            "from_estimator(pipe[-1], pipe[:-1].transform(X))."
        )
    return "Wrap another detector in rankad.Calibrated."


def column_pair(features: Sequence[int | str], names: tuple[str, ...]) -> list[int]:
    """Indices of the two features.

    >>> column_pair(("flow", 0), ("pressure", "temperature", "flow"))
    [2, 0]
    """
    if len(names) < 2:
        raise ValueError(f"Level sets need two features; the data have {len(names)}.")
    columns = [] if isinstance(features, str) else [_column(key, names) for key in features]
    if len(columns) != 2 or columns[0] == columns[1]:
        raise ValueError(f"features must be two different features; got {features!r}.")
    return columns


def _column(feature: int | str, names: tuple[str, ...]) -> int:
    if isinstance(feature, str) and feature in names:
        return names.index(feature)
    if isinstance(feature, Integral) and 0 <= feature < len(names):
        return int(feature)
    raise ValueError(
        f"There is no feature {feature!r}. Give its name, or its index from 0 to {len(names) - 1}."
    )


def checked_p_values(p_values: ArrayLike, n_reference: int | None = None) -> FloatArray:
    """p-values in ascending order. Refuse an empty list and impossible values.

    >>> checked_p_values([0.5, 0.25], n_reference=3)
    array([0.25, 0.5 ])
    """
    p = np.asarray(p_values, dtype=np.float64)
    if p.ndim != 1 or p.size == 0:
        raise ValueError(f"p_values must have shape (n,) with n at least 1; got {p.shape}.")
    if not ((p >= 0.0) & (p <= 1.0)).all():
        raise ValueError(f"p_values must lie between 0 and 1; got {p.min()} to {p.max()}.")
    if n_reference is not None:
        _require_possible(float(p.min()), n_reference)
    return np.sort(p)


def _require_possible(smallest: float, n_reference: int) -> None:
    if not isinstance(n_reference, Integral) or n_reference < 1:
        raise ValueError(f"n_reference must be an integer of at least 1; got {n_reference!r}.")
    if smallest < (1.0 - 1e-9) / (n_reference + 1):
        raise ValueError(
            f"{n_reference} held-out reference scores give no p-value below 1 / {n_reference + 1}; "
            f"got {smallest:.3g}. Correct n_reference, or give p-values of a held-out reference."
        )


def spread_orders(n: int) -> IntArray:
    """The orders 1 to n, or if n is large, some of them for a linear and a logarithmic scale.

    >>> spread_orders(4)
    array([1, 2, 3, 4])
    >>> len(spread_orders(10_000))
    112
    """
    if n <= 2 * _N_EVEN:
        return np.arange(1, n + 1)
    spread = np.concatenate([np.linspace(1, n, _N_EVEN), np.geomspace(1, n, _N_EVEN)])
    return np.unique(spread.round().astype(np.int64))


def resolved_alphas(alphas: Sequence[float] | None, n_reference: int) -> FloatArray:
    """Alphas at which a row can alarm: the given ones, or else the default ones.

    >>> resolved_alphas(None, n_reference=30)
    array([0.05, 0.1 , 0.2 , 0.5 ])
    """
    if alphas is None:
        usable = [alpha for alpha in _DEFAULT_ALPHAS if order_of(alpha, n_reference) >= 1]
        return np.array(usable or [1.0 / (n_reference + 1)])
    sorted_alphas = ascending_alphas(alphas)
    for alpha in sorted_alphas:
        if order_of(alpha, n_reference) < 1:
            raise UnresolvableAlphaError(
                f"alpha={alpha} is too small for {n_reference} reference scores. Give at least "
                f"{reference_needed(float(alpha))}, or leave out this alpha."
            )
    return sorted_alphas


def ascending_alphas(alphas: Sequence[float]) -> FloatArray:
    """The alphas, each once, in ascending order. Refuse an empty list."""
    if len(alphas) == 0:
        raise ValueError("alphas is empty. Give at least one alpha.")
    return np.unique([checked_alpha(alpha) for alpha in alphas])
