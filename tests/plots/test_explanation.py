import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from matplotlib import pyplot as plt
from matplotlib.colors import same_color
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM

from rankad import Calibrated, RankAD
from rankad.baselines import KLPE
from rankad.explanations import Change, Reason
from rankad.plots import ExplanationDisplay
from rankad.plots._usual_units import LEFT, RIGHT, places


@pytest.fixture(scope="module")
def rows(frame):
    """Rows: an alarm by the flow, a nominal one, an alarm that three features do not explain."""
    alarms = frame.fresh[:3].copy()
    alarms.iloc[2] = [50.0, 60.0, 70.0, 80.0]
    return alarms


@pytest.fixture(scope="module")
def explanation(frame, rows):
    return frame.detector.explain(rows)


def reason_of(*changes, **fields):
    """An alarm that the changes explain."""
    changed = {"row": 7, "alpha": 0.05, "p_value": 0.001, "p_value_after": 0.3, "max_features": 3}
    parts = {
        "changes": changes,
        "groups": tuple((change.name,) for change in changes),
        "in_groups": False,
        "nearest": changes,
    }
    return Reason(**(changed | parts | fields))


def drawn(*changes, **options):
    return ExplanationDisplay(reason=reason_of(*changes), **options).plot()


def tick_labels(display):
    return [label.get_text() for label in display.ax_.get_yticklabels()]


def title(display):
    return display.ax_.get_title(loc="left")


def x_of(markers):
    return [float(marker.get_xdata()[0]) for marker in markers]


def markers_of(markers):
    return [marker.get_marker() for marker in markers]


def texts_below(display):
    return [text.get_text() for text in display.ax_.texts if text.get_text()]


def legend_labels(display):
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


# -- The axis: the usual range of every feature goes from 0 to 1 ----------------------------------


def test_values_have_their_place_in_units_of_the_usual_range():
    rng = np.random.default_rng(0)
    low = rng.normal(size=50) * 10.0 ** rng.integers(-8, 9, size=50)
    width = np.exp(rng.normal(size=50))
    place = rng.uniform(LEFT, RIGHT, size=(2, 50))
    values, nominal_values = low + place * width
    numbers = zip(values, nominal_values, low, low + width, strict=True)
    found = places(tuple(Change("f", v, n, (a, b)) for v, n, a, b in numbers))
    assert_allclose(found.x, place, atol=1e-6)  # low and high have lost digits of the width
    assert_array_equal(found.side, 0)
    assert_array_equal(found.usual, np.repeat([[0.0], [1.0]], 50, axis=1))


def test_values_beyond_the_axis_are_drawn_at_its_ends_with_triangles():
    display = drawn(
        Change("right", 31.0, 30.0, (0.0, 10.0)),
        Change("left", -21.0, -20.0, (0.0, 10.0)),
        Change("nominal value", 5.0, 31.0, (0.0, 10.0)),
    )
    assert x_of(display.values_) == [RIGHT, LEFT, 0.5]
    assert markers_of(display.values_) == [">", "<", "o"]
    assert x_of(display.nominal_values_) == [RIGHT, LEFT, RIGHT]
    assert markers_of(display.nominal_values_) == ["o", "o", ">"]
    left, right = display.ax_.get_xlim()
    assert left < LEFT
    assert right > RIGHT


def test_only_a_picture_with_triangles_explains_them():
    near, far = Change("a", 2.0, 0.5, (0.0, 1.0)), Change("b", 0.5, -9.0, (0.0, 1.0))
    assert legend_labels(drawn(near)) == ["this row", "nominal row", "90% of nominal rows"]
    assert legend_labels(drawn(near, far))[3:] == ["beyond the axis"]


def test_two_values_beyond_the_same_end_stay_apart_and_in_order():
    sides = [("right", 9.0, 8.0), ("right", 8.0, 9.0), ("left", -9.0, -8.0), ("left", -8.0, -9.0)]
    found = places(tuple(Change(name, v, n, (0.0, 1.0)) for name, v, n in sides))
    assert_array_equal(np.sign(np.diff(found.x, axis=0))[0], [-1, 1, 1, -1])
    assert np.abs(np.diff(found.x, axis=0)).min() > 0.3
    assert_array_equal(found.side, [[1, 1, -1, -1]] * 2)
    assert_array_equal(found.x.max(axis=0)[:2], RIGHT)
    assert_array_equal(found.x.min(axis=0)[2:], LEFT)


def test_a_feature_with_one_usual_value_has_a_mark_in_the_middle():
    display = drawn(
        Change("flag", 1.0, 0.0, (0.0, 0.0)),
        Change("rare", 0.0, 7.0, (0.0, 0.0)),
        Change("constant", -1e9, 2.0, (2.0, 2.0)),
        Change("between", 5.0, 2.0, (1.0, 1.0)),
    )
    assert_allclose(x_of(display.values_), [2.0, 0.5, -1.0, 2.0])
    assert_allclose(x_of(display.nominal_values_), [0.5, 2.0, 0.5, 0.5 + 1.5 / 4.0])
    assert markers_of(display.values_ + display.nominal_values_) == ["o"] * 8
    for (left, _), (right, _) in display.usual_.get_segments():
        assert 0.4 < left < 0.5 < right < 0.6
    assert texts_below(display) == ["0", "0", "2", "1"]


@pytest.mark.parametrize("usual", [(0.0, 1.0), (0.0, 5e-324), (-1.7e308, 1.7e308), (0.0, 0.0)])
@pytest.mark.parametrize(
    ("value", "nominal"), [(1.7e308, -1.7e308), (1.7e308, 0.0), (1e307, 5e-324)]
)
def test_huge_and_tiny_numbers_are_drawn(usual, value, nominal):
    display = drawn(Change("f", value, nominal, usual))
    ends = np.array(x_of(display.values_ + display.nominal_values_))
    assert ((ends >= LEFT) & (ends <= RIGHT)).all()
    assert ends[0] > ends[1]
    display.figure_.canvas.draw()


# -- Lines ----------------------------------------------------------------------------------------


def test_an_alarm_is_drawn_from_its_values_to_the_nominal_values(explanation):
    display = ExplanationDisplay.from_explanation(explanation)
    (change,) = explanation[0].changes
    low, high = change.usual
    assert x_of(display.values_) == [RIGHT]  # 60 is far outside
    (nominal_x,) = x_of(display.nominal_values_)
    assert nominal_x == pytest.approx((change.nominal_value - low) / (high - low))
    assert display.arrows_[0].xyann == (RIGHT, 0)
    assert display.arrows_[0].xy == (nominal_x, 0)
    assert_array_equal(display.usual_.get_segments(), [[[0.0, 0.0], [1.0, 0.0]]])
    assert tick_labels(display) == [f"flow\n60 → {change.nominal_value:.4g}"]
    assert texts_below(display) == [f"{low:.4g} to {high:.4g}"]


def test_the_rows_values_are_red_and_the_nominal_values_blue(explanation):
    display = ExplanationDisplay.from_explanation(explanation, row=1)
    assert {marker.get_color() for marker in display.values_} == {"#D55E00"}
    assert {marker.get_color() for marker in display.nominal_values_} == {"#0072B2"}
    handles = dict(zip(legend_labels(display), display.ax_.get_legend().get_lines(), strict=True))
    assert handles["this row"].get_color() == "#D55E00"
    assert handles["nominal row"].get_color() == "#0072B2"


def test_the_largest_change_is_on_top(explanation):
    display = ExplanationDisplay.from_explanation(explanation, row=2)
    names = [change.name for change in explanation[2].nearest]
    assert [label.split("\n")[0] for label in tick_labels(display)] == names
    assert [marker.get_ydata()[0] for marker in display.values_] == [0, 1, 2, 3]
    bottom, top = display.ax_.get_ylim()
    assert bottom > 3
    assert top < 0


def test_at_most_n_features_are_drawn_and_the_rest_is_counted():
    changes = [Change(f"f{i}", 9.0, 0.0, (-1.0, 1.0)) for i in range(14)]
    display = drawn(*changes)
    assert len(display.values_) == len(display.arrows_) == 10
    assert tick_labels(display)[9:] == ["f9\n9 → 0", "and 4 more"]
    fewer = drawn(*changes, n_features=2)
    assert tick_labels(fewer) == ["f0\n9 → 0", "f1\n9 → 0", "and 12 more"]
    assert fewer.figure_.get_figheight() < display.figure_.get_figheight()
    assert tick_labels(drawn(*changes, n_features=14))[13:] == ["f13\n9 → 0"]


def test_numbers_have_the_digits_that_tell_them_apart():
    display = drawn(
        Change("day", 20240131.0, 20240107.0, (20240101.0, 20240130.0)),
        Change("share", 0.123456789, 0.123456788, (0.5, 0.50001)),
        Change("length", 12.3456, 1e12, (-1.0, 1.0)),
    )
    assert tick_labels(display) == [
        "day\n20240131 → 20240107",
        "share\n0.123456789 → 0.123456788",
        "length\n12.35 → 1e+12",
    ]
    assert texts_below(display) == ["20240101 to 20240130", "0.5 to 0.50001", "-1 to 1"]


def test_long_names_keep_their_start_and_their_end():
    name = "mean_concave_points_of_the_three_worst_cells"
    label = tick_labels(drawn(Change(name, 2.0, 0.0, (0.0, 1.0))))[0].split("\n")[0]
    start, end = label.split("…")
    assert name.startswith(start)
    assert name.endswith(end)
    assert len(start) == len(end) == 16


def test_a_dollar_sign_is_no_formula():
    display = drawn(Change("price_$_\\frac_$", 2.0, 0.0, (0.0, 1.0)), name="$\\frac$")
    display.figure_.canvas.draw()  # a formula would be wrong here, and raise
    assert tick_labels(display)[0].startswith("price_$_\\frac_$\n")


# -- Titles ---------------------------------------------------------------------------------------


def test_the_title_has_the_p_values_before_and_after(explanation):
    reason = explanation[0]
    display = ExplanationDisplay.from_explanation(explanation)
    before_after = f"p = {reason.p_value:.3g} → {reason.p_value_after:.3g}"
    assert title(display) == f"row 400: {before_after}\nif this feature changes"
    change = Change("f", 2.0, 0.0, (0.0, 1.0))
    assert title(drawn(change, change)) == "row 7: p = 0.001 → 0.3\nif these 2 features change"


@pytest.mark.parametrize(
    ("groups", "what"),
    [
        ((("a", "b"),), "this group of correlated features changes"),
        ((("a",), ("b",)), "these 2 groups of correlated features change"),
    ],
)
def test_the_title_names_groups(groups, what):
    changes = [Change(name, 2.0, 0.0, (0.0, 1.0)) for name in "ab"]
    reason = reason_of(*changes, groups=groups, in_groups=True)
    assert title(ExplanationDisplay(reason=reason).plot()).endswith(f"0.3\nif {what}")


def test_an_alarm_that_is_not_explained_says_so_and_shows_its_nearest_nominal_row(explanation):
    display = ExplanationDisplay.from_explanation(explanation, row=2, n_features=3)
    reason = explanation[2]
    assert title(display) == (
        f"row 402: p = {reason.p_value:.3g}, not explained by 3 features or groups of features\n"
        "Differences to its nearest nominal row:"
    )
    expected = places(reason.nearest[:3])
    assert x_of(display.nominal_values_) == expected.x[1].tolist()
    assert tick_labels(display)[3:] == ["and 1 more"]
    reason = reason_of(changes=(), groups=(), max_features=1)
    assert "not explained by one feature" in title(ExplanationDisplay(reason=reason).plot())


def test_a_row_that_does_not_alarm_says_so(explanation):
    display = ExplanationDisplay.from_explanation(explanation, row=1)
    assert title(display).startswith(f"row 401: p = {explanation[1].p_value:.3g}, no alarm\n")
    assert len(display.values_) == len(explanation[1].nearest) == 4


def test_a_row_that_equals_a_nominal_row_has_no_lines():
    reason = reason_of(p_value=0.8, p_value_after=0.8)
    display = ExplanationDisplay(reason=reason).plot()
    assert title(display) == "row 7: p = 0.8, no alarm\nIt equals a nominal row"
    assert display.values_ == []
    assert tick_labels(display) == []
    display.figure_.canvas.draw()


def test_texts_stay_inside_the_figure():
    name = "mean_concave_points_of_the_three_worst_cells"
    changes = [Change(name, -1.234e-200, 1.234e-200, (-9.876e-200, 9.876e-200))] * 3
    reason = reason_of(*changes, row="2024-01-01 00:00:00", in_groups=True)
    figure = ExplanationDisplay(reason=reason).plot().figure_
    figure.canvas.draw()
    needed = figure.get_tightbbox()
    assert needed.x0 >= 0.0
    assert needed.x1 <= figure.get_figwidth()
    assert needed.y0 >= 0.0
    assert needed.y1 <= figure.get_figheight()


def test_arrows_have_the_color_of_text():
    with plt.style.context("dark_background"):
        display = drawn(Change("f", 2.0, 0.0, (0.0, 1.0)))
    assert same_color(display.arrows_[0].arrow_patch.get_edgecolor(), "white")


@pytest.mark.parametrize("word", ["color", "colors"])
def test_the_usual_ranges_take_the_users_options(explanation, word):
    display = ExplanationDisplay.from_explanation(explanation, linewidth=3.0, **{word: "green"})
    assert same_color(display.usual_.get_color()[0][:3], "green")
    assert display.usual_.get_linewidth() == [3.0]


# -- Rows and detectors ---------------------------------------------------------------------------


def test_only_the_row_asked_for_is_explained(frame, rows, explanation, monkeypatch):
    asked = []
    explain = RankAD.explain

    def counting(self, X, **options):
        asked.append(len(X))
        return explain(self, X, **options)

    monkeypatch.setattr(RankAD, "explain", counting)
    display = ExplanationDisplay.from_estimator(frame.detector, rows, row=2, n_features=1)
    assert asked == [1]
    assert display.reason == explanation[2]
    assert display.reason.row == 402  # the label in the index of the frame


CONVERSIONS = {
    "polars": pl.from_pandas,
    "Arrow": pa.Table.from_pandas,
    "NumPy": pd.DataFrame.to_numpy,
    "lists": lambda rows: rows.to_numpy().tolist(),
}


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("kind", CONVERSIONS)
def test_rows_of_all_kinds_are_taken_by_their_position(frame, rows, explanation, kind):
    converted = CONVERSIONS[kind](rows.reset_index(drop=True))
    display = ExplanationDisplay.from_estimator(frame.detector, converted, row=np.int64(2))
    assert display.reason.row == 2
    assert display.reason.nearest == explanation[2].nearest


@pytest.mark.parametrize(
    "detector", [KLPE(random_state=0), Calibrated(OneClassSVM(), random_state=0)], ids=repr
)
def test_every_detector_is_explained(detector):
    rng = np.random.default_rng(3)
    detector.fit(rng.normal(size=(300, 3)))
    display = ExplanationDisplay.from_estimator(detector, [[0.0, 0.0, 0.0], [0.0, 60.0, 0.0]], 1)
    assert display.reason.features == ("x1",)
    assert title(display).startswith("row 1: p = ")


@pytest.mark.parametrize("row", [3, -1, 0.5])
def test_the_row_must_exist(frame, rows, explanation, row):
    for draw in (
        lambda: ExplanationDisplay.from_explanation(explanation, row=row),
        lambda: ExplanationDisplay.from_estimator(frame.detector, rows, row=row),
    ):
        with pytest.raises(ValueError, match=f"row must be an integer from 0 to 2; got {row}"):
            draw()


@pytest.mark.parametrize("n_features", [0, -1, 1.5, None])
def test_the_number_of_features_is_checked(explanation, n_features):
    with pytest.raises(ValueError, match=f"n_features must be an .*at least 1; got {n_features}"):
        ExplanationDisplay.from_explanation(explanation, n_features=n_features)
    assert plt.get_fignums() == []


def test_what_cannot_be_explained_is_refused(plane):
    with pytest.raises(TypeError, match=r"detector of rankad; got OneClassSVM.*rankad\.Calibrated"):
        ExplanationDisplay.from_estimator(OneClassSVM(), plane.fresh)
    pipe = make_pipeline(StandardScaler(), RankAD())
    with pytest.raises(TypeError, match=r"Of a pipeline, .*from_estimator\(pipe\[-1\]"):
        ExplanationDisplay.from_estimator(pipe, plane.fresh)
    with pytest.raises(NotFittedError):
        ExplanationDisplay.from_estimator(RankAD(), plane.fresh)
    for rows in (pl.LazyFrame(plane.fresh), csr_array(plane.fresh)):
        kind = type(rows).__name__
        with pytest.raises(TypeError, match=f"X must be a dense array, a data frame .*got {kind}"):
            ExplanationDisplay.from_estimator(plane.detector, rows)
