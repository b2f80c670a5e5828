"""Every bad input gives a clear error or warning. Unusual but valid input works."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, KBinsDiscretizer, StandardScaler

from rankad import RankAD
from rankad.baselines import KLPE
from rankad.exceptions import NoPairsError
from rankad.options import Pairs, RankSVM

FRAMES = pytest.mark.parametrize(
    "frame",
    [
        lambda X, names: pd.DataFrame(X, columns=names),
        lambda X, names: pl.DataFrame(X, schema=names, orient="row"),
        lambda X, names: pa.table(dict(zip(names, X.T, strict=True))),
    ],
    ids=["pandas", "polars", "arrow"],
)


def fitted(X, **params):
    return RankAD(random_state=0, **params).fit(X)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("when", ["fit", "score"])
def test_nan_and_infinities_are_refused_with_their_place(nominal, value, when):
    bad = nominal.copy()
    bad[[3, 9], 1] = value
    place = r"in 2 of 240 rows, first in row 3 \(counted from 0\), in column 'x1' \(2 rows\)\. Drop"
    with pytest.raises(ValueError, match=rf"contains (NaN|infinity) {place}"):
        fitted(bad) if when == "fit" else fitted(nominal).p_values(bad)


def test_an_estimator_in_place_of_rows_is_refused_with_the_line_for_pipelines(nominal):
    pipe = make_pipeline(StandardScaler(), fitted(nominal))
    for method in ("p_values", "explain"):
        with pytest.raises(TypeError, match=r"got the estimator Pipeline.*pipe\[-1\].p_values\(pi"):
            getattr(pipe[-1], method)(pipe)


METHODS = ["score_samples", "p_values", "predict", "decision_function", "select", "explain"]
METHODS += ["true_alarms", "audit", "calibrate"]


@pytest.mark.parametrize("method", METHODS)
def test_the_remedies_for_nan_fit_the_call(nominal, method):
    bad = nominal.copy()
    bad[0, 0] = np.nan
    with pytest.raises(ValueError, match="constants that you choose in advance, or by an imputer"):
        fitted(bad)
    with pytest.raises(ValueError, match=r"call scorer_.is_alarm\(row, alpha\) for each row"):
        getattr(fitted(nominal), method)(bad)
    if method != "explain":
        with pytest.raises(ValueError, match="Or count such rows as alarms yourself"):
            getattr(KLPE(random_state=0).fit(nominal), method)(bad)


def test_nan_and_infinity_together_are_both_described(nominal):
    bad = np.tile(nominal, 3)
    bad[5] = np.nan
    bad[7, 8] = np.inf
    with pytest.raises(ValueError, match="Input X contains NaN in 1 of") as caught:
        fitted(bad)
    message = str(caught.value)
    assert "'x4' (1 row) and 4 more. Drop these rows or columns" in message
    assert "Input X contains infinity in 1 of 240 rows, first in row 7" in message
    assert message.endswith("or clip the columns to limits that you choose in advance.")


def test_finite_rows_whose_sum_overflows_are_scored(nominal):
    detector = fitted(nominal)
    assert (detector.p_values(np.full((5, 3), 1.7e308)) == 1 / 61).all()
    opposite = np.full((6, 3), 1.7e308)
    opposite[::2] *= -1.0
    assert (detector.p_values(opposite) == 1 / 61).all()


def test_equal_rows_have_nothing_to_rank():
    with pytest.raises(NoPairsError, match=r"the statistic is 0 for every one.*rows all equal"):
        fitted(np.ones((50, 3)))


def test_fewer_rows_than_neighbors_lower_their_number(rng):
    with pytest.warns(UserWarning, match="n_neighbors=10 lowered to 8: there are only 9 training"):
        detector = fitted(rng.normal(size=(12, 2)), alpha=0.5, n_neighbors=10)
    assert detector.n_neighbors_ == 8


def test_rows_with_more_copies_than_neighbors_are_refused_with_advice(rng):
    codes = rng.integers(0, 2, size=(400, 4)).astype(float)
    with pytest.raises(NoPairsError, match=r"is 0 for every.*raise n_neighbors above the number"):
        fitted(codes, n_neighbors=5)
    assert fitted(codes, n_neighbors=50).n_neighbors_ == 50


def test_weights_that_are_all_zero_are_refused(rng):
    with pytest.raises(NoPairsError, match="function weight must not be 0 for all pairs"):
        fitted(rng.normal(size=(60, 2)), pairs=Pairs(3, weight=lambda a, b: 0.0))


def test_one_row_is_refused():
    with pytest.raises(ValueError, match="minimum of 2 is required"):
        fitted(np.ones((1, 3)))


def test_no_rows_left_to_train_on_is_refused(rng):
    with pytest.raises(ValueError, match=r"calibration_size=0.25 leaves 1 of 2 rows to train"):
        fitted(rng.normal(size=(2, 3)))
    with pytest.raises(ValueError, match="calibration_size=99 leaves 0 of 50 rows"):
        fitted(rng.normal(size=(50, 3)), calibration_size=99)


def test_more_rows_than_the_kernel_matrix_allows_are_refused_with_advice(rng, monkeypatch):
    monkeypatch.setattr("rankad.tuning.center_rule.MAX_KERNEL_ROWS", 100)
    with pytest.raises(ValueError, match=r"the limit is 100 centers. Set n_centers to 'auto'"):
        fitted(rng.normal(size=(200, 2)), n_centers=None)
    with pytest.raises(ValueError, match="all of them centers"):
        fitted(rng.normal(size=(200, 2)), n_centers=150)
    assert fitted(rng.normal(size=(200, 2)), n_centers=20).expansion_.n_centers == 20


def test_one_feature_works(rng):
    detector = fitted(rng.normal(size=(200, 1)))
    p = detector.p_values([[0.0], [1.0], [9.0]])
    assert p[0] > p[2] == 1 / 51


def test_one_dimensional_input_is_refused():
    with pytest.raises(ValueError, match="Expected 2D array"):
        fitted(np.arange(10.0))


def test_text_is_refused():
    with pytest.raises(ValueError, match="could not convert string to float"):
        fitted(np.array([["a", "b"], ["c", "d"]]))


@FRAMES
def test_text_columns_of_a_frame_are_named(frame):
    X = frame(np.array([["a", "1"], ["b", "2"]], dtype=object), ["city", "size"])
    with pytest.raises(ValueError, match=r"Columns \['city'\] are not numeric. Encode or drop"):
        fitted(X)


@pytest.mark.parametrize("other", ["text", "when"])
def test_columns_called_by_numbers_are_named_too(other):
    columns = {"text": list("ab") * 25, "when": pd.date_range("2020-01-01", periods=50)}
    with pytest.raises(ValueError, match=r"Columns \[7\] are not numeric"):
        fitted(pd.DataFrame({3: np.arange(50.0), 7: columns[other]}))
    with pytest.raises(ValueError, match=r"Columns \[7\] are not numeric"):
        fitted(pd.DataFrame({7: columns[other]}))


@pytest.mark.parametrize("cells", [[[1.0, 2.0]] * 50, [{"a": 1.0}] * 50], ids=["lists", "structs"])
def test_columns_of_several_values_in_a_cell_are_named(cells):
    with pytest.raises(ValueError, match=r"Columns \['a'\] are not numeric"):
        fitted(pl.DataFrame({"a": cells, "b": np.arange(50.0)}))
    with pytest.raises(ValueError, match=r"Columns \['a'\] are not numeric"):
        fitted(pl.DataFrame({"a": pl.Series([[1.0, 2.0]] * 50, dtype=pl.Array(pl.Float64, 2))}))


def test_columns_may_have_any_name(nominal):
    frame = pd.DataFrame(nominal, columns=["collect", "column_names", "dtype"])
    assert_array_equal(fitted(frame).p_values(frame), fitted(nominal).p_values(nominal))


def test_a_wrong_number_of_features_is_refused(nominal):
    with pytest.raises(ValueError, match="X has 2 features, but RankAD is expecting 3"):
        fitted(nominal).p_values(nominal[:, :2])


@FRAMES
def test_frames_give_the_same_p_values_and_their_names_are_checked(frame, nominal):
    names = ["a", "b", "c"]
    detector = fitted(frame(nominal, names))
    assert_array_equal(detector.feature_names_in_, names)
    assert_array_equal(detector.p_values(frame(nominal, names)), fitted(nominal).p_values(nominal))
    with pytest.raises(ValueError, match="feature names should match"):
        detector.p_values(frame(nominal, ["a", "b", "z"]))


class Counted:
    """A frame, or a column of a frame, that records each conversion to an array."""

    def __init__(self, inner, conversions):
        self._inner, self._conversions = inner, conversions

    def __getattr__(self, name):
        return getattr(self._inner, name)

    def __getitem__(self, name):
        return Counted(self._inner[name], self._conversions)

    def __array__(self, dtype=None, copy=None):
        self._conversions.append(type(self._inner).__name__)
        return np.asarray(self._inner, dtype)

    def astype(self, dtype):  # scikit-learn 1.6 calls it for some columns of pandas
        self._conversions.append(type(self._inner).__name__)
        return self._inner.astype(dtype)


@FRAMES
@pytest.mark.filterwarnings("ignore:No row is selected:rankad.exceptions.CalibrationWarning")
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.uint8, bool])
def test_a_frame_of_numbers_is_converted_once(frame, dtype, rng):
    inner = frame(rng.integers(0, 2, size=(100, 6)).astype(dtype), list("abcdef"))
    detector = RankAD(random_state=0)
    for method in ("fit", "score_samples", "p_values", "predict", "decision_function", "select"):
        conversions = []
        getattr(detector, method)(Counted(inner, conversions))
        assert conversions == [type(inner).__name__], method


@pytest.mark.parametrize("dtype", ["Float32", "Int64", "boolean", "double[pyarrow]"])
def test_nullable_columns_are_converted_once(dtype, rng):
    inner = pd.DataFrame(rng.integers(0, 2, size=(100, 6))).add_prefix("x").astype(dtype)
    conversions = []
    assert_array_equal(
        fitted(Counted(inner, conversions)).reference_.scores, fitted(inner).reference_.scores
    )
    assert conversions == ["DataFrame"]


def test_of_columns_of_objects_the_values_are_looked_at(nominal):
    frame = pd.DataFrame(nominal, columns=["a", "b", "c"])
    as_objects = frame.astype({"b": object}).astype({"c": str})
    assert_array_equal(fitted(as_objects).p_values(as_objects), fitted(frame).p_values(frame))
    conversions = []
    fitted(Counted(as_objects, conversions))
    assert conversions == ["Series", "Series", "DataFrame"]


MISSING = r"contains NaN in 2 of 40 rows, first in row 1 .* in column 'b' \(2 rows\)\. Drop these"


@FRAMES
@pytest.mark.parametrize("when", ["fit", "score"])
def test_missing_values_of_a_frame_are_named(frame, when, nominal):
    names = ["a", "b", "c"]
    values = nominal[:40].copy()
    values[[1, 30], 1] = np.nan
    bad = frame(values, names)
    with pytest.raises(ValueError, match=MISSING):
        fitted(bad) if when == "fit" else fitted(frame(nominal, names)).p_values(bad)


NULLABLE = ["Float64", "Int64", "boolean", "double[pyarrow]", "object", "string", "category"]


@pytest.mark.parametrize("missing", [None, pd.NA, np.nan])
@pytest.mark.parametrize("dtype", NULLABLE)
def test_missing_values_of_columns_of_pandas_are_named(dtype, missing):
    values = [0, missing, *([0, 1] * 18), missing, 1]
    if dtype in ("string", "category"):
        values = [value if value is missing else str(value) for value in values]
    column = pd.Series(values, dtype=object).astype(dtype)
    frame = pd.DataFrame({"a": np.arange(40.0), "b": column, "c": np.arange(40)})
    with pytest.raises(ValueError, match=MISSING):
        fitted(frame)


@pytest.mark.parametrize("other", [1, 1.5, True])
@pytest.mark.parametrize("make", [pl.Series, pa.array], ids=["polars", "arrow"])
def test_nulls_of_polars_and_arrow_are_named(make, other):
    column = make([other, None] + [other] * 37 + [None])
    columns = {"a": make(np.arange(40.0)), "b": column}
    frame = pl.DataFrame(columns) if make is pl.Series else pa.table(columns)
    with pytest.raises(ValueError, match=MISSING):
        fitted(frame)


@pytest.mark.parametrize("missing", [None, pd.NA, np.nan])
def test_missing_values_of_an_array_of_objects_are_named(missing):
    rows = np.arange(80.0).reshape(40, 2).astype(object)
    rows[[1, 5], 0] = missing
    with pytest.raises(ValueError, match=r"NaN in 2 of 40 rows, first in row 1 .* column 'x0'"):
        fitted(rows)


def test_sparse_input_is_refused(nominal):
    with pytest.raises(TypeError, match="Sparse data was passed"):
        fitted(scipy.sparse.csr_array(nominal))
    with pytest.raises(TypeError, match="Sparse data was passed"):
        fitted(nominal).p_values(scipy.sparse.csr_array(nominal))


def test_huge_values_are_refused_in_fit_and_are_anomalies_in_scoring(nominal):
    huge = nominal.copy()
    huge[5, 2] = 1e300
    with pytest.raises(ValueError, match="Column 2 holds values as large as 1e\\+300"):
        fitted(huge)
    with pytest.raises(ValueError, match="Column 'c' holds values"):
        fitted(pd.DataFrame(huge, columns=["a", "b", "c"]))
    detector = fitted(nominal)
    assert detector.p_values(huge)[5] == 1 / 61
    assert np.isfinite(detector.score_samples(huge)).all()


def test_large_units_are_fine(nominal):
    assert_allclose(
        fitted(nominal * 1e100).p_values(nominal * 1e100), fitted(nominal).p_values(nominal)
    )
    assert_allclose(
        fitted(nominal * 1e-100).p_values(nominal * 1e-100), fitted(nominal).p_values(nominal)
    )


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.int8, bool])
def test_other_number_types_work(dtype, rng):
    X = rng.integers(0, 2 if dtype is bool else 9, size=(300, 6)).astype(dtype)
    assert_array_equal(fitted(X).p_values(X), fitted(X.astype(float)).p_values(X.astype(float)))


def test_mixed_columns_of_a_frame_work(rng):
    frame = pd.DataFrame(
        {
            "real": rng.normal(size=100),
            "count": rng.integers(0, 9, size=100),
            "flag": rng.random(100) < 0.5,
        }
    )
    assert fitted(frame).p_values(frame).shape == (100,)


def test_read_only_and_non_contiguous_arrays_work_and_stay_untouched(nominal):
    expected = fitted(nominal).p_values(nominal)
    frozen = nominal.copy()
    frozen.setflags(write=False)
    assert_array_equal(fitted(frozen).p_values(frozen), expected)
    strided = np.repeat(nominal, 2, axis=0)[::2]
    assert_array_equal(fitted(strided).p_values(strided), expected)
    fortran = np.asfortranarray(nominal)
    assert_array_equal(fitted(fortran).p_values(fortran), expected)
    assert_array_equal(fitted(nominal.tolist()).p_values(nominal.tolist()), expected)


def test_a_scaler_that_makes_nan_is_named(nominal):
    with pytest.raises(ValueError, match=r"FunctionTransformer.* turned finite rows into NaN"):
        fitted(nominal, scaler=FunctionTransformer(lambda X: X * np.nan))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("alpha", 1.5),
        ("alpha", 0),
        ("statistic", "nearest"),
        ("n_neighbors", 0),
        ("pairs", 1),
        ("pairs", "tail"),
        ("anchor", -1),
        ("C", 0),
        ("C", "rule"),
        ("sigma", -1.0),
        ("ranker", "hinge"),
        ("n_centers", 0),
        ("scaler", "minmax"),
        ("calibration", "none"),
        ("calibration_size", 0.0),
        ("calibration_size", 1.5),
        ("n_jobs", "all"),
    ],
)
def test_a_bad_parameter_is_named_with_its_value(nominal, name, value):
    with pytest.raises(ValueError, match=f"The '{name}' parameter of RankAD must be"):
        fitted(nominal, **{name: value})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("pairs", Pairs(levels=1)),
        ("pairs", Pairs(levels="tails")),
        ("pairs", Pairs(min_gap=2)),
        ("pairs", Pairs(weight="equal")),
        ("ranker", RankSVM(loss="log")),
        ("ranker", RankSVM(tol=0)),
        ("ranker", RankSVM(max_iter=0)),
        ("ranker", RankSVM(cv=1)),
        ("ranker", RankSVM(outward=-1.0)),
        ("ranker", RankSVM(dtype="float16")),
    ],
)
def test_a_bad_parameter_of_an_object_is_named_with_its_owner(nominal, name, value):
    (changed,) = (key for key in value.get_params() if f"{key}=" in repr(value))
    owner = type(value).__name__
    with pytest.raises(ValueError, match=f"The '{changed}' parameter of {owner} must be"):
        fitted(nominal, **{name: value})


NOT_ANCHORS = [(1.0,), (1.0, 0.0), (-1.0, 8.0), (1.0, "wide"), [1.0, 0.0]]
NOT_FINITE_ANCHORS = [(np.nan, 8.0), (1.0, np.nan), (1.0, np.inf), (np.inf, 8.0)]


@pytest.mark.parametrize("anchor", NOT_ANCHORS + NOT_FINITE_ANCHORS)
def test_an_anchor_is_a_weight_or_weight_and_margin(nominal, anchor):
    with pytest.raises(ValueError, match=r"or a pair \(weight, margin\) with a margin above 0"):
        fitted(nominal, anchor=anchor)


@pytest.mark.parametrize("grid", [[], [1.0, -1.0], [1.0, np.nan], [[1.0], [2.0]]])
@pytest.mark.parametrize("name", ["C", "sigma"])
def test_a_grid_must_be_of_positive_numbers(nominal, name, grid):
    with pytest.raises(ValueError, match=f"{name} must be a positive number, or a non-empty list"):
        fitted(nominal, **{name: grid})


@pytest.mark.parametrize("sigma", [1e-200, 1e-308])
def test_a_width_beyond_arithmetic_is_refused(nominal, sigma):
    with pytest.raises(ValueError, match="is too small for centers"):
        fitted(nominal, sigma=sigma)


def test_an_enormous_width_still_finds_far_points(nominal):
    detector = fitted(nominal, sigma=1e100)
    assert detector.p_values(np.full((1, 3), 1e200))[0] == 1 / 61


def test_a_sparse_scaler_is_named(nominal):
    with pytest.raises(ValueError, match=r"KBinsDiscretizer.* gives sparse columns"):
        fitted(
            nominal,
            scaler=KBinsDiscretizer(encode="onehot", strategy="uniform"),
        )


def test_columns_of_the_same_name_are_refused(nominal):
    with pytest.raises(ValueError, match=r"Several columns are named \['a'\]"):
        fitted(pd.DataFrame(nominal[:, :2], columns=["a", "a"]))


def test_complex_columns_are_refused_by_name(nominal):
    with pytest.raises(ValueError, match=r"Columns \['a'\] are not numeric"):
        fitted(pd.DataFrame({"a": nominal[:, 0] + 1j, "b": nominal[:, 1]}))


def test_dates_are_refused_by_name():
    dates = pd.date_range("2020-01-01", periods=50)
    with pytest.raises(ValueError, match=r"Columns \['when'\] are not numeric"):
        fitted(pd.DataFrame({"when": dates, "size": np.arange(50.0)}))
    with pytest.raises(ValueError, match=r"Columns \['when'\] are not numeric"):
        fitted(pd.DataFrame({"when": dates}))
    with pytest.raises(ValueError, match=r"Columns \['when'\] are not numeric"):
        fitted(pl.DataFrame({"when": dates.to_pydatetime(), "size": np.arange(50.0)}))
    with pytest.raises(ValueError, match="dates or times"):
        fitted(np.array(dates)[:, None])


def test_a_lazy_frame_must_be_collected():
    with pytest.raises(TypeError, match=r"collect\(\)"):
        fitted(pl.LazyFrame({"a": [1.0, 2.0]}))


def test_a_mean_neighbor_distance_of_zero_needs_a_sigma():
    rows = np.random.default_rng(0).permutation(np.repeat(np.arange(5.0), 30))[:, None]
    by_value = RankAD(statistic=lambda X, reference=None: X[:, 0], n_neighbors=5, random_state=0)
    with pytest.raises(ValueError, match="give sigma as a number"):
        by_value.fit(rows)
    by_value.set_params(sigma=1.0).fit(rows)


@pytest.mark.parametrize("names", [["fit", "collect"], ["iloc", "index"], ["dtype", "shape"]])
def test_columns_can_have_any_name(names, rng):
    frame = pd.DataFrame(rng.normal(size=(200, 2)), columns=names)
    detector = RankAD(random_state=0).fit(frame)
    assert detector.explain(frame.iloc[:3]).feature_names == tuple(names)
    assert_array_equal(detector.explain(frame.iloc[3:6]).index, [3, 4, 5])
