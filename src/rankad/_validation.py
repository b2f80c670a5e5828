"""Checks of user input, with errors that say what to do."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import validate_data

from rankad._typing import BoolArray, FloatArray

#: NumPy's kinds of dates and of time differences.
_DATE_KINDS = ("M", "m")

#: Types that are numbers or booleans, in the notation of NumPy, pandas, polars and Arrow.
_NUMERIC_TYPE = re.compile(
    r"(u?int\d+|(half)?float\d*|double|bool(ean)?)(\[pyarrow\])?", re.IGNORECASE
)

#: Largest magnitude to train on. Beyond it, squared distances overflow.
LARGEST_MAGNITUDE = 1e150

#: What to do about bad values, by their kind.
Advice = Mapping[str, str]

_IN_FIT: Final[Advice] = {
    "NaN": "Drop these rows or columns, or fill the cells before fit: with constants that you "
    "choose in advance, or by an imputer that was fitted on other rows. An imputer that was fitted "
    "on X has seen the rows that fit holds out, and alpha is then not guaranteed.",
    "infinity": "Drop these rows, or clip the columns to limits that you choose in advance.",
}
_FILLED = "Drop these rows, or fill the cells by the rule that filled them before fit."
_CLIPPED = "Drop these rows, or clip the columns to finite limits."
_COUNTED = "Or count such rows as alarms yourself."
_ALARMED = "To alarm on such rows, call scorer_.is_alarm(row, alpha) for each row."
_IN_SCORING: Final[Advice] = {
    "NaN": f"{_FILLED} {_COUNTED}",
    "infinity": f"{_CLIPPED} {_COUNTED}",
}
_IN_SCORING_LEAN: Final[Advice] = {
    "NaN": f"{_FILLED} {_ALARMED}",
    "infinity": f"{_CLIPPED} {_ALARMED}",
}

#: Number of columns that an error names.
_N_NAMED: Final = 5


def training_rows(estimator: Any, X: ArrayLike) -> FloatArray:
    """Rows to fit on, as float64: finite, at least two, and not so large that squares overflow."""
    rows = _numeric_rows(estimator, X, _IN_FIT, reset=True, ensure_min_samples=2)
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
    can_alarm = hasattr(type(estimator), "scorer_")
    return _numeric_rows(estimator, X, _IN_SCORING_LEAN if can_alarm else _IN_SCORING, reset=False)


def feature_names(estimator: Any) -> tuple[str, ...]:
    """Names of the columns in ``fit``, or x0, x1 and so on if they had no names."""
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        return tuple(f"x{feature}" for feature in range(estimator.n_features_in_))
    return tuple(str(name) for name in names)


def row_labels(X: Any, n_rows: int) -> Any:
    """Labels of the rows: the index of a pandas frame, or else 0, 1 and so on.

    >>> row_labels([[0.5], [1.5]], 2)
    array([0, 1])
    """
    is_pandas = hasattr(type(X), "iloc")  # ask the type: a column can have any name
    return X.index if is_pandas else np.arange(n_rows)


def _numeric_rows(estimator: Any, X: ArrayLike, advice: Advice, **kwargs: Any) -> FloatArray:
    if hasattr(type(X), "collect"):
        raise TypeError(f"{type(X).__name__} is lazy. Call its collect() first.")
    if hasattr(type(X), "fit"):  # ask the type: a column can have any name
        raise TypeError(
            f"X must be rows; got the estimator {type(X).__name__}. For a pipeline that ends with "
            "a detector call pipe[-1].p_values(pipe[:-1].transform(X))."
        )
    if getattr(getattr(X, "dtype", None), "kind", None) in _DATE_KINDS:
        raise ValueError(
            "X holds dates or times. Turn them into numbers first, for example with "
            "rankad.TimeColumns."
        )
    _require_numeric_columns(X, advice)
    if isinstance(X, np.ndarray) and X.dtype == object:
        X = _with_nan(X)
    rows = np.asarray(
        validate_data(estimator, X, dtype=np.float64, order="C", ensure_all_finite=False, **kwargs)
    )
    if not _is_surely_finite(rows):
        _require_finite(rows, feature_names(estimator), advice)
    return rows


def _is_surely_finite(rows: FloatArray) -> bool:
    """Whether the sum is finite: fast, and true of all but bad and enormous values."""
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(rows.sum()))


def _require_finite(rows: FloatArray, names: Sequence[str], advice: Advice) -> None:
    """Refuse NaN and infinite values. Say in which rows and columns they are, and what to do."""
    found = {"NaN": np.isnan(rows), "infinity": np.isinf(rows)}
    messages = [
        f"Input X contains {kind} {_places(is_bad, names)}. {advice[kind]}"
        for kind, is_bad in found.items()
        if is_bad.any()
    ]
    if messages:
        raise ValueError(" ".join(messages))


def _places(is_bad: BoolArray, names: Sequence[str]) -> str:
    """In which rows and columns the bad values are.

    >>> _places(np.array([[False, False], [False, True]]), ["a", "b"])
    "in 1 of 2 rows, first in row 1 (counted from 0), in column 'b' (1 row)"
    """
    of_rows, counts = is_bad.any(axis=1), is_bad.sum(axis=0)
    columns = np.flatnonzero(counts)
    named = [
        f"{names[column]!r} ({counts[column]} row{'s' * bool(counts[column] > 1)})"
        for column in columns[:_N_NAMED]
    ]
    more = f" and {len(columns) - _N_NAMED} more" if len(columns) > _N_NAMED else ""
    return (
        f"in {int(of_rows.sum())} of {len(is_bad)} rows, first in row "
        f"{int(of_rows.argmax())} (counted from 0), in column{'s' * (len(columns) > 1)} "
        f"{', '.join(named)}{more}"
    )


def _require_numeric_columns(X: Any, advice: Advice) -> None:
    """Refuse columns of a data frame that are not numbers, for example text or dates."""
    is_arrow = hasattr(type(X), "column_names")  # ask the type: a column can have any name
    names = X.column_names if is_arrow else getattr(X, "columns", None)
    if names is None or not hasattr(X, "__getitem__"):
        return
    named = Counter(name for name in names if isinstance(name, str))
    repeated = [name for name, count in named.items() if count > 1]
    if repeated:
        raise ValueError(f"Several columns are named {repeated}. Give each column its own name.")
    # Only columns whose type is unclear are converted here. scikit-learn converts all later.
    unclear = {name: np.asarray(X[name]) for name in _unclear_columns(X, names)}
    not_numeric = [name for name, values in unclear.items() if not _are_numbers(values)]
    if not_numeric:
        raise ValueError(
            f"Columns {not_numeric} are not numeric. Encode or drop them before fitting and "
            "scoring. For time stamps, put rankad.TimeColumns before the detector in a pipeline."
        )
    if any(_is_missing_object(values).any() for values in unclear.values()):
        # These frames cannot be converted as a whole.
        columns = [_with_nan(np.asarray(X[name], dtype=object)) for name in names]
        rows = np.column_stack(columns).astype(np.float64)
        _require_finite(rows, [str(name) for name in names], advice)


def _unclear_columns(X: Any, names: Iterable[Any]) -> list[Any]:
    """Names of the columns whose type does not show whether they hold numbers."""
    types = getattr(X, "dtypes", getattr(getattr(X, "schema", None), "types", None))  # or Arrow's
    if types is None:
        return list(names)
    return [
        name
        for name, type_ in zip(names, types, strict=True)
        if not _NUMERIC_TYPE.fullmatch(str(type_))
    ]


def _are_numbers(values: NDArray[Any]) -> bool:
    is_refused = values.dtype.kind in (*_DATE_KINDS, "c")  # a cast would drop the imaginary part
    if is_refused or values.ndim > 1:
        return False
    try:
        _with_nan(values).astype(np.float64)
    except (TypeError, ValueError):
        return False
    return True


def _is_missing_object(values: NDArray[Any]) -> BoolArray:
    """Which values are the missing value of pandas, which float() refuses."""
    if values.dtype != object:
        return np.zeros(values.shape, dtype=bool)
    is_missing = np.frompyfunc(lambda value: type(value).__name__ == "NAType", 1, 1)
    return np.asarray(is_missing(values), dtype=bool)


def _with_nan(values: NDArray[Any]) -> NDArray[Any]:
    """The values, with NaN for the missing value of pandas."""
    is_missing = _is_missing_object(values)
    return np.where(is_missing, np.nan, values) if is_missing.any() else values
