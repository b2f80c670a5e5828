"""Columns from a time stamp: the hour of the day and the day of the week."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, validate_data

from rankad._borrowed import Interval, StrOptions, _fit_context
from rankad._dates import holds_dates, seconds_since_1970
from rankad._typing import FloatArray
from rankad._validation import feature_names

_HOUR: Final = 3_600.0
_DAY: Final = 86_400.0

#: 1970 began on a Thursday, the fourth day of a week that begins on Monday.
_FIRST_WEEKDAY: Final = 3

_SECONDS: Final = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}

#: Seconds at the end of the year 5138. Later stamps are mostly stamps in another unit.
_LATEST: Final = 1e11


def _turns_of_day(seconds: FloatArray) -> FloatArray:
    return np.asarray(np.mod(seconds, _DAY) / _DAY)


def _turns_of_week(seconds: FloatArray) -> FloatArray:
    return np.asarray(np.mod(np.floor(seconds / _DAY) + _FIRST_WEEKDAY, 7.0) / 7.0)


#: Share of the circle, from local seconds.
_PARTS: Final = {"hour": _turns_of_day, "weekday": _turns_of_week}


class TimeColumns(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Replaces a column of time stamps by the hour of the day and the day of the week.

    Each part becomes two columns, the sine and the cosine of its angle. So 23:59 is near 0:01, and
    Sunday is near Monday. A detector then knows what is normal *at this hour*.

    It learns nothing from the rows, so it may also stand before the hold-out. Inside the
    hold-out it is ``RankAD(scaler=make_pipeline(TimeColumns(), StandardScaler()))``. Frames with a
    column of dates need it before: ``make_pipeline(TimeColumns("time"), RankAD())``. The other
    columns pass as they are, and may hold NaN.

    The columns of the weekday change slowly. So if they stand before the hold-out, a fit with
    ``calibration_split="time"`` may warn that the rows are worth few independent ones. Then give
    more weeks, or ``parts=["hour"]``.

    Parameters
    ----------
    column : int or str, default=0
        Position of the column of time stamps, or its name in a data frame. -1 is the last.
    parts : sequence of {"hour", "weekday"}, default=("hour", "weekday")
        "hour" is the time of the day, to the second. "weekday" is the day of the week, and jumps at
        midnight.
    unit : {"s", "ms", "us", "ns"}, default="s"
        Unit of stamps that are numbers, counted from 1970, UTC. Dates need none. float32 has not
        enough digits for stamps: in seconds it is wrong by up to a minute.
    utc_offset : float, default=0.0
        Hours to add to the stamps: local time minus UTC. Dates with a time zone become UTC
        first. Dates without one are taken as they are. It knows no summer time. If that
        matters, give dates without a zone in local time.

    Attributes
    ----------
    column_ : int
        Position of the column.

    Examples
    --------
    >>> monday_at_six = 4 * 86_400 + 6 * 3_600
    >>> TimeColumns().fit_transform([[monday_at_six, 7.0]]).round(3)
    array([[1., 0., 0., 1., 7.]])
    >>> TimeColumns(column=1, parts=["hour"]).fit([[7.0, 0.0]]).get_feature_names_out()
    array(['x0', 'x1_hour_sin', 'x1_hour_cos'], dtype=object)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "column": [Integral, str],
        "parts": ["array-like"],
        "unit": [StrOptions(set(_SECONDS))],
        "utc_offset": [Interval(Real, -24, 24, closed="both")],
    }

    def __init__(
        self,
        column: int | str = 0,
        *,
        parts: Sequence[str] = ("hour", "weekday"),
        unit: str = "s",
        utc_offset: float = 0.0,
    ) -> None:
        self.column = column
        self.parts = parts
        self.unit = unit
        self.utc_offset = utc_offset

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Find the column, and check that its unit is possible. Nothing is learned from the rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with a column of time stamps.
        y : None
            Ignored.

        Returns
        -------
        self : TimeColumns
        """
        parts = list(self.parts)
        if not parts or len(set(parts)) < len(parts) or not set(parts) <= set(_PARTS):
            raise ValueError(
                f"parts must be one or more of {sorted(_PARTS)}, each once; got {self.parts!r}."
            )
        stamps, _ = self._split(X, reset=True)
        latest = np.abs(stamps).max(initial=0.0)
        if latest > _LATEST:
            raise ValueError(
                f"{self._named()} holds the stamp {latest / _SECONDS[self.unit]:.4g}, which is "
                f"after the year 5000 in the unit {self.unit!r}. Set unit= to the unit of the "
                f"stamps, one of {list(_SECONDS)}, or column= to the column of time stamps."
            )
        return self

    def transform(self, X: ArrayLike) -> FloatArray:
        """Rows with the new columns in the place of the time stamps.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with the columns of `fit`.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_features - 1 + 2 n_parts)
        """
        check_is_fitted(self, "column_")
        stamps, others = self._split(X, reset=False)
        local = stamps + self.utc_offset * _HOUR
        angles = [2.0 * np.pi * _PARTS[part](local) for part in self.parts]
        circles = [of(angle) for angle in angles for of in (np.sin, np.cos)]
        before, after = others[:, : self.column_], others[:, self.column_ :]
        return np.column_stack([before, *circles, after])

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Names of the new columns.

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of the columns of `fit`, if they had none there.

        Returns
        -------
        names : ndarray of str
        """
        check_is_fitted(self, "column_")
        names = list(feature_names(self) if input_features is None else input_features)
        if len(names) != self.n_features_in_ or (
            hasattr(self, "feature_names_in_") and names != list(feature_names(self))
        ):
            raise ValueError(
                "input_features is not equal to feature_names_in_, or it has not one name for each "
                f"of the {self.n_features_in_} columns."
            )
        stamp = names[self.column_]
        new = [f"{stamp}_{part}_{of}" for part in self.parts for of in ("sin", "cos")]
        return np.array([*names[: self.column_], *new, *names[self.column_ + 1 :]], dtype=object)

    def _split(self, X: Any, *, reset: bool) -> tuple[FloatArray, FloatArray]:
        """Time stamps in seconds, and the other columns."""
        columns = _frame_columns(X)
        if columns is None and not _has_dates(X):
            rows = validate_data(
                self, X, reset=reset, dtype=np.float64, ensure_all_finite="allow-nan"
            )
            self._find_column(reset)
            stamps, others = rows[:, self.column_], np.delete(rows, self.column_, axis=1)
        else:
            validate_data(self, X, reset=reset, skip_check_array=True)
            self._find_column(reset)
            columns = list(np.asarray(X).T) if columns is None else columns
            stamps = columns.pop(self.column_)
            others = _numbers(columns, len(stamps))
        return self._seconds(stamps), others

    def _find_column(self, reset: bool) -> None:
        if not reset:
            return
        names = list(getattr(self, "feature_names_in_", ()))
        n = self.n_features_in_
        if isinstance(self.column, str):
            if self.column not in names:
                raise ValueError(
                    f"column={self.column!r} is not among the columns: "
                    f"{names if names else 'they have no names'}. Give its name or its position."
                )
            self.column_ = names.index(self.column)
        elif -n <= self.column < n:
            self.column_ = int(self.column) % n
        else:
            raise ValueError(f"column={self.column} is not among the {n} columns. Count from 0.")

    def _seconds(self, stamps: Any) -> FloatArray:
        if holds_dates(stamps):
            seconds = seconds_since_1970(stamps)
        else:
            seconds = np.asarray(stamps, dtype=np.float64) * _SECONDS[self.unit]
        if not np.isfinite(seconds).all():
            row = int(np.isfinite(seconds).argmin())
            raise ValueError(
                f"{self._named()} contains NaN or infinity, or a missing date: row {row}. Every "
                "row needs a time stamp. Remove such rows, or fill in their time."
            )
        return seconds

    def _named(self) -> str:
        names = getattr(self, "feature_names_in_", None)
        return f"Column {self.column_ if names is None else repr(names[self.column_])}"


def _frame_columns(X: Any) -> list[Any] | None:
    """Columns of a data frame of pandas, polars or Arrow, or None for another X."""
    is_arrow = hasattr(type(X), "column_names")
    names = X.column_names if is_arrow else getattr(X, "columns", None)
    if names is None or not hasattr(X, "__getitem__"):
        return None
    return [X[name] for name in names]


def _has_dates(X: Any) -> bool:
    """Whether rows that are no data frame hold dates."""
    array = X if hasattr(X, "dtype") else np.asarray(X, dtype=object)
    if getattr(array, "ndim", 0) != 2 or getattr(array, "shape", (0,))[0] == 0:
        return False
    return any(holds_dates(value) for value in array[:1].T) if array.dtype.kind in "MO" else False


def _numbers(columns: list[Any], n_rows: int) -> FloatArray:
    """The other columns, as float64."""
    if not columns:
        return np.empty((n_rows, 0))
    if any(map(holds_dates, columns)):
        raise ValueError("Only one column may hold dates. Remove the others, or make them numbers.")
    rows = np.column_stack([np.asarray(column) for column in columns])
    return np.asarray(check_array(rows, dtype=np.float64, ensure_all_finite="allow-nan"))
