"""Bringing columns to a common scale."""

from typing import Any, Final

import numpy as np
import scipy.sparse
from sklearn.base import clone
from sklearn.preprocessing import FunctionTransformer, RobustScaler, StandardScaler

from rankad._borrowed import HasMethods, StrOptions
from rankad._constant_columns import constant_columns, tiny_scales
from rankad._typing import FloatArray, IntArray
from rankad._validation import LARGEST_MAGNITUDE

_NAMED: Final[dict[str | None, Any]] = {
    "standard": StandardScaler,
    "robust": RobustScaler,
    None: FunctionTransformer,
}

#: Number of rows that measure the rounding of a scaler, and the factor to be safe with so few.
_N_PROBES: Final = 20
_MARGIN: Final = 64.0

#: What a parameter ``scaler`` may be: a name, any transformer, or None for columns as they are.
SCALER_CONSTRAINT: Final[list[Any]] = [
    StrOptions({name for name in _NAMED if name is not None}),
    HasMethods(["fit", "transform"]),
    None,
]


def fitted_scaler(scaler: Any, rows: FloatArray) -> Any:
    """Fit the scaler: one given by name, or a clone of a transformer.

    A scaler given by name takes the single value of a column to exactly 0, and other values of this
    column far away. It would else take them as they are, in the units of the column.
    """
    if not (scaler is None or isinstance(scaler, str)):
        return clone(scaler).fit(rows)
    fitted = _NAMED[scaler]().set_output(transform="default").fit(rows)
    if scaler is not None:
        constant = constant_columns(rows)
        centers = fitted.mean_ if scaler == "standard" else fitted.center_
        centers[constant] = rows[0, constant]
        fitted.scale_[constant] = tiny_scales(rows[0, constant])
    return fitted


def shift_and_scale(scaler: Any, n_columns: int) -> tuple[FloatArray, FloatArray] | None:
    """``(offset, scale)`` if the scaler takes columns x to ``(x - offset) / scale``, else None.

    >>> shift_and_scale(StandardScaler().fit([[0.0], [2.0], [4.0]]), 1)[0]
    array([2.])
    """
    if type(scaler) is StandardScaler:
        offset = scaler.mean_ if scaler.with_mean else None
    elif type(scaler) is RobustScaler:
        offset = scaler.center_ if scaler.with_centering else None
    elif type(scaler) is FunctionTransformer and scaler.func is None:
        return np.zeros(n_columns), np.ones(n_columns)
    else:
        return None
    scale = scaler.scale_
    return (
        np.zeros(n_columns) if offset is None else offset,
        np.ones(n_columns) if scale is None else scale,
    )


def takes_others_far(scaler: Any, columns: IntArray, row: FloatArray) -> bool:
    """Whether other values than those of a row, in columns with a single value, get far away.

    A scaler that `fitted_scaler` was given by name does that.
    """
    found = shift_and_scale(scaler, row.size)
    return found is not None and np.array_equal(found[1][columns], tiny_scales(row[columns]))


def rounding_of_rows(scaler: Any, rows: FloatArray) -> float:
    """By how much a transformed value of a row may differ from batch to batch.

    A shift and a scale of each column are the same in every batch, so it is 0. A scaler that mixes
    columns adds them in an order that depends on the batch. A few rows are measured, alone and
    together, because the rounding is not small if large numbers cancel.

    >>> rows = np.random.default_rng(0).normal(size=(100, 3))
    >>> rounding_of_rows(StandardScaler().fit(rows), rows)
    0.0
    """
    if shift_and_scale(scaler, rows.shape[1]) is not None:
        return 0.0
    together = transformed(scaler, rows)
    alone = np.concatenate([transformed(scaler, row[None]) for row in rows[:_N_PROBES]])
    measured = float(np.abs(alone - together[:_N_PROBES]).max(initial=0.0))
    unit = float(np.finfo(np.float64).eps * np.abs(together).max(initial=0.0))
    return _MARGIN * max(measured, unit)


def scaled(scaler: Any, rows: FloatArray) -> FloatArray:
    """Rows transformed by a fitted scaler: a dense float64 array without NaN."""
    columns = transformed(scaler, rows)
    if np.isnan(columns).any():
        raise ValueError(
            f"The scaler {scaler} turned finite rows into NaN. Use a scaler that gives numbers for "
            "all finite rows."
        )
    return columns


def transformed(scaler: Any, rows: FloatArray) -> FloatArray:
    """Rows transformed by a fitted scaler: a dense float64 array, which may hold NaN."""
    with np.errstate(over="ignore"):
        columns = scaler.transform(rows)
    if scipy.sparse.issparse(columns):
        raise ValueError(f"The scaler {scaler} gives sparse columns. Set it to dense output.")
    columns = np.asarray(columns, dtype=np.float64)
    # Very large values are clipped where their squared distances are still finite.
    return np.asarray(np.clip(columns, -LARGEST_MAGNITUDE, LARGEST_MAGNITUDE))
