import re
from datetime import UTC, date, datetime, timedelta, timezone

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from rankad import RankAD, TimeColumns

N = 60
STAMPS = np.datetime64("2023-12-28T00:00:00", "s") + np.arange(N) * np.timedelta64(5 * 3600 + 7)
SECONDS = STAMPS.astype(np.int64).astype(np.float64)


def oracle(stamps):
    """The four columns of each date, by Python's own calendar."""
    found = []
    for stamp in stamps:
        seconds = stamp.hour * 3600 + stamp.minute * 60 + stamp.second
        hour, weekday = 2 * np.pi * seconds / 86_400, 2 * np.pi * stamp.weekday() / 7
        found.append([np.sin(hour), np.cos(hour), np.sin(weekday), np.cos(weekday)])
    return np.array(found)


@pytest.fixture
def values(rng):
    return rng.normal(size=N)


# The checks put NaN into column 0, where there must be none. The other columns may have NaN.
@parametrize_with_checks([TimeColumns(), TimeColumns(parts=["weekday"], utc_offset=2)])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def test_numbers_match_the_calendar(values):
    new = TimeColumns(1).fit_transform(np.c_[values, SECONDS, -values])
    assert_allclose(new, np.c_[values, oracle(STAMPS.tolist()), -values], atol=1e-10)


@pytest.mark.parametrize(("unit", "factor"), [("ms", 10**3), ("us", 10**6), ("ns", 10**9)])
@pytest.mark.parametrize("kind", [np.int64, np.float64])
def test_units(unit, factor, kind):
    stamps = (STAMPS.astype(np.int64) * factor).astype(kind)[:, None]
    new = TimeColumns(unit=unit).fit_transform(stamps)
    assert_allclose(new, oracle(STAMPS.tolist()), atol=1e-9)


FRAMES = {
    "pandas": lambda values: pd.DataFrame({"v": values, "time": STAMPS, "w": range(N)}),
    "pandas with a zone": lambda values: pd.DataFrame(
        {
            "v": values,
            "time": pd.Series(STAMPS).dt.tz_localize("UTC").dt.tz_convert("America/Lima"),
            "w": range(N),
        }
    ),
    "polars": lambda values: pl.DataFrame({"v": values, "time": STAMPS.tolist(), "w": range(N)}),
    "Arrow": lambda values: pa.table({"v": values, "time": STAMPS.tolist(), "w": range(N)}),
    "numbers in a frame": lambda values: pd.DataFrame(
        {"v": values, "time": SECONDS, "w": range(N)}
    ),
}


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
@pytest.mark.parametrize("column", ["time", 1, -2])
def test_frames(frame, column, values):
    times = TimeColumns(column)
    new = times.fit_transform(frame(values))
    assert_allclose(new, np.c_[values, oracle(STAMPS.tolist()), range(N)], atol=1e-10)
    names = ["v", "time_hour_sin", "time_hour_cos", "time_weekday_sin", "time_weekday_cos", "w"]
    assert times.get_feature_names_out().tolist() == names
    assert_array_equal(times.get_feature_names_out(["v", "time", "w"]), names)


def test_arrays_of_dates():
    expected = oracle(STAMPS.tolist())
    zone = timezone(timedelta(hours=-3))
    aware = [stamp.replace(tzinfo=UTC).astimezone(zone) for stamp in STAMPS.tolist()]
    for X in (
        STAMPS[:, None],
        STAMPS.astype("datetime64[ns]")[:, None],
        STAMPS.astype(object)[:, None],
        [[stamp] for stamp in aware],
    ):
        assert_allclose(TimeColumns().fit_transform(X), expected, atol=1e-10)


def test_rows_of_dates_and_numbers(values):
    X = [[stamp, value] for stamp, value in zip(STAMPS.tolist(), values, strict=True)]
    assert_allclose(TimeColumns().fit_transform(X), np.c_[oracle(STAMPS.tolist()), values])
    days = [[date(2024, 1, 1), 1], [date(2024, 1, 2), 2]]
    assert_allclose(TimeColumns(parts=["hour"]).fit_transform(days), [[0, 1, 1], [0, 1, 2]])


def test_the_offset_is_added():
    local = [stamp + timedelta(hours=5.5) for stamp in STAMPS.tolist()]
    new = TimeColumns(utc_offset=5.5).fit_transform(SECONDS[:, None])
    assert_allclose(new, oracle(local), atol=1e-10)


def test_parts_keep_their_order():
    X = SECONDS[:, None]
    both = TimeColumns().fit_transform(X)
    assert_array_equal(
        TimeColumns(parts=["weekday", "hour"]).fit_transform(X), both[:, [2, 3, 0, 1]]
    )
    assert_array_equal(TimeColumns(parts=("hour",)).fit_transform(X), both[:, :2])


def test_a_row_is_the_same_alone_and_in_a_batch(values):
    X = np.c_[SECONDS, values]
    times = TimeColumns().fit(X[:1])
    alone = np.concatenate([times.transform(row[None]) for row in X])
    assert_array_equal(alone, times.transform(X))
    assert_array_equal(alone, TimeColumns().fit_transform(X))  # nothing is learned from the rows


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_the_output_may_be_a_frame(library, values):
    frame = TimeColumns().set_output(transform=library).fit_transform(np.c_[SECONDS, values])
    assert list(frame.columns)[-2:] == ["x0_weekday_cos", "x1"]


def test_inside_the_hold_out(values):
    X = np.c_[SECONDS, np.sin(2 * np.pi * SECONDS / 86_400) + 0.1 * values]
    X = np.random.default_rng(0).permutation(X)  # their noise is independent
    scaler = make_pipeline(TimeColumns(parts=["hour"]), StandardScaler())
    detector = clone(RankAD(scaler=scaler, alpha=0.2, random_state=0)).fit(X)
    noon, night = 1_703_764_800.0, 1_703_721_600.0 + 6 * 3600
    assert detector.score_samples([[night, 1.0]]) > detector.score_samples([[noon, 1.0]])
    assert np.isfinite(detector.score_samples([[1e300, 1.0], [-1e300, 0.0]])).all()


def test_before_a_detector(values):
    frame = FRAMES["pandas"](values).sample(frac=1.0, random_state=0)
    pipeline = make_pipeline(TimeColumns("time"), RankAD(alpha=0.2, random_state=0)).fit(frame)
    assert set(pipeline.predict(frame)) <= {-1, 1}
    same = RankAD(alpha=0.2, random_state=0).fit(TimeColumns("time").fit_transform(frame))
    assert_array_equal(
        pipeline.score_samples(frame), same.score_samples(pipeline[0].transform(frame))
    )


def test_the_other_columns_may_have_holes(values):
    values[3] = np.nan
    assert np.isnan(TimeColumns().fit_transform(np.c_[SECONDS, values])[3, -1])
    assert np.isnan(TimeColumns("time").fit_transform(FRAMES["pandas"](values))[3, 0])
    passed = ColumnTransformer([("t", TimeColumns(), [0])], remainder="passthrough")
    assert passed.fit_transform(np.c_[SECONDS, values]).shape == (N, 5)


def frame_of(column, **other):
    return pd.DataFrame({"time": column, **other})


BAD_ROWS = {
    "Column 0 contains NaN or infinity, or a missing date: row 1": [[1.0], [np.nan]],
    "Column 'time' contains NaN or infinity, or a missing date: row 1": frame_of(
        [datetime(2024, 1, 1), None]
    ),
    "Column 'time' contains NaN or infinity": frame_of([1.0, np.inf]),
    "Set unit= to the unit of the stamps": [[1.7e12], [1.7e12]],
    "Only one column may hold dates": frame_of(STAMPS[:2], other=STAMPS[:2]),
    "could not convert": frame_of(STAMPS[:2], other=["x", "y"]),
    "contains infinity": frame_of(STAMPS[:2], other=[1.0, np.inf]),
}


@pytest.mark.parametrize("message", BAD_ROWS)
def test_bad_rows_are_refused(message):
    with pytest.raises(ValueError, match=re.escape(message)):
        TimeColumns().fit(BAD_ROWS[message])


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"column": "when"}, "column='when' is not among the columns: ['time', 'v']"),
        ({"column": 2}, "column=2 is not among the 2 columns"),
        ({"column": -3}, "column=-3 is not among the 2 columns"),
        ({"column": 0.5}, "The 'column' parameter of TimeColumns must be"),
        ({"parts": ["minute"]}, "parts must be one or more of ['hour', 'weekday'], each once"),
        ({"parts": []}, "parts must be one or more of"),
        ({"parts": ["hour", "hour"]}, "parts must be one or more of"),
        ({"unit": "min"}, "The 'unit' parameter of TimeColumns must be"),
        ({"utc_offset": 99}, "The 'utc_offset' parameter of TimeColumns must be"),
    ],
)
def test_a_bad_parameter_is_refused(params, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        TimeColumns(**params).fit(frame_of(SECONDS, v=SECONDS))


def test_other_errors(values):
    with pytest.raises(ValueError, match="they have no names"):
        TimeColumns("time").fit(np.c_[SECONDS, values])
    with pytest.raises(NotFittedError):
        TimeColumns().transform([[1.0]])
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        TimeColumns().fit(scipy.sparse.csr_array(np.ones((3, 2))))
    with pytest.raises(ValueError, match="feature names should match"):
        TimeColumns("time").fit(FRAMES["pandas"](values)).transform(frame_of(STAMPS))
