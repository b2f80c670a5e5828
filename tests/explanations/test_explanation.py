"""The result of `explain` as an object: rows, slices, tables, texts."""

import sys

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from rankad.explanations import Change, Explanation, Reason

NAMES = ("amount", "age", "load")


NOT_EXPLAINED = (
    "not explained by 3 features or groups of features; nearest nominal row: load 97 -> 0.5, "
    "amount 99 -> 40, age 98 -> 30"
)


LABELS = pd.Index(["a", "b", "c", "d"])


def by_hand(index=LABELS, names=NAMES, **replaced):
    """One feature, two features, no alarm, not explained."""
    values = np.array([[812.0, 30, 0.5], [9.0, 91, 7.5], [1.0, 2, 3], [99.0, 98, 97]])
    changed = np.array([[43.125, 30, 0.5], [9.0, 30, 0.25], [1.0, 2, 3], [99.0, 98, 97]])
    parts = {
        "feature_names": names,
        "index": index,
        "alpha": 0.05,
        "max_features": 3,
        "values": values,
        "changed_values": changed,
        "p_values": np.array([0.002, 0.01, 0.3, 0.002]),
        "p_values_after": np.array([0.412, 0.2, 0.3, 0.002]),
        "in_groups": np.zeros(4, dtype=bool),
        "group_of_feature": np.array([0, 1, 1]),
        "nearest_rows": np.tile([40.0, 30, 0.5], (4, 1)),
        "scale": np.array([10.0, 20, 0.5]),
        "usual_values": np.array([[5.0, 20, 0], [120.0, 60, 1]]),
    }
    return Explanation(**(parts | replaced))


def test_a_reason_has_its_changes_largest_first():
    reason = by_hand()[1]
    assert isinstance(reason, Reason)
    assert reason.changes == (
        Change("load", 7.5, 0.25, (0.0, 1.0)),
        Change("age", 91.0, 30.0, (20.0, 60.0)),
    )
    assert (reason.row, reason.p_value, reason.p_value_after) == ("b", 0.01, 0.2)
    assert reason.features == ("load", "age")
    assert reason.groups == (("age",), ("load",))
    assert [change.name for change in by_hand()[3].nearest] == ["load", "amount", "age"]
    assert [change.name for change in by_hand()[0].nearest] == ["amount"]


def test_reasons_are_told():
    assert [str(reason) for reason in by_hand()] == [
        "row a: p = 0.002, nominal (p = 0.412) if amount 812 -> 43.12",
        "row b: p = 0.01, nominal (p = 0.2) if load 7.5 -> 0.25, age 91 -> 30",
        "row c: p = 0.3, no alarm",
        f"row d: p = 0.002, {NOT_EXPLAINED}",
    ]


def test_a_group_is_told_as_a_group():
    explanation = by_hand(in_groups=np.array([False, True, False, False]))
    assert explanation[1].groups == (("age", "load"),)
    assert "if a group of correlated features: load 7.5 -> 0.25, age" in str(explanation[1])


def test_of_many_changes_four_are_told():
    names = tuple(f"x{i}" for i in range(9))
    explanation = by_hand(
        names=names,
        values=np.ones((1, 9)),
        changed_values=np.zeros((1, 9)),
        nearest_rows=np.zeros((1, 9)),
        scale=np.ones(9),
        usual_values=np.zeros((2, 9)),
        group_of_feature=np.arange(9),
        index=np.array([0]),
        p_values=np.array([0.01]),
        p_values_after=np.array([0.5]),
        in_groups=np.array([False]),
    )
    assert str(explanation[0]).endswith("x2 1 -> 0, x3 1 -> 0, and 5 more")


def test_it_is_a_sequence_of_reasons():
    explanation = by_hand()
    assert len(explanation) == 4
    assert [reason.row for reason in explanation] == ["a", "b", "c", "d"]
    assert explanation[-1].row == explanation[np.int64(3)].row == "d"
    with pytest.raises(IndexError):
        explanation[4]


@pytest.mark.parametrize(
    "at", [slice(1, 3), [1, 2], np.array([1, 2]), np.array([False, True, True, False])]
)
def test_a_part_is_an_explanation(at):
    part = by_hand()[at]
    assert isinstance(part, Explanation)
    assert [str(reason) for reason in part] == [str(by_hand()[i]) for i in (1, 2)]
    assert part.index.tolist() == ["b", "c"]


def test_an_empty_part_is_an_explanation():
    for at in (slice(0, 0), [], np.zeros(4, dtype=bool)):
        part = by_hand()[at]
        assert len(part) == 0
        assert repr(part) == "0 of 0 rows alarm at alpha=0.05."
        assert part.to_frame().empty
        assert part.to_frame("feature").empty
        assert part.shared_reasons().empty


def test_alarms_and_explained_rows_are_marked():
    assert_array_equal(by_hand().is_alarm, [True, True, False, True])
    assert_array_equal(by_hand().is_explained, [True, True, False, False])


def test_a_frame_has_a_line_for_each_row():
    frame = by_hand().to_frame()
    assert frame.index.tolist() == ["a", "b", "c", "d"]
    assert frame.loc["b"].to_dict() == {
        "p_value": 0.01,
        "p_value_after": 0.2,
        "n_features": 2,
        "features": "load, age",
        "reason": "nominal (p = 0.2) if load 7.5 -> 0.25, age 91 -> 30",
    }


def test_a_frame_has_a_line_for_each_changed_feature():
    frame = by_hand().to_frame("feature")
    assert frame.index.tolist() == ["a", "b", "b"]
    assert frame.iloc[1].to_dict() == {
        "feature": "load",
        "value": 7.5,
        "nominal_value": 0.25,
        "usual_low": 0.0,
        "usual_high": 1.0,
        "p_value": 0.01,
        "p_value_after": 0.2,
    }


def test_labels_of_several_levels_stay():
    index = pd.MultiIndex.from_product([["x", "y"], [1, 2]], names=["site", "day"])
    frame = by_hand(index=index).to_frame()
    pd.testing.assert_index_equal(frame.index, index)
    by_feature = by_hand(index=index).to_frame("feature")
    pd.testing.assert_index_equal(by_feature.index, index[[0, 1, 1]])


@pytest.mark.parametrize("at", [1.5, None, "a", [0.5], [[0, 1]]])
def test_what_is_no_position_is_refused(at):
    with pytest.raises(TypeError, match="Index an explanation by a position, a slice"):
        by_hand()[at]


def test_the_heading_tells_features_from_groups():
    in_groups = np.array([False, True, False, False])
    assert repr(by_hand(in_groups=in_groups)).split("\n")[0] == (
        "3 of 4 rows alarm at alpha=0.05. 1 is nominal if at most 3 features change. 1 is "
        "nominal if at most 3 groups of correlated features change. 1 is not explained."
    )
    assert repr(by_hand(max_features=1)).startswith(
        "3 of 4 rows alarm at alpha=0.05. 2 are nominal if one feature changes. 1 is not expl"
    )


MANY = (
    "45 of 60 rows alarm at alpha=0.05. 30 are nominal if at most 3 features change. 15 are not "
    "explained."
)


def many(n=60):
    """Rows whose reasons are those of the four rows in turn."""
    return by_hand()[np.arange(n) % 4]


def test_shared_reasons_count_sets_and_features():
    by_set = many().shared_reasons()
    assert by_set["features"].tolist() == ["amount", "age, load", "(not explained)"]
    assert by_set["alarms"].tolist() == [15, 15, 15]
    assert by_set["share"].tolist() == [1 / 3] * 3
    assert by_set["example"].tolist() == ["a", "b", "d"]
    assert by_set["reason"][0] == "nominal (p = 0.412) if amount 812 -> 43.12"
    by_feature = by_hand()[[0, 0, 1, 3, 1, 1]].shared_reasons(by="feature")
    assert by_feature["features"].tolist() == ["load", "age", "amount", "(not explained)"]
    assert by_feature["alarms"].tolist() == [3, 3, 2, 1]


def test_many_rows_are_shown_by_their_shared_reasons():
    lines = repr(many()).split("\n")
    assert lines == [
        MANY,
        "  15   33%  amount",
        "  15   33%  age, load",
        "  15   33%  (not explained)",
    ]
    assert len(repr(many(10)).split("\n")) == 11


def test_of_many_reasons_ten_are_shown_and_those_without_a_reason():
    names = tuple(f"x{i}" for i in range(15))
    values = np.ones((20, 15))
    changed = values.copy()
    changed[np.arange(15), np.arange(15)] = 0.0
    explanation = by_hand(
        names=names,
        index=np.arange(20),
        values=values,
        changed_values=changed,
        nearest_rows=np.zeros((20, 15)),
        p_values=np.full(20, 0.01),
        p_values_after=np.where(np.arange(20) < 15, 0.5, 0.01),
        in_groups=np.zeros(20, dtype=bool),
        scale=np.ones(15),
        usual_values=np.zeros((2, 15)),
        group_of_feature=np.arange(15),
    )
    lines = repr(explanation).split("\n")
    assert len(lines) == 13
    assert lines[-2:] == ["  5   25%  (5 other reasons)", "  5   25%  (not explained)"]


def test_numbers_have_the_digits_that_tell_them_apart():
    assert str(Change("code", 20240131.0, 20240130.0, (0.0, 1.0))) == "code 20240131 -> 20240130"
    assert str(Change("flow", 1.0000001, 1.0, (0.0, 1.0))) == "flow 1.0000001 -> 1"


def test_html_shows_the_same_and_runs_nothing():
    names = ("<script>alert(1)</script>", "a&b", "load")
    html = by_hand(names=names, index=pd.Index(["<b>", "b", "c", "d"]))._repr_html_()
    assert "<script>" not in html
    assert "<b>" not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt; 812 -&gt; 43.12" in html
    assert html.count("<tr>") == 5
    assert "amount" in many()._repr_html_()


@pytest.mark.parametrize(
    ("method", "allowed"), [("to_frame", "'row' or 'feature'"), ("shared_reasons", "'set' or 'fe")]
)
def test_by_must_be_known(method, allowed):
    with pytest.raises(ValueError, match=f"by must be {allowed}.*; got 'column'"):
        getattr(by_hand(), method)("column")


@pytest.mark.parametrize("method", ["to_frame", "shared_reasons"])
def test_without_pandas_it_says_what_to_do(method, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=f"{method} makes a pandas frame.*pip install pandas"):
        getattr(by_hand(), method)()
    assert "amount 812" in repr(by_hand())
