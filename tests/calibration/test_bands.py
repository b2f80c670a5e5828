"""Bands over all alphas: they hold with the confidence, and they are tight."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from rankad.calibration import bands, conditional_p_values, false_alarm_band
from rankad.calibration.bands import BANDS

METHODS = pytest.mark.parametrize("method", ["auto", *sorted(BANDS)])


def outside(band, n_samples, seed=1):
    """Share of samples that leave the band. They are fresh, not those that tuned it."""
    rng = np.random.default_rng(seed)
    return (np.sort(rng.uniform(size=(n_samples, len(band))), axis=1) > band).any(axis=1).mean()


@METHODS
@pytest.mark.parametrize("n", [1, 2, 7, 20, 100, 500])
@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95])
def test_the_band_holds_as_often_as_it_says(method, n, confidence):
    band = false_alarm_band(n, confidence, method)
    assert band.shape == (n,)
    assert (np.diff(band) >= 0).all()
    assert (band <= 1.0).all()
    n_samples = 4_000
    delta = 1.0 - confidence
    assert outside(band, n_samples) <= delta + 4 * np.sqrt(delta * confidence / n_samples)


@METHODS
def test_some_orders_have_the_limits_of_all(method):
    orders = np.array([300, 1, 7, 7])
    whole = false_alarm_band(300, 0.9, method)
    assert_allclose(false_alarm_band(300, 0.9, method, orders), whole[orders - 1])


def test_a_band_of_one_score_is_the_exact_limit():
    # U <= b with probability b.
    assert false_alarm_band(1, 0.9)[0] == pytest.approx(0.9)


def test_simes_is_the_formula_of_the_paper():
    n, delta = 12, 0.1
    k = n // 2
    expected = np.ones(n)
    for i in range(k, n + 1):
        product = np.prod([(i - j) / (n - j) for j in range(k)])
        expected[n - i] = 1.0 - delta ** (1 / k) * product ** (1 / k)
    assert_allclose(bands.simes_band(np.arange(1, n + 1), n, delta), expected)


def test_the_default_is_tight_where_alarms_are():
    default, simes, dkw = (false_alarm_band(1000, 0.9, m) for m in ("auto", "simes", "dkw"))
    for j in (10, 20, 50, 100):
        assert default[j] < dkw[j]
    assert default[10] < 1.06 * simes[10]  # little worse where Simes is best
    assert default[100] < 0.95 * simes[100]  # and better elsewhere
    # It uses all of its probability: a tighter band would not hold.
    assert outside(default, 4_000) > 0.07


@pytest.mark.parametrize("alpha", [0.001, 0.01, 0.05, 0.1, 0.5])
def test_with_more_scores_the_default_comes_down_to_alpha(alpha):
    sizes = [1_000, 2_000, 2_001, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000]
    limits = [
        false_alarm_band(n, 0.95, orders=[max(int(alpha * (n + 1)), 1)])[0] / alpha for n in sizes
    ]
    assert limits[-1] < (1.01 if alpha > 0.001 else 1.04)
    # Where another method takes over, the band jumps by less than a tenth.
    assert (np.diff(limits) < 0.12 * np.array(limits[:-1])).all()


def test_known_values():
    # n = 1000, delta = .1, at p = .01 and .05 (Bates et al.'s bands, computed independently).
    orders = np.array([11, 51])
    assert_allclose(bands.simes_band(orders, 1000, 0.1), [0.0184, 0.0736], atol=1e-4)
    assert_allclose(bands.asymptotic_band(orders, 1000, 0.1), [0.0209, 0.0718], atol=1e-4)


def test_many_scores_take_no_simulation(monkeypatch):
    monkeypatch.setattr(bands, "_n_outside", None)
    n = bands.MAX_SIMULATED + 1
    assert_allclose(false_alarm_band(n, 0.95), false_alarm_band(n, 0.95, "combined"))


def test_conditional_p_values_are_the_band_at_the_order():
    band = false_alarm_band(4, 0.8)
    p = np.array([0.4, 0.2, 1.0, 0.8, 0.6])
    assert_array_equal(conditional_p_values(p, 4, 0.8), [band[1], band[0], 1.0, band[3], band[2]])
    # A p-value between two orders counts as the higher one.
    assert_array_equal(conditional_p_values([0.21, 0.001], 4, 0.8), [band[1], band[0]])
    of_millions = conditional_p_values([1e-7, 0.05], 9_999_999)
    assert of_millions[0] < 1e-6
    assert 0.05 < of_millions[1] < 0.052


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: false_alarm_band(0), "n_reference must be at least 1"),
        (lambda: false_alarm_band(10, 1.5), "confidence must be"),
        (lambda: false_alarm_band(10, 0.9, "tight"), "method must be one of auto, monte_carlo"),
        (lambda: false_alarm_band(10, orders=[11]), "orders must lie between 1 and"),
        (lambda: conditional_p_values([0.0], 10), "above 0"),
        (lambda: conditional_p_values([1.1], 10), "at most 1"),
        (lambda: conditional_p_values([np.nan], 10), "above 0"),
    ],
)
def test_what_makes_no_sense_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
