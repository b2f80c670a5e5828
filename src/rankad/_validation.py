"""Checks of what users pass in, with errors that say what to do."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import validate_data

from rankad._typing import FloatArray

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


def _numeric_rows(estimator: Any, X: ArrayLike, **kwargs: Any) -> FloatArray:
    try:
        return np.asarray(validate_data(estimator, X, dtype=np.float64, order="C", **kwargs))
    except ValueError as error:
        text = _text_columns(X)
        if not text:
            raise
        raise ValueError(
            f"Columns {text} are not numeric; encode or drop them before fitting and scoring."
        ) from error


def _text_columns(X: Any) -> list[str]:
    """Names of the columns of a data frame that cannot become numbers."""
    names = getattr(X, "column_names", getattr(X, "columns", None))  # Arrow, others
    if names is None or not hasattr(X, "__getitem__"):
        return []
    return [name for name in names if isinstance(name, str) and not _is_numeric(X[name])]


def _is_numeric(column: Any) -> bool:
    try:
        np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError):
        return False
    return True
