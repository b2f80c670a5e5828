"""Dates of arrays and of columns of data frames, as seconds since 1970."""

from datetime import UTC, date, datetime
from typing import Any

import numpy as np

from rankad._typing import FloatArray


def holds_dates(values: Any) -> bool:
    """Whether a column holds dates: of NumPy, pandas, polars or Arrow, or objects of Python."""
    array = np.asarray(values)
    return array.dtype.kind == "M" or (array.dtype.kind == "O" and _first_is_date(array))


def seconds_since_1970(values: Any) -> FloatArray:
    """Dates as seconds since 1970, with NaN for missing ones.

    Dates with a time zone become UTC. Dates without one are taken as they are.

    >>> seconds_since_1970(np.array(["1970-01-02T00:00:01.5", "NaT"], dtype="datetime64[ms]"))
    array([86401.5,     nan])
    """
    zone = getattr(getattr(values, "dtype", None), "tz", None)  # a column of pandas
    array = np.asarray(values, dtype=None if zone is None else "datetime64[us]")
    if array.dtype.kind == "O":
        array = np.array([_without_zone(value) for value in array], dtype="datetime64[us]")
    seconds: FloatArray = array.astype("datetime64[us]").astype(np.int64) / 1e6
    return np.where(np.isnat(array), np.nan, seconds)


def _first_is_date(array: Any) -> bool:
    return array.size > 0 and isinstance(array.flat[0], (date, np.datetime64))


def _without_zone(value: Any) -> Any:
    if getattr(value, "tzinfo", None) is None:
        return value
    return value.astimezone(UTC).replace(tzinfo=None) if isinstance(value, datetime) else value
