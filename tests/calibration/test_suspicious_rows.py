"""The rows to look at first: order, p-values, parts, displays."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rankad.calibration import StratumLabels, SuspiciousRows

SCORES = np.array([3.0, -9.0, 2.0, 2.0, -np.inf])


@given(arrays(np.float64, st.integers(0, 12), elements=st.sampled_from([-1.0, 0.0, 0.5, 7.0])))
def test_the_p_value_is_the_share_of_rows_that_score_at_most_as_high(scores):
    rows = SuspiciousRows.from_scores(scores)
    assert sorted(rows.indices) == list(range(len(scores)))
    for row, p, score in zip(rows.indices, rows.p_values, rows.scores, strict=True):
        assert score == scores[row]
        assert p == np.mean(scores <= scores[row])
    assert (np.diff(rows.p_values) >= 0).all()
    assert (np.diff(rows.scores) >= 0).all()


def test_with_strata_a_row_is_compared_with_its_own():
    labels = StratumLabels.from_values(["a", "b", "a", "b", "b"])
    rows = SuspiciousRows.from_scores(SCORES, labels)
    assert dict(zip(rows.indices.tolist(), rows.p_values.tolist(), strict=True)) == pytest.approx(
        {4: 1 / 3, 2: 1 / 2, 1: 2 / 3, 0: 1.0, 3: 1.0}
    )
    assert rows.indices.tolist() == [4, 2, 1, 3, 0], "equal p-values are in the order of scores"


def test_parts_are_the_first_rows():
    rows = SuspiciousRows.from_scores(SCORES)
    assert rows.first(2).indices.tolist() == [4, 1]
    assert len(rows.first(0)) == 0
    assert len(rows.first(99)) == len(rows) == 5
    assert rows.at(0.4).indices.tolist() == [4, 1]
    assert rows.at(0.8).indices.tolist() == [4, 1, 2, 3]
    assert len(rows.at(0.19)) == 0
    assert rows.at(1.0).first(3).p_values.tolist() == [0.2, 0.4, 0.8]


@pytest.mark.parametrize("n", [-1, 2.0, "2", None, True])
def test_what_is_no_number_of_rows_is_refused(n):
    with pytest.raises(ValueError, match="n must be a whole number of at least 0; got"):
        SuspiciousRows.from_scores(SCORES).first(n)


@pytest.mark.parametrize("alpha", [-0.1, 1.1, np.nan, True])
def test_what_is_no_alpha_is_refused(alpha):
    with pytest.raises(ValueError, match="alpha must be at least 0 and at most 1; got"):
        SuspiciousRows.from_scores(SCORES).at(alpha)


def test_the_frame_keeps_the_index():
    index = pd.Index(["u", "v", "w", "x", "y"], name="customer")
    frame = SuspiciousRows.from_scores(SCORES, labels=index).first(3).to_frame()
    assert frame.index.tolist() == ["y", "v", "w"]
    assert frame.index.name == "customer"
    assert frame["position"].tolist() == [4, 1, 2]
    assert frame["p_value"].tolist() == [0.2, 0.4, 0.8]
    assert frame["score"].tolist() == [-np.inf, -9.0, 2.0]
    assert SuspiciousRows.from_scores(SCORES).to_frame().index.tolist() == [4, 1, 2, 3, 0]


def test_displays_are_short_and_name_the_rows():
    names = pd.Index([f"<{number}>" for number in range(30)])
    rows = SuspiciousRows.from_scores(np.arange(30.0), labels=names)
    lines = repr(rows).splitlines()
    assert lines[0] == "SuspiciousRows(30 rows, the most suspicious first)"
    assert lines[1] == "row <0>: p = 0.0333, score 0"
    assert lines[-1] == "and 20 more"
    assert len(lines) == 12
    html = rows._repr_html_()
    assert "<td>&lt;0&gt;</td><td>0.0333</td><td>0</td>" in html
    assert html.count("<tr>") == 11
    assert html.endswith("<p>and 20 more</p>")
    assert "more" not in repr(rows.first(10)) + rows.first(10)._repr_html_()


def test_it_is_frozen():
    with pytest.raises(AttributeError):
        SuspiciousRows.from_scores(SCORES).indices = np.arange(5)
