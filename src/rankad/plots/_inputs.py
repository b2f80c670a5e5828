"""What displays are given: detectors and p-values, checked, and the levels to draw them at."""

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

#: Levels at which a curve is drawn: so many spread evenly, and as many evenly in logarithms.
_N_EVEN = 60

#: Levels at which alarms are counted if the user gives none.
_USUAL_ALPHAS: Final = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)


def calibrated_detector(detector: Any, display: str) -> BaseDetector:
    """The detector, if it is one of rankad's and fitted."""
    if not isinstance(detector, BaseDetector):
        raise TypeError(
            f"{display} takes a fitted detector of rankad; got {detector!r}. Other detectors fit "
            "in rankad.Calibrated."
        )
    check_is_fitted(detector, "reference_")
    return detector


def two_columns(features: Sequence[int | str], names: tuple[str, ...]) -> list[int]:
    """Places of the two features.

    >>> two_columns(("flow", 0), ("pressure", "temperature", "flow"))
    [2, 0]
    """
    if len(names) < 2:
        raise ValueError(f"Level sets need two features, and the data have {len(names)}.")
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
        f"There is no feature {feature!r}: give its name or its place, from 0 to {len(names) - 1}."
    )


def checked_p_values(p_values: ArrayLike, n_reference: int | None = None) -> FloatArray:
    """p-values in ascending order, of at least one row.

    >>> checked_p_values([0.5, 0.25], n_reference=3)
    array([0.25, 0.5 ])
    """
    p = np.asarray(p_values, dtype=np.float64)
    if p.ndim != 1 or p.size == 0:
        raise ValueError(f"p_values must be a list of at least one; got shape {p.shape}.")
    if not ((p >= 0.0) & (p <= 1.0)).all():
        raise ValueError("p_values must lie between 0 and 1.")
    if n_reference is not None:
        _require_possible(float(p.min()), n_reference)
    return np.sort(p)


def _require_possible(smallest: float, n_reference: int) -> None:
    if not isinstance(n_reference, Integral) or n_reference < 1:
        raise ValueError(f"n_reference must be an integer of at least 1; got {n_reference!r}.")
    if smallest < (1.0 - 1e-9) / (n_reference + 1):
        raise ValueError(
            f"{n_reference} held-out reference scores give no p-value below 1 / {n_reference + 1}, "
            f"and {smallest:.3g} is one: n_reference is wrong, or the p-values are of another kind."
        )


def spread_orders(n: int) -> IntArray:
    """Of 1 to n all, or where those are many, some that lie well on either kind of scale.

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
    """Levels at which something can alarm: those given, which all must be so, or the usual ones.

    >>> resolved_alphas(None, n_reference=30)
    array([0.05, 0.1 , 0.2 , 0.5 ])
    """
    if alphas is None:
        usual = [alpha for alpha in _USUAL_ALPHAS if order_of(alpha, n_reference) >= 1]
        return np.array(usual or [1.0 / (n_reference + 1)])
    levels = sorted_levels(alphas)
    for alpha in levels:
        if order_of(alpha, n_reference) < 1:
            raise UnresolvableAlphaError(
                f"alpha={alpha} is finer than {n_reference} reference points can resolve: that "
                f"needs at least {reference_needed(float(alpha))}."
            )
    return levels


def sorted_levels(alphas: Sequence[float]) -> FloatArray:
    """The levels, each once, in ascending order; at least one."""
    if len(alphas) == 0:
        raise ValueError("alphas must hold at least one level.")
    return np.unique([checked_alpha(alpha) for alpha in alphas])
