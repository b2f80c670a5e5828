"""Certified counts: closed testing by a short cut, against all subsets."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.stats import binom

import oracles
from rankad.calibration import HeldOutScores, TrueAlarms

few_p_values = st.lists(
    st.floats(0, 1) | st.integers(0, 20).map(lambda i: i / 20) | st.floats(0, 0.05),
    min_size=1,
    max_size=6,
).map(np.array)
confidences = st.sampled_from([0.5, 0.9, 0.95])


def masks(n):
    for size in range(n + 1):
        for rows in combinations(range(n), size):
            yield np.isin(np.arange(n), rows)


@given(few_p_values, confidences)
def test_the_limits_are_those_of_closed_testing_over_all_subsets(p, confidence):
    alarms = TrueAlarms.from_p_values(p, confidence)
    for mask in masks(len(p)):
        assert alarms.among(mask) == oracles.true_alarms(p, mask, 1.0 - confidence)


def test_ten_rows_against_all_subsets(rng):
    p = rng.uniform(size=10) ** 4
    alarms = TrueAlarms.from_p_values(p, 0.9)
    chosen = [np.arange(10) < 4, p < 0.1, p > 0.05, np.ones(10, dtype=bool)]
    limits = [oracles.true_alarms(p, mask, 1.0 - 0.9) for mask in chosen]
    assert [alarms.among(mask) for mask in chosen] == limits
    assert max(limits) > 0


@given(st.lists(st.floats(0, 1) | st.floats(0, 0.01), min_size=1, max_size=60), confidences)
def test_the_curve_is_the_limits_of_the_lowest_rows(p, confidence):
    p = np.array(p)
    alarms = TrueAlarms.from_p_values(p, confidence)
    order = np.argsort(p, kind="stable")
    chosen = [np.isin(np.arange(len(p)), order[:k]) for k in range(len(p) + 1)]
    assert_array_equal(alarms.lower_limits, [alarms.among(mask) for mask in chosen])
    assert set(np.diff(alarms.lower_limits)) <= {0, 1}
    for alpha in (0.0, 0.005, 0.5, 1.0):
        assert alarms.at(alpha) == alarms.among(p <= alpha)


def test_more_confidence_and_larger_p_values_certify_less(rng):
    p = rng.uniform(size=200) ** 5
    limits = TrueAlarms.from_p_values(p, 0.9).lower_limits
    assert (TrueAlarms.from_p_values(p, 0.99).lower_limits <= limits).all()
    assert (TrueAlarms.from_p_values(np.minimum(2 * p, 1), 0.9).lower_limits <= limits).all()
    assert limits[-1] > 0


def test_certain_rows_are_all_certified():
    assert TrueAlarms.from_p_values(np.full(5, 1e-9), 0.95).lower_limits.tolist() == [*range(6)]
    assert TrueAlarms.from_p_values([], 0.95).lower_limits.tolist() == [0]


@pytest.mark.slow
@pytest.mark.parametrize("n_anomalies", [0, 5, 40])
@pytest.mark.parametrize("rounded", [False, True], ids=["no ties", "ties"])
def test_all_limits_hold_together_with_the_confidence(n_anomalies, rounded, rng):
    """Fails with probability 1e-4 if the confidence is exactly .8, and less if it is more."""
    n_repeats, n_broken, n_certified = 2_000, 0, 0
    is_anomaly = np.arange(60) < n_anomalies
    for _ in range(n_repeats):
        scores = rng.normal(size=160) - np.append(3.0 * is_anomaly, np.zeros(100))
        scores = np.round(scores) if rounded else scores
        p = HeldOutScores.from_scores(scores[60:]).p_values(scores[:60])
        alarms = TrueAlarms.from_p_values(p, 0.8)
        # Of tied rows the nominal ones come first: the worst order.
        n_true = np.cumsum(is_anomaly[np.lexsort([is_anomaly, p])])
        n_broken += (alarms.lower_limits[1:] > n_true).any()
        n_certified += alarms.lower_limits[-1]
    assert n_broken <= binom(n_repeats, 0.2).ppf(1 - 1e-4)
    assert n_certified > n_repeats or n_anomalies < 40 or rounded


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: TrueAlarms.from_p_values([0.1], 1.0), "confidence must be a number between"),
        (lambda: TrueAlarms.from_p_values([np.nan]), "none may be NaN"),
        (lambda: TrueAlarms.from_p_values([0.1]).at(2.0), "alpha must be at least 0"),
        (lambda: TrueAlarms.from_p_values([0.1]).among([1]), "mask of shape"),
        (lambda: TrueAlarms.from_p_values([0.1]).among([True, False]), "mask of shape"),
    ],
)
def test_what_makes_no_sense_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
