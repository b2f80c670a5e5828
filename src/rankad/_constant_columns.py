"""Columns with a single value in the training rows: how they are scaled, and a warning."""

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from rankad._typing import BoolArray, FloatArray, IntArray
from rankad._validation import LARGEST_MAGNITUDE
from rankad._warnings import warn_user

#: Values of one column that differ by less, relative to the first, are a single value. The same
#: numbers, added in another order, differ so.
_ROUNDING: Final = 4.0 * float(np.finfo(np.float64).eps)

#: Number of rows that show that most columns vary.
_N_FIRST: Final = 1000

#: Scale of a column with a single value: this share of 1, or of the value.
_TINY: Final = 1e-6

#: From here on, float64 has whole numbers only.
_LARGEST_WHOLE: Final = 2.0**53

#: Number of columns that the warning names.
_N_NAMED: Final = 5


def constant_columns(rows: FloatArray) -> IntArray:
    """Columns that have a single value, up to the rounding of float64.

    >>> constant_columns(np.array([[0.3, 1.0, 7.0], [0.1 + 0.2, 2.0, 7.0]]))
    array([0, 2])
    """
    columns = np.arange(rows.shape[1])
    for part in (rows[:_N_FIRST], rows):  # most columns already vary in the first rows
        columns = columns[~_differ(part[:, columns], part[0, columns]).any(axis=0)]
    return columns


def tiny_scales(values: FloatArray) -> FloatArray:
    """Scales that take any other value of a column far away from its single value.

    The scale is a millionth. It is a millionth of 1 if the value is a whole number, because the
    next code, count or flag is another value. Else it is a millionth of the value, because the
    value rounded to float32 is still the same value.

    >>> tiny_scales(np.array([0.0, 20_240_101.0, 0.25]))
    array([1.0e-06, 1.0e-06, 2.5e-07])
    """
    magnitudes = np.abs(values)
    is_whole = (values == np.rint(values)) & (magnitudes < _LARGEST_WHOLE)
    scales = _TINY * np.where(is_whole, 1.0, magnitudes)
    return np.asarray(np.maximum(scales, 1.0 / LARGEST_MAGNITUDE))


def warn_of_constant_columns(
    rows: FloatArray,
    training: IntArray,
    calibration: IntArray,
    names: Sequence[str],
    *,
    is_watched: Callable[[IntArray, FloatArray], bool],
    detector: str,
) -> None:
    """Warn of columns with a single value in the training rows: what another value there does.

    ``is_watched`` takes such columns and a training row, and says whether ``detector`` puts rows
    with other values far from all others.
    """
    columns = constant_columns(rows[training[:_N_FIRST]])
    columns = columns[constant_columns(rows[np.ix_(training, columns)])]
    if columns.size == 0:
        return
    values = rows[training[0], columns]
    which = _described([repr(names[column]) for column in columns], values)
    there = "there" if columns.size == 1 else "in one of them"
    effect = (
        f"A new row with another value {there} need not alarm with {detector}. Compare the value "
        "yourself, or use RankAD with scaler='standard' and an anchor: with it, such a row alarms."
    )
    if is_watched(columns, rows[training[0]]):
        is_other = _differ(rows[np.ix_(calibration, columns)], values)
        effect = (
            f"A new row with another value {there} is far from all training rows, so it gets one "
            f"of the smallest p-values.{_of_reference(is_other)}"
        )
    warn_user(
        f"{which} {effect} If the value does not matter, leave the column out of X. This also "
        "silences the warning."
    )


def _of_reference(is_other: BoolArray) -> str:
    """What it means that some of the reference rows have other values, too; often none has."""
    n_other, n = int(is_other.any(axis=1).sum()), len(is_other)
    if n_other == 0:
        return ""
    return (
        f" But such rows are in the reference, too: {n_other} of {n}. So an alarm, of such a row "
        f"or of another anomaly, may need an alpha of {(n_other + 1) / (n + 1):.2g} or more."
    )


def _described(names: Sequence[str], values: FloatArray) -> str:
    """Which columns have which single value, in a sentence.

    >>> _described(["'x0'", "'x3'"], np.array([7.0, 0.5]))
    "2 columns have a single value in the training rows: 'x0' (7), 'x3' (0.5)."
    """
    if len(names) == 1:
        return f"Column {names[0]} has a single value in the training rows, {values[0]:.6g}."
    first = zip(names[:_N_NAMED], values, strict=False)
    named = ", ".join(f"{name} ({value:.6g})" for name, value in first)
    more = "" if len(names) <= _N_NAMED else f" and {len(names) - _N_NAMED} more"
    return f"{len(names)} columns have a single value in the training rows: {named}{more}."


def _differ(values: FloatArray, value: FloatArray) -> BoolArray:
    """Which values are not the one, by more than rounding."""
    return np.asarray(np.abs(values - value) > _ROUNDING * np.abs(value))
