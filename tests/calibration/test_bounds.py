"""Laws, limits and audits of the false-alarm rate."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import beta, binom

from rankad.calibration import (
    Audit,
    FalseAlarmBounds,
    FalseAlarmsPerDay,
    reference_needed,
    safe_order,
)
from rankad.calibration.bounds import law_of_order, rate_interval
from rankad.calibration.reference import order_of


@pytest.mark.parametrize(("alpha", "n", "j"), [(0.05, 100, 5), (0.01, 99, 1), (0.1, 1000, 100)])
def test_the_law_is_that_of_an_order_statistic(alpha, n, j):
    law, expected = law_of_order(order_of(alpha, n), n), beta(j, n + 1 - j)
    rates = np.linspace(0.0, 0.3, 7)
    assert_allclose(law.cdf(rates), expected.cdf(rates))


def test_the_law_is_the_rate_below_an_order_statistic_of_uniform_points(rng):
    # Alarms below the 5th of 100 uniform scores have that score as their rate.
    rates = np.sort(rng.uniform(size=(4_000, 100)), axis=1)[:, 4]
    law = law_of_order(order_of(0.05, 100), 100)
    shares = [(rates <= law.ppf(q)).mean() for q in (0.1, 0.5, 0.9)]
    assert_allclose(shares, [0.1, 0.5, 0.9], atol=4 * np.sqrt(0.25 / 4_000))


@pytest.mark.parametrize("n", [50, 59, 100, 200, 500, 1000, 2000, 10_000])
def test_the_safe_order_is_the_largest_within_the_limit(n):
    limits = beta(np.arange(1, n // 10), n + 1 - np.arange(1, n // 10)).ppf(0.95)
    assert safe_order(0.05, 0.95, n) == int((limits <= 0.05).sum())


def test_however_low_the_confidence_the_mean_stays_within_alpha():
    assert safe_order(0.05, 0.2, 1000) == 50
    assert reference_needed(0.009, confidence=0.5) == 111
    assert safe_order(0.009, 0.5, 111) == 1
    assert safe_order(0.009, 0.5, 110) == 0


def test_safe_orders_are_those_of_the_literature():
    known = {100: 2, 200: 5, 500: 17, 1000: 39, 2000: 84, 10_000: 464}
    assert {n: safe_order(0.05, 0.95, n) for n in known} == known


@pytest.mark.parametrize(
    ("alpha", "confidence", "share"),
    [
        *((0.05, 0.95, 0.0), (0.1, 0.9, 0.5), (0.05, 0.9, 0.7), (0.3, 0.99, 0.8)),
        *((0.5, 0.99, 0.7), (0.9, 0.95, 0.8), (0.2, 0.8, 0.9)),
    ],
)
def test_the_number_needed_is_the_least_that_does(alpha, confidence, share):
    def does(n):
        return safe_order(alpha, confidence, n) >= max(1.0, share * alpha * (n + 1))

    needed = next(n for n in range(1, 10_000) if does(n))
    assert reference_needed(alpha, confidence, share) == needed


def test_without_confidence_so_many_are_needed_that_anything_can_alarm():
    assert [reference_needed(alpha) for alpha in (0.5, 0.05, 0.01, 1e-6)] == [1, 19, 99, 999_999]


def test_bounds_hold_the_rate_as_often_as_they_say(rng):
    bounds = FalseAlarmBounds.from_order(0.05, 10, 199, confidence=0.9)
    rates = np.sort(rng.uniform(size=(5_000, 199)), axis=1)[:, 9]
    inside = ((rates >= bounds.low) & (rates <= bounds.high)).mean()
    assert_allclose([inside, (rates <= bounds.limit).mean()], 0.9, atol=0.02)
    assert_allclose([rates.mean(), rates.std()], [bounds.mean, bounds.std], rtol=0.05)


@pytest.mark.parametrize(("x", "n"), [(0, 10), (3, 100), (10, 10), (50, 1000)])
def test_clopper_and_pearson_invert_the_binomial_tails(x, n):
    low, high = rate_interval(x, n, 0.95)
    if x > 0:
        assert_allclose(binom(n, low).sf(x - 1), 0.025)
    else:
        assert low == 0.0
    if x < n:
        assert_allclose(binom(n, high).cdf(x), 0.025)
    else:
        assert high == 1.0


@pytest.mark.parametrize("n", [2_000_000, 2_200_000, 10_000_000])
def test_the_spread_is_right_however_large_the_reference(n):
    mean, order = 0.05, n // 20
    expected = np.sqrt(mean * (1.0 - mean) / n)
    bounds = FalseAlarmBounds.from_order(0.05, order, n, 0.95)
    assert bounds.std == pytest.approx(expected, rel=1e-3)
    assert law_of_order(order, n).std() == pytest.approx(expected, rel=1e-3)
    alarms = FalseAlarmsPerDay.from_order(order, n, 1_000, 0.95)
    assert (alarms.mean, alarms.low, alarms.high) == (pytest.approx(50, rel=1e-3), 37, 64)


@pytest.mark.parametrize(("n_alarms", "verdict"), [(5, "fewer"), (50, "consistent"), (100, "more")])
def test_an_audit_says_what_a_count_tells(n_alarms, verdict):
    audit = Audit.from_counts(0.05, n_alarms, 1000, 0.95)
    assert audit.verdict.startswith(verdict)
    assert audit.rate == n_alarms / 1000
    assert audit.low < audit.rate < audit.high


def test_theorem_6_is_broken_by_one_fixed_score(rng):
    """With one g the covering number is 1, and the bound fails far more often than delta."""
    n, m, delta = 2_000, 1_000, 0.05
    bound = (m - 1) / n + 2.0 / n * np.log2(n / delta)  # k = ceil(log2 1) = 0
    rates = np.sort(rng.uniform(size=(2_000, n)), axis=1)[:, m - 1]
    assert (rates > bound).mean() > 1.5 * delta


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: safe_order(0.05, 1.0, 10), "confidence must be a number between 0 and 1"),
        (lambda: reference_needed(0.05, 0.95, share=1.0), "share must be at least 0 and below 1"),
        (lambda: reference_needed(0.05, share=0.5), "needs a confidence"),
        (lambda: rate_interval(3, 2), "k .3. must not be greater than n .2."),
        (lambda: rate_interval(0, 0), "n_rows=0 gives no rate"),
        (lambda: safe_order(float("nan"), 0.9, 10), "alpha must be"),
        (lambda: safe_order("0.1", 0.9, 10), "alpha must be"),
    ],
)
def test_what_makes_no_sense_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
