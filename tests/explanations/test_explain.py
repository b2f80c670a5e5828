"""`explain` of fitted detectors: what it proposes, and what it promises."""

import logging
import pickle
from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.decomposition import PCA
from sklearn.ensemble import IsolationForest
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rankad import Calibrated, RankAD, _progress
from rankad.baselines import KLPE, MassAD
from rankad.explanations.nominal_rows import MAX_KEPT_ROWS
from rankad.options import RankSVM

DETECTORS = {
    "default": RankAD(),
    "robust scaler": RankAD(scaler="robust"),
    "raw": RankAD(scaler=None),
    "scaler that mixes": RankAD(scaler=make_pipeline(StandardScaler(), PCA(2))),
    "float32": RankAD(ranker=RankSVM(dtype="float32")),
    "outward": RankAD(ranker=RankSVM(outward=4.0)),
    "all centers": RankAD(n_centers=None),
    "cross": RankAD(calibration="cross"),
    "train": RankAD(calibration="train", alpha=0.1),
    "K-LPE": KLPE(),
    "mass": MassAD(),
    "forest": Calibrated(IsolationForest(n_estimators=20)),
}


def rows_of(kind, n, rng):
    """Nominal rows in columns of different units."""
    normal = rng.normal(size=(n, 4))
    if kind == "one column":
        return normal[:, :1]
    if kind == "ties":
        return np.round(normal)
    if kind == "flags and codes":
        codes = rng.integers(0, 30, size=(n, 1))
        return np.column_stack([normal[:, :2], normal[:, 2:] > 0.5, codes])
    if kind == "correlated":
        return normal[:, [0, 0, 0, 1, 1, 2]] + 0.2 * rng.normal(size=(n, 6))
    return normal * [1.0, 50.0, 0.02, 1.0] + [0.0, 1000.0, -3.0, 5.0]


KINDS = ("plain", "one column", "ties", "flags and codes", "correlated")


@cache
def fitted(name="default", kind="plain"):
    detector = DETECTORS[name].__class__(**DETECTORS[name].get_params(deep=False))
    detector.set_params(random_state=0)
    rows = rows_of(kind, 400, np.random.default_rng(7))
    if "that mixes" in name and kind == "one column":
        detector.set_params(scaler=StandardScaler(with_std=False))
    return detector.fit(rows)


def anomalous(kind, n=60, seed=8):
    """New rows, some with one or more columns far out, and some very far out."""
    rng = np.random.default_rng(seed)
    rows = rows_of(kind, n, rng).astype(float)
    spread = rows.std(axis=0)
    rows += 8.0 * spread * rng.normal(size=rows.shape) * (rng.random(size=rows.shape) < 0.4)
    rows[-3:] += 1e6 * spread
    return rows


def assert_holds(detector, X, **options):
    """What every explanation promises. Return it."""
    explanation = detector.explain(X, **options)
    strata = {key: options[key] for key in ("strata",) if key in options}
    assert_array_equal(explanation.p_values, detector.p_values(X, **strata))
    after = explanation.changed_values
    assert_array_equal(explanation.p_values_after, detector.p_values(after, **strata))
    is_changed = after != X
    assert_array_equal(is_changed.any(axis=1), explanation.is_explained)
    assert (explanation.p_values_after[explanation.is_explained] > explanation.alpha).all()
    assert_array_equal(after[~explanation.is_explained], X[~explanation.is_explained])
    kept = options.get("rows", detector._kept_rows.rows)
    for i in np.flatnonzero(explanation.is_explained):
        takes = is_changed[i]
        assert (kept[:, takes] == after[i, takes]).all(axis=1).any()
    n_units = [len(reason.groups) for reason in explanation]
    assert max(n_units, default=0) <= explanation.max_features
    for row in explanation.nearest_rows:
        assert (kept == row).all(axis=1).any()
    return explanation


@pytest.mark.filterwarnings("ignore:.* rows are equal to another row")
@pytest.mark.filterwarnings("ignore:Scoring stays in float64")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", DETECTORS)
def test_values_occur_together_in_a_kept_row_and_the_p_value_is_the_one_that_one_gets(name, kind):
    explanation = assert_holds(fitted(name, kind), anomalous(kind))
    assert explanation.is_explained.any()


@pytest.mark.parametrize("name", ["default", "float32", "scaler that mixes", "K-LPE"])
@given(
    rows=st.lists(
        st.tuples(*4 * [st.floats(-1e100, 1e100) | st.floats(-10.0, 1000.0)]),
        min_size=1,
        max_size=3,
    )
)
def test_the_promises_hold_for_any_row(name, rows):
    assert_holds(fitted(name), np.array(rows))


@pytest.mark.parametrize("name", ["default", "float32", "forest"])
def test_no_feature_of_a_reason_can_be_left_out(name):
    detector, rows = fitted(name), anomalous("plain")
    explanation = detector.explain(rows)
    n_checked = 0
    for i in np.flatnonzero(explanation.is_explained):
        changed = np.flatnonzero(explanation.changed_values[i] != rows[i])
        for feature in changed:
            without = explanation.changed_values[[i]].copy()
            without[0, feature] = rows[i, feature]
            assert detector.p_values(without)[0] <= explanation.alpha
            n_checked += len(changed) > 1
    assert n_checked > 10


@pytest.mark.parametrize("feature", [0, 1, 2, 3])
def test_a_shifted_feature_is_blamed(feature):
    detector = fitted()
    rows = rows_of("plain", 60, np.random.default_rng(9))
    rows = rows[detector.p_values(rows) > 0.2]
    rows[:, feature] += 6.0 * rows[:, feature].std()
    explanation = detector.explain(rows)
    assert explanation.is_alarm.mean() > 0.9
    blamed = [reason.features for reason in explanation if reason.is_alarm]
    assert blamed == [(f"x{feature}",)] * len(blamed)


def test_flags_stay_flags_and_codes_stay_codes():
    detector = fitted("default", "flags and codes")
    after = detector.explain(anomalous("flags and codes")).changed_values
    is_changed = after != anomalous("flags and codes")
    assert is_changed.any(axis=0).all()
    assert np.isin(after[:, 2:4][is_changed[:, 2:4]], [0.0, 1.0]).all()
    assert np.isin(after[:, 4][is_changed[:, 4]], np.arange(30.0)).all()


def test_correlated_features_change_as_groups_if_few_features_do_not_suffice():
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(600, 3))[:, [0, 0, 0, 0, 0, 1, 2]] + 0.1 * rng.normal(size=(600, 7))
    detector = RankAD(random_state=0).fit(rows[:500])
    fresh = rows[500:][detector.p_values(rows[500:]) > 0.2][:20]
    fresh[:, :5] += 9.0
    explanation = detector.explain(fresh)
    assert explanation.in_groups.all()
    assert {reason.features for reason in explanation if len(reason.features) != 5} == set()
    reason = explanation[0]
    assert reason.groups == (("x0", "x1", "x2", "x3", "x4"),)
    assert "if a group of correlated features: x" in str(reason)
    assert explanation.shared_reasons()["features"].tolist() == ["x0 (with 4 correlated features)"]
    assert not detector.explain(fresh, max_features=5).in_groups.any()


def test_a_constant_feature_is_blamed_for_another_value():
    rng = np.random.default_rng(3)
    rows = np.column_stack([rng.normal(size=(500, 2)), np.full(500, 7.0)])
    with pytest.warns(UserWarning, match="Column 'x2' has a single value"):
        detector = RankAD(random_state=0).fit(rows)
    explanation = detector.explain([[0.0, 0.0, 7.1], [9.0, 0.0, 8.0]])
    assert [reason.features for reason in explanation] == [("x2",), ("x2", "x0")]
    assert (explanation.changed_values[:, 2] == 7.0).all()


def test_a_row_is_explained_the_same_alone_and_in_a_batch():
    rows = anomalous("plain")
    batch = fitted().explain(rows)
    for i in range(0, 60, 7):
        alone = fitted().explain(rows[[i]])
        assert_array_equal(alone.changed_values[0], batch.changed_values[i])
        assert alone.p_values_after[0] == batch.p_values_after[i]


def test_an_explanation_stays_when_the_rows_change():
    rows = anomalous("plain")
    explanation = fitted().explain(rows)
    rows[:] = 0.0
    assert_array_equal(explanation.values, anomalous("plain"))


def test_another_alpha_explains_other_rows():
    narrow, wide = (assert_holds(fitted(), anomalous("plain"), alpha=a) for a in (0.02, 0.3))
    assert narrow.is_alarm.sum() < wide.is_alarm.sum()
    assert (wide.p_values_after[wide.is_explained] > 0.3).all()
    with pytest.raises(ValueError, match=r"alpha=0.001 is too small"):
        fitted().explain(anomalous("plain"), alpha=0.001)


def test_fewer_features_explain_fewer_rows():
    rows = anomalous("plain")
    shares = [fitted().explain(rows, max_features=n).is_explained.sum() for n in (1, 2, 3, 4)]
    assert shares == sorted(shares)
    assert shares[0] < shares[-1] == fitted().explain(rows).is_alarm.sum()
    assert "not explained by one feature or group of features; nearest" in str(
        fitted().explain(rows, max_features=1)[-1]
    )


def test_strata_judge_each_row_by_its_own_reference():
    rng = np.random.default_rng(1)
    detector = RankAD(random_state=0).fit(rng.normal(size=(400, 3)))
    wide = 3.0 * rng.normal(size=(200, 3))
    narrow = rng.normal(size=(200, 3))
    strata = np.repeat(["wide", "narrow"], 200)
    detector.calibrate(np.concatenate([wide, narrow]), strata=strata)
    rows = np.tile([[0.0, 5.0, 0.0]], (2, 1))
    explanation = assert_holds(detector, rows, strata=["wide", "narrow"])
    assert_array_equal(explanation.is_alarm, [False, True])
    with pytest.raises(ValueError, match="strata"):
        detector.explain(rows, strata=["wide"])
    with pytest.raises(ValueError, match=r"explain\(strata=...\) needs reference scores"):
        fitted().explain(anomalous("plain"), strata=["a"] * 60)


def test_given_rows_replace_the_kept_ones():
    given = rows_of("plain", 50, np.random.default_rng(11))
    explanation = assert_holds(fitted(), anomalous("plain"), rows=given)
    assert explanation.is_explained.sum() > 20


@pytest.mark.parametrize("name", ["default", "K-LPE", "mass", "forest", "cross"])
def test_training_rows_are_kept_and_the_held_out_ones_are_not(name):
    rows = rows_of("plain", 3_000, np.random.default_rng(0))
    detector = DETECTORS[name].__class__(**DETECTORS[name].get_params(deep=False))
    detector.set_params(random_state=0).fit(rows)
    kept = set(map(tuple, detector._kept_rows.rows))
    assert len(kept) == MAX_KEPT_ROWS
    held_out = detector.calibration_indices_ if name != "cross" else np.array([], dtype=int)
    assert kept <= set(map(tuple, np.delete(rows, held_out, axis=0)))


def test_a_fit_can_keep_no_rows_and_scores_the_same():
    rows = rows_of("plain", 400, np.random.default_rng(7))
    without = RankAD(random_state=0).fit(rows, keep_rows=False)
    assert_array_equal(without.score_samples(rows), fitted().score_samples(rows))
    with pytest.raises(ValueError, match=r"keep_rows=False.*Give some: explain\(X, rows=X_nom"):
        without.explain(rows)
    kept = fitted()._kept_rows.rows
    expected = fitted().explain(anomalous("plain")).changed_values
    assert_array_equal(without.explain(anomalous("plain"), rows=kept).changed_values, expected)
    holds_rows = [kept[0].tobytes() in pickle.dumps(detector) for detector in (fitted(), without)]
    assert holds_rows == [True, False]


@pytest.mark.parametrize("value", [None, 1, "no", 0.0])
def test_keep_rows_is_true_or_false(value):
    detector = RankAD(random_state=0)
    with pytest.raises(TypeError, match=r"keep_rows must be True or False; got"):
        detector.fit(rows_of("plain", 400, np.random.default_rng(7)), keep_rows=value)
    assert not hasattr(detector, "reference_")


@pytest.mark.parametrize("count", [0, -1, 2.5, None, True, "3"])
def test_max_features_is_an_integer_of_at_least_one(count):
    with pytest.raises(ValueError, match="max_features must be an integer of at least 1; got"):
        fitted().explain(anomalous("plain"), max_features=count)


@pytest.mark.parametrize(
    "rows",
    [
        np.empty((0, 4)),
        np.array([[0.0, np.nan, 0.0, 0.0]]),
        np.array([[0.0, np.inf, 0.0, 0.0]]),
        np.zeros((2, 5)),
        np.zeros(4),
        np.array([["a", "b", "c", "d"]]),
    ],
    ids=["empty", "nan", "inf", "columns", "vector", "text"],
)
def test_bad_rows_are_refused_as_by_score_samples(rows):
    with pytest.raises(ValueError, match=r".") as of_scores:
        fitted().score_samples(rows)
    for arguments in ({"X": rows}, {"X": anomalous("plain"), "rows": rows}):
        with pytest.raises(ValueError, match=r".") as of_explanation:
            fitted().explain(**arguments)
        start = "rows, the nominal rows, cannot be used. " if "rows" in arguments else ""
        assert str(of_explanation.value) == start + str(of_scores.value)


def test_a_detector_that_is_not_fitted_is_refused():
    with pytest.raises(NotFittedError, match="not fitted yet"):
        RankAD().explain(anomalous("plain"))


def test_names_and_labels_are_those_of_the_frame():
    names = ["amount", "age", "load", "flow"]
    frame = pd.DataFrame(rows_of("plain", 400, np.random.default_rng(7)), columns=names)
    detector = RankAD(random_state=0).fit(frame)
    rows = pd.DataFrame(anomalous("plain"), columns=names, index=[f"id{i}" for i in range(60)])
    explanation = detector.explain(rows)
    assert explanation.feature_names == tuple(names)
    pd.testing.assert_index_equal(explanation.index, rows.index)
    assert_array_equal(explanation.changed_values, fitted().explain(rows.to_numpy()).changed_values)
    assert_array_equal(detector.explain(pl.from_pandas(rows)).index, np.arange(60))


def test_progress_is_shown(caplog, monkeypatch):
    monkeypatch.setattr(_progress, "_SECONDS_BETWEEN_REPORTS", 0.0)
    detector = RankAD(random_state=0, verbose=True)
    detector.fit(rows_of("plain", 400, np.random.default_rng(7)))
    caplog.clear()
    with caplog.at_level(logging.INFO, logger="rankad"):
        detector.explain(np.tile(anomalous("plain"), (20, 1)))
    assert any("explaining rows: 1 of" in message for message in caplog.messages)


def test_a_detector_in_a_detector_keeps_no_rows_of_its_own():
    rows = rows_of("plain", 400, np.random.default_rng(7))
    outer = Calibrated(RankAD(), random_state=0).fit(rows, keep_rows=False)
    assert outer.detector_._kept_rows is None
    assert Calibrated(RankAD(), random_state=0).fit(rows)._kept_rows is not None
