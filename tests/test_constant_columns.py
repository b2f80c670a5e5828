"""Columns with a single value in the training rows: a warning, and other values alarm."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.ensemble import IsolationForest
from sklearn.preprocessing import StandardScaler

from rankad import Calibrated, RankAD
from rankad._constant_columns import constant_columns, tiny_scales
from rankad._scaling import fitted_scaler, takes_others_far, transformed
from rankad.baselines import BPKNNG, KLPE, AveragedKLPE, MassAD
from rankad.kernels import plain
from rankad.options import RankSVM

WATCHED = {
    "RankAD": RankAD(),
    "robust scaler": RankAD(scaler="robust"),
    "float32": RankAD(ranker=RankSVM(dtype="float32")),
    "outward": RankAD(ranker=RankSVM(outward=4)),
    "robust": RankAD(robust=True),
    "few centers": RankAD(n_centers=20),
    "all rows": RankAD(n_centers=None),
    "cross": RankAD(calibration="cross"),
    "training ranks": RankAD(calibration="train"),
    "grid": RankAD(sigma=[0.5, 1.0], ranker=RankSVM(cv=2)),
    "K-LPE": KLPE(),
    "aK-LPE": AveragedKLPE(),
    "BP-KNNG": BPKNNG(),
}
UNWATCHED = {
    "own scaler": RankAD(scaler=StandardScaler()),
    "no scaler": RankAD(scaler=None),
    "no anchor": RankAD(anchor=0),
    "as published": RankAD.as_published(C=1.0, sigma=1.0),
    "K-LPE without scaler": KLPE(scaler=None),
    "massAD": MassAD(),
    "foreign": Calibrated(IsolationForest(n_estimators=10)),
}
WATCHED_CASES = pytest.mark.parametrize("detector", WATCHED.values(), ids=WATCHED)

#: The single value of a column, and another value.
OTHERS = [(7.0, 7.1), (0.0, 1.0), (0.0, -1e-3), (20_240_101.0, 20_240_102.0), (0.1, 0.1001)]
OTHERS += [(-3.5e8, -3.6e8), (1e-9, 1.1e-9), (0.3, 1e300)]


def with_column(rows, value):
    return np.c_[rows[:, :1], np.full(len(rows), value), rows[:, 1:]]


def fitted(detector, rows):
    """The detector, fitted to rows with constant columns."""
    with pytest.warns(UserWarning, match="single value") as caught:
        detector.set_params(random_state=0).fit(rows)
    assert len(caught) == 1
    return detector


@WATCHED_CASES
@pytest.mark.parametrize(("value", "other"), OTHERS)
def test_a_row_with_another_value_alarms_at_every_alpha(detector, value, other, nominal):
    rows = with_column(nominal, value)
    fitted(detector, rows)
    moved = rows[:20].copy()
    moved[:, 1] = other
    assert (detector.p_values(moved) == detector.reference_.smallest_alpha).all()


@WATCHED_CASES
def test_the_single_value_counts_for_nothing(detector, nominal):
    # The mean of these copies of 0.1 is not 0.1.
    assert np.full(len(nominal), 0.1).mean() != 0.1
    rows = with_column(nominal, 0.1)
    detector = fitted(detector, rows)
    scores = detector.score_samples(rows)
    without = detector.fit(nominal).score_samples(nominal)
    assert_allclose(scores, without, rtol=1e-12, atol=1e-12 * np.ptp(without))


@pytest.mark.parametrize("scaler", ["standard", "robust"])
def test_the_single_value_is_scaled_to_exactly_zero(scaler, nominal):
    for value in (0.1, 1e9 / 3.0, 7.0, 1e-300, 5e-324, 1e149):
        rows = with_column(nominal, value)
        found = fitted_scaler(scaler, rows)
        assert_array_equal(transformed(found, rows)[:, 1], 0.0)
        assert takes_others_far(found, np.array([1]), rows[0])
        moved = rows[:1].copy()
        moved[0, 1] += 1e-3 + 1e-3 * value
        assert abs(transformed(found, moved)[0, 1]) > 100.0


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_value_that_was_rounded_to_float32_is_the_same_value(dtype, nominal):
    rows = with_column(nominal, 1234.567)
    detector = fitted(RankAD(ranker=RankSVM(dtype=dtype)), rows)
    rounded = rows.copy()
    rounded[:, 1] = np.float32(1234.567)
    assert_allclose(detector.p_values(rounded), detector.p_values(rows), atol=0.06)


def test_values_that_differ_by_rounding_are_one_value(nominal):
    rows = with_column(nominal, 0.3)
    rows[::3, 1] = 0.1 + 0.2
    assert rows[0, 1] != rows[1, 1]
    detector = fitted(RankAD(), rows)
    moved = rows[:5].copy()
    moved[:, 1] = 0.31
    assert (detector.p_values(moved) == 1 / 61).all()
    assert_array_equal(
        detector.predict(rows, 0.02), RankAD(random_state=0).fit(nominal).predict(nominal, 0.02)
    )


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_compiled_and_plain_scores_agree_on_other_values(dtype, nominal):
    rows = with_column(nominal, 0.0)
    expansion = fitted(RankAD(ranker=RankSVM(dtype=dtype)), rows).expansion_
    moved = rows[:30].copy()
    moved[:, 1] = np.logspace(-9, 300, 30)
    slow = np.empty(30, dtype=dtype)
    plain.fill_scores(slow, moved, expansion._model)
    assert_allclose(expansion(moved), slow, rtol=1e-12 if dtype == "float64" else 1e-5)


def test_farther_values_score_lower_and_among_them_the_other_columns_still_count(nominal):
    rows = with_column(nominal, 0.0)
    detector = fitted(RankAD(), rows)
    moved = np.repeat(rows[:1], 4, axis=0)
    moved[:, 1] = [0.0, 1e-4, 1.0, 2.0]
    assert (np.diff(detector.score_samples(moved)) < 0).all()
    flagged = np.repeat(rows[:1], 3, axis=0)
    flagged[:, 1] = 1.0
    flagged[1:, 0] += [20.0, 100.0]
    assert (np.diff(detector.score_samples(flagged)) < 0).all()


@pytest.mark.parametrize("detector", UNWATCHED.values(), ids=UNWATCHED)
def test_where_another_value_need_not_alarm_the_warning_says_so(detector, nominal):
    name = type(detector).__name__
    with pytest.warns(UserWarning, match=f"need not alarm with {name}. Compare") as caught:
        detector.set_params(random_state=0).fit(with_column(nominal, 7.0))
    assert len(caught) == 1


def test_the_warning_names_the_columns_and_their_values(nominal):
    frame = pd.DataFrame(nominal, columns=["a", "b", "c"]).assign(unit=7.0)
    with pytest.warns(UserWarning, match=r"^Column 'unit' has a single value .* rows, 7\. A new"):
        RankAD(random_state=0).fit(frame)
    many = np.c_[nominal, np.tile(np.arange(8.0), (len(nominal), 1))]
    named = r"^8 columns have .*: 'x3' \(0\), 'x4' \(1\), .*'x7' \(4\) and 3 more\. A new row"
    with pytest.warns(UserWarning, match=named):
        RankAD(random_state=0).fit(many)


def test_leaving_the_column_out_silences_the_warning(nominal):
    frame = pd.DataFrame(nominal, columns=["a", "b", "c"]).assign(unit=7.0)
    RankAD(random_state=0).fit(frame.drop(columns="unit"))  # warnings are errors


def test_a_warning_that_is_an_error_changes_nothing(nominal):
    detector = RankAD(random_state=0).fit(nominal)
    before = detector.reference_
    with pytest.raises(UserWarning, match="single value"):
        detector.fit(with_column(nominal, 7.0))
    assert detector.reference_ is before
    assert detector.n_features_in_ == 3


def flagged_rows(rng, n, probability=0.02):
    return np.c_[rng.normal(size=(n, 2)), rng.random(n) < probability]


def test_a_column_that_varies_in_the_held_out_rows_only(rng):
    rows = flagged_rows(rng, 400, 0.0)
    held_out = RankAD(random_state=0)
    held_out.fit(rows[:, :2])
    rows[held_out.calibration_indices_[:3], 2] = 1.0
    expected = r"reference, too: 3 of 100\. So an alarm, .* may need an alpha of 0\.04 or more\."
    with pytest.warns(UserWarning, match=expected):
        detector = RankAD(random_state=0).fit(rows)
    p = detector.p_values(np.c_[rng.normal(size=(50, 2)), np.ones(50)])
    assert p.max() == 4 / 101
    assert detector.p_values([[30.0, 30.0, 0.0]])[0] == 4 / 101
    fresh = flagged_rows(rng, 2000, 0.03)
    assert 0.01 < np.mean(detector.p_values(fresh) <= 0.05) < 0.12


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [0.05, 0.1, 0.3])
def test_the_level_holds_where_a_rare_flag_is_often_constant_in_training(alpha):
    """Mean rate of 600 detectors; it exceeds the limit with a probability below 1e-5."""
    rates, n_constant = [], 0
    for seed in range(600):
        rng = np.random.default_rng(seed)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            detector = KLPE(random_state=seed, calibration_size=39).fit(flagged_rows(rng, 99))
        n_constant += bool(caught)
        rates.append((detector.predict(flagged_rows(rng, 300), alpha) == -1).mean())
    assert 100 < n_constant < 500
    error = np.std(rates, ddof=1) / np.sqrt(len(rates))
    assert alpha - 0.02 < np.mean(rates) < alpha + 4.5 * error


def test_constant_columns_are_found_by_all_rows():
    rows = np.zeros((5000, 4))
    rows[4000, 1] = 1.0
    rows[:, 2] = 1e15 + np.arange(5000) % 2
    assert_array_equal(constant_columns(rows), [0, 3])


def test_scales_are_positive_and_finite_in_all_of_float64():
    values = np.array([0.0, 5e-324, 1e-310, 0.5, -0.5, 3.0, -3.0, 2.0**53, 1e150])
    scales = tiny_scales(values)
    assert (scales > 0).all()
    assert np.isfinite(1.0 / scales).all()
    assert_array_equal(scales[[0, 5, 6]], 1e-6)
    assert_array_equal(scales[3:5], 5e-7)
