"""Checks of user input, with errors that say what to do."""

import re
from collections import Counter
from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import validate_data

from rankad._typing import FloatArray

#: NumPy's kinds of dates and of time differences.
_DATE_KINDS = ("M", "m")

#: Types that are numbers or booleans, in the notation of NumPy, pandas, polars and Arrow.
_NUMERIC_TYPE = re.compile(
    r"(u?int\d+|(half)?float\d*|double|bool(ean)?)(\[pyarrow\])?", re.IGNORECASE
)

#: Largest magnitude to train on. Beyond it, squared distances overflow.
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
            f"{largest[column]:.3g}, and their squared distances overflow. Rescale the column, or "
            f"clip it to {LARGEST_MAGNITUDE:.0e}."
        )
    return rows


def scoring_rows(estimator: Any, X: ArrayLike) -> FloatArray:
    """Rows to score, as float64: finite, of any magnitude, with the columns seen in fit."""
    return _numeric_rows(estimator, X, reset=False)


def feature_names(estimator: Any) -> tuple[str, ...]:
    """Names of the columns in ``fit``, or x0, x1 and so on if they had no names."""
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        return tuple(f"x{feature}" for feature in range(estimator.n_features_in_))
    return tuple(str(name) for name in names)


def row_labels(X: Any, n_rows: int) -> list[Hashable]:
    """Labels of the rows: the index of a pandas frame, or else 0, 1 and so on.

    >>> row_labels([[0.5], [1.5]], 2)
    [0, 1]
    """
    return list(X.index) if hasattr(X, "iloc") else list(range(n_rows))


def _numeric_rows(estimator: Any, X: ArrayLike, **kwargs: Any) -> FloatArray:
    if hasattr(type(X), "collect"):
        raise TypeError(f"{type(X).__name__} is lazy. Call its collect() first.")
    if getattr(getattr(X, "dtype", None), "kind", None) in _DATE_KINDS:
        raise ValueError(
            "X holds dates or times. Turn them into numbers first, for example with "
            "rankad.TimeColumns."
        )
    _require_numeric_columns(X)
    return np.asarray(validate_data(estimator, X, dtype=np.float64, order="C", **kwargs))


def _require_numeric_columns(X: Any) -> None:
    """Refuse columns of a data frame that are not numbers, for example text or dates."""
    is_arrow = hasattr(type(X), "column_names")  # ask the type: a column can have any name
    names = X.column_names if is_arrow else getattr(X, "columns", None)
    if names is None or not hasattr(X, "__getitem__"):
        return
    named = Counter(name for name in names if isinstance(name, str))
    repeated = [name for name, count in named.items() if count > 1]
    if repeated:
        raise ValueError(f"Several columns are named {repeated}. Give each column its own name.")
    not_numeric = [name for name in _unclear_columns(X, names) if not _holds_numbers(X[name])]
    if not_numeric:
        raise ValueError(
            f"Columns {not_numeric} are not numeric. Encode or drop them before fitting and "
            "scoring. For time stamps, put rankad.TimeColumns before the detector in a pipeline."
        )


def _unclear_columns(X: Any, names: Iterable[Any]) -> list[Any]:
    """Names of the columns whose type does not show whether they hold numbers.

    Only these columns are converted here, to see their values. scikit-learn converts all later.
    """
    types = getattr(X, "dtypes", getattr(getattr(X, "schema", None), "types", None))  # or Arrow's
    if types is None:
        return list(names)
    return [
        name
        for name, type_ in zip(names, types, strict=True)
        if not _NUMERIC_TYPE.fullmatch(str(type_))
    ]


def _holds_numbers(column: Any) -> bool:
    values = np.asarray(column)
    is_refused = values.dtype.kind in (*_DATE_KINDS, "c")  # a cast would drop the imaginary part
    if is_refused or values.ndim > 1:
        return False
    try:
        values.astype(np.float64)
    except (TypeError, ValueError):
        return False
    return True
