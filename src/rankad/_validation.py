"""Checks of what users pass in, with errors that say what to do."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import validate_data

from rankad._typing import FloatArray

#: NumPy's kinds of dates and of times between them.
_DATE_KINDS = ("M", "m")

#: Largest magnitude to train on: beyond it, squared distances overflow.
LARGEST_MAGNITUDE = 1e150


def training_rows(estimator: Any, X: ArrayLike) -> FloatArray:
    """Rows to fit on, as float64: finite, at least two, and not so large that squares overflow."""
    rows = _numeric_rows(estimator, X, reset=True, ensure_min_samples=2)
    largest = np.abs(rows).max(axis=0)
    if (largest > LARGEST_MAGNITUDE).any():
        column = int(largest.argmax())
        names = getattr(estimator, "feature_names_in_", None)
        raise ValueError(
            f"Column {column if names is None else repr(names[column])} holds values as large as "
            f"{largest[column]:.3g}, whose squared distances overflow; rescale it or clip it to "
            f"{LARGEST_MAGNITUDE:.0e}."
        )
    return rows


def scoring_rows(estimator: Any, X: ArrayLike) -> FloatArray:
    """Rows to score, as float64: finite, of any magnitude, with the columns seen in fit."""
    return _numeric_rows(estimator, X, reset=False)


def feature_names(estimator: Any) -> tuple[str, ...]:
    """Those that an estimator has seen in ``fit``; without names, x0, x1 and so on."""
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        return tuple(f"x{feature}" for feature in range(estimator.n_features_in_))
    return tuple(str(name) for name in names)


def _numeric_rows(estimator: Any, X: ArrayLike, **kwargs: Any) -> FloatArray:
    if hasattr(X, "collect"):
        raise TypeError(f"{type(X).__name__} is lazy; call its collect() first.")
    if getattr(getattr(X, "dtype", None), "kind", None) in _DATE_KINDS:
        raise ValueError("X holds dates or times; turn them into numbers first.")
    not_numeric = _other_columns(X)
    if not_numeric:
        raise ValueError(
            f"Columns {not_numeric} are not numeric; encode or drop them before fitting and "
            "scoring."
        )
    return np.asarray(validate_data(estimator, X, dtype=np.float64, order="C", **kwargs))


def _other_columns(X: Any) -> list[str]:
    """Names of the columns of a data frame that are not numbers: text, dates and the like."""
    names = getattr(X, "column_names", getattr(X, "columns", None))  # Arrow, others
    if names is None or not hasattr(X, "__getitem__"):
        return []
    return [name for name in names if isinstance(name, str) and not _is_numeric(X[name])]


def _is_numeric(column: Any) -> bool:
    values = np.asarray(column)
    if values.dtype.kind in _DATE_KINDS:
        return False
    try:
        values.astype(np.float64)
    except (TypeError, ValueError):
        return False
    return True
