"""The strata of rows, as users give them."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal

from rankad.calibration import StratumLabels

SAME_VALUES = {
    "list": ["a", "b", "a"],
    "tuple": ("a", "b", "a"),
    "array": np.array(["a", "b", "a"]),
    "objects": np.array(["a", "b", "a"], dtype=object),
    "column": np.array([["a"], ["b"], ["a"]]),
    "texts of NumPy": [np.str_("a"), "b", "a"],
    "pandas series": pd.Series(["a", "b", "a"], index=[5, 5, 7]),
    "pandas categories": pd.Series(["a", "b", "a"], dtype="category"),
    "pandas Categorical": pd.Categorical(["a", "b", "a"]),
    "pandas frame": pd.DataFrame({"country": ["a", "b", "a"]}),
    "polars series": pl.Series(["a", "b", "a"]),
    "polars categories": pl.Series(["a", "b", "a"], dtype=pl.Categorical),
    "polars frame": pl.DataFrame({"country": ["a", "b", "a"]}),
    "Arrow array": pa.array(["a", "b", "a"]),
    "Arrow table": pa.table({"country": ["a", "b", "a"]}),
}


@pytest.mark.parametrize("values", SAME_VALUES.values(), ids=SAME_VALUES)
def test_strata_come_in_many_forms(values):
    found = StratumLabels.from_values(values)
    assert found.keys == ("a", "b")
    assert {type(key) for key in found.keys} == {str}
    assert_array_equal(found.codes, [0, 1, 0])


@pytest.mark.parametrize(
    "values",
    [
        [1, 2],
        [1.0, 2.0],
        [np.int64(1), np.float32(2)],
        np.array([1, 2], dtype=np.int8),
        np.array([1.0, 2.0]),
        pd.Series([1, 2], dtype="Int64"),
        pl.Series([1, 2]),
        range(1, 3),
    ],
)
def test_equal_numbers_are_one_key(values):
    assert set(StratumLabels.from_values(values).keys) == {1, 2}
    assert not set(StratumLabels.from_values(values).keys) & {"1", "2"}


def test_a_list_keeps_the_types_of_its_values():
    assert StratumLabels.from_values([1, "1", ("a", 1)]).keys == (1, "1", ("a", 1))


@pytest.mark.parametrize(
    "values",
    [
        [("a", 1), ("a", 2)],
        pd.DataFrame({"country": ["a", "a"], "hour": [1, 2]}),
        pl.DataFrame({"country": ["a", "a"], "hour": [1, 2]}),
        pa.table({"country": ["a", "a"], "hour": [1, 2]}),
        np.array([["a", 1], ["a", 2]], dtype=object),
    ],
    ids=["tuples", "pandas", "polars", "Arrow", "array"],
)
def test_several_columns_cross_their_strata(values):
    assert StratumLabels.from_values(values).keys == (("a", 1), ("a", 2))


def test_dates_are_the_same_key_in_every_unit():
    days = np.array(["2026-01-01", "2026-01-02"], dtype="datetime64[D]")
    exact = StratumLabels.from_values(days.astype("datetime64[ns]"))
    assert exact.keys == StratumLabels.from_values(days).keys
    assert exact.keys == StratumLabels.from_values(pd.Series(days)).keys


MISSING = {
    "None": ["a", None, "b", None],
    "NaN": [1.0, float("nan"), 2.0, float("nan")],
    "array": np.array([1.0, np.nan, 2.0, np.nan]),
    "NA": pd.Series([1, pd.NA, 2, pd.NA], dtype="Int64"),
    "NaT": pd.Series(pd.to_datetime(["2026-01-01", None, "2026-01-02", None])),
    "categories": pd.Categorical(["a", None, "b", None]),
    "null": pl.Series(["a", None, "b", None]),
    "crossed": [("a", 1), ("a", None), ("b", 1), ("b", float("nan"))],
}


@pytest.mark.parametrize("values", MISSING.values(), ids=MISSING)
def test_missing_strata_are_refused_with_their_positions(values):
    with pytest.raises(ValueError, match=r"must not be missing; got .* at positions 1, 3\. Give"):
        StratumLabels.from_values(values)


@pytest.mark.parametrize("values", ["DE", b"DE", 3, {"a": 1}, iter("ab")])
def test_what_is_no_list_of_values_is_refused(values):
    with pytest.raises(TypeError, match="strata must be a list, an array, a series or a frame"):
        StratumLabels.from_values(values)


def test_values_that_are_no_keys_are_refused():
    with pytest.raises(TypeError, match="strata must be hashable values"):
        StratumLabels.from_values([["a"], ["b"]])
    with pytest.raises(ValueError, match=r"must have shape .*; got \(2, 1, 1\)"):
        StratumLabels.from_values(np.zeros((2, 1, 1)))
