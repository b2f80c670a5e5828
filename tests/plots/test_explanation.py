import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from matplotlib.colors import to_hex
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError

from rankad import RankAD
from rankad.baselines import KLPE
from rankad.explanations import Reason
from rankad.plots import ExplanationDisplay


@pytest.fixture(scope="module")
def explanation(frame):
    return frame.detector.explain(frame.fresh[:3])


def tick_labels(display):
    return [label.get_text() for label in display.ax_.get_yticklabels()]


def test_bars_reach_from_the_p_value_to_what_it_would_be_most_gain_first(explanation):
    display = ExplanationDisplay.from_explanation(explanation, row=1)
    before = explanation.p_values[1]
    after = explanation.p_values_after[1][np.argsort(-explanation.gains[1], kind="stable")]
    assert_array_equal([bar.get_x() for bar in display.bars_], before)
    assert_allclose([bar.get_width() for bar in display.bars_], after - before)
    assert_array_equal(display.before_.get_xdata(), before)
    bottom, top = display.ax_.get_ylim()
    assert bottom > top


def test_bars_say_from_where_to_where_and_what_then(explanation):
    display = ExplanationDisplay.from_explanation(explanation)
    best = explanation.best_values[0, 2]
    assert tick_labels(display)[0] == f"flow\n60 → {best:.4g}"
    texts = [text.get_text() for text in display.ax_.texts]
    assert texts[0] == f"p = {explanation.p_values_after[0, 2]:.3g}"
    assert display.ax_.get_title(loc="left") == f"row 0: p = {explanation.p_values[0]:.3g}"


def test_bars_that_raise_the_p_value_are_blue(explanation):
    display = ExplanationDisplay.from_explanation(explanation)
    for reason, bar in zip(display.reasons, display.bars_, strict=True):
        is_blue = to_hex(bar.get_facecolor()) == "#0072b2"
        assert is_blue == (reason.p_value_after > explanation.p_values[0])


def test_so_many_features_are_drawn(explanation):
    display = ExplanationDisplay.from_explanation(explanation, n_features=2)
    assert len(display.bars_) == len(display.reasons) == 2
    taller = ExplanationDisplay.from_explanation(explanation)
    assert taller.figure_.get_figheight() > display.figure_.get_figheight()


def test_only_the_row_asked_for_is_explained(frame, explanation):
    display = ExplanationDisplay.from_estimator(frame.detector, frame.fresh, row=2, n_features=1)
    assert display.reasons == explanation.top(2, 1)
    assert display.row == 2


@pytest.mark.parametrize("convert", [pl.from_pandas, pa.Table.from_pandas])
def test_frames_of_other_kinds_are_sliced_by_row(frame, explanation, convert):
    rows = convert(frame.fresh.reset_index(drop=True))
    display = ExplanationDisplay.from_estimator(frame.detector, rows, row=1)
    assert display.reasons == explanation.top(1, 10)


def test_lists_of_rows_are_explained(plane):
    display = ExplanationDisplay.from_estimator(plane.detector, plane.fresh[:5].tolist(), row=4)
    assert {reason.name for reason in display.reasons} == {"x0", "x1"}


def test_a_row_that_no_single_feature_makes_nominal_is_marked(frame):
    rows = frame.fresh[:1].assign(pressure=50.0)
    display = ExplanationDisplay.from_estimator(frame.detector, rows)
    assert display.ax_.get_title(loc="left").endswith("and no feature alone would raise it")


def test_a_feature_that_is_best_as_it_is_says_so():
    reasons = [Reason("flow", 3.25, 3.25, gain=0.0, p_value_after=0.4)]
    display = ExplanationDisplay(reasons=reasons, p_value=0.4, row=0).plot()
    assert tick_labels(display) == ["flow\n3.25, none better"]


def test_the_bars_take_the_users_options(explanation):
    display = ExplanationDisplay.from_explanation(explanation, color="red", height=0.3)
    assert to_hex(display.bars_[0].get_facecolor()) == "#ff0000"
    assert display.bars_[0].get_height() == pytest.approx(0.3)


@pytest.mark.parametrize("row", [3, -1, 0.5])
def test_the_row_must_exist(explanation, row):
    with pytest.raises(ValueError, match="row must be an integer from 0 to 2; got"):
        ExplanationDisplay.from_explanation(explanation, row=row)


def test_what_cannot_be_explained_is_refused(plane, frame):
    with pytest.raises(ValueError, match="row must be an integer from 0 to 59"):
        ExplanationDisplay.from_estimator(frame.detector, frame.fresh, row=60)
    with pytest.raises(TypeError, match="ExplanationDisplay takes a fitted RankAD"):
        ExplanationDisplay.from_estimator(KLPE(), plane.fresh)
    with pytest.raises(NotFittedError):
        ExplanationDisplay.from_estimator(RankAD(), plane.fresh)
