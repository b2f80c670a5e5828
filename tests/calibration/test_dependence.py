"""The test of order: its law, its level, its power; the memory of a stream."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.signal import lfilter
from scipy.stats import binom

from rankad.calibration.dependence import (
    DEPENDENCE_LEVEL,
    autocorrelation,
    centered_ranks,
    memory,
    relatedness,
    serial_p_value,
)

LAWS = {
    "normal": lambda rng, n, d: rng.normal(size=(n, d)),
    "cauchy": lambda rng, n, d: rng.standard_cauchy(size=(n, d)),
    "equal columns": lambda rng, n, d: np.repeat(rng.normal(size=(n, 1)), d, axis=1),
    "counts": lambda rng, n, d: rng.poisson(0.7, size=(n, d)).astype(float),
    "30% one atom": lambda rng, n, d: np.where(
        rng.random((n, 1)) < 0.3, 0, rng.normal(size=(n, d))
    ),
    "codes": lambda rng, n, d: np.eye(d + 2)[rng.integers(0, d + 2, n)],
    "rare codes": lambda rng, n, d: (rng.random((n, d)) < 5.0 / n).astype(float),
    "5% codes": lambda rng, n, d: (rng.random((n, d)) < 0.05).astype(float),
    "constant beside": lambda rng, n, d: np.c_[rng.normal(size=(n, d)), np.ones(n)],
}


def ar(rng, n, d, phi):
    """Stationary autoregression of standard normal columns."""
    noise = rng.normal(size=(n, d))
    noise[1:] *= np.sqrt(1.0 - phi**2)
    return lfilter([1.0], [1.0, -phi], noise, axis=0)


def in_groups(rng, n, d, size=10):
    return np.repeat(rng.normal(size=(n // size, d)), size, axis=0) + rng.normal(size=(n, d))


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
@pytest.mark.parametrize(
    ("n", "d", "repeats"), [(40, 1, 2_000), (60, 20, 1_000), (400, 3, 1_500), (5_000, 2, 200)]
)
def test_independent_rows_fail_with_the_stated_probability(law, n, d, repeats):
    rng = np.random.default_rng(n)
    p = np.array([serial_p_value(law(rng, n, d)) for _ in range(repeats)])
    # A perfect test fails one of the 108 limits with a probability of at most 1e-2 in all.
    for level in (0.05, 0.01, DEPENDENCE_LEVEL):
        assert (p <= level).sum() <= binom(repeats, 1.2 * level).ppf(1 - 1e-4)


def test_two_neighbors_of_a_rare_kind_are_no_dependence():
    rows = np.zeros((400, 1))
    rows[[7, 8]] = 1.0  # one of 200 orders of the rows has them together
    assert serial_p_value(rows) == 1.0


@pytest.mark.parametrize("kind", ["independent", "ar", "counts"])
def test_it_agrees_with_random_orders_of_the_rows(kind, rng):
    rows = {
        "independent": rng.normal(size=(60, 2)),
        "ar": ar(rng, 60, 2, 0.25),
        "counts": rng.poisson(1.0, size=(60, 2)).astype(float),
    }[kind]
    u = centered_ranks(rows)
    orders = rng.permuted(np.tile(np.arange(60), (20_000, 1)), axis=1)
    sums = np.einsum("oid,oid->o", u[orders[:, :-1]], u[orders[:, 1:]])
    total = (u[:-1] * u[1:]).sum()
    oracle = min(1.0, 2.0 * min((sums >= total).mean(), (sums <= total).mean()))
    assert serial_p_value(rows) == pytest.approx(oracle, abs=0.03)


DEPENDENT = {
    "AR(.9)": lambda rng, n: ar(rng, n, 2, 0.9),
    "groups of ten": lambda rng, n: in_groups(rng, n, 2),
    "a slow trend": lambda rng, n: rng.normal(size=(n, 2)) + np.linspace(-0.7, 0.7, n)[:, None],
    "two streams in turn": lambda rng, n: np.stack(
        [ar(rng, n // 2, 2, 0.9), ar(rng, n // 2, 2, 0.9)], axis=1
    ).reshape(-1, 2),
    "alternating": lambda rng, n: rng.normal(size=(n, 2)) + (np.arange(n) % 2)[:, None],
    "a clock beside": lambda rng, n: np.c_[np.arange(n), ar(rng, n, 2, 0.9)],
    "a random walk that never falls": lambda rng, n: rng.random((n, 1)).cumsum(axis=0),
}


@pytest.mark.parametrize("law", DEPENDENT.values(), ids=DEPENDENT)
def test_dependent_rows_are_seen(law, rng):
    # If the power is 99.9%, fewer than 57 of 60 (95%) have probability 5e-7.
    p = np.array([serial_p_value(law(rng, 1_000)) for _ in range(60)])
    assert (p <= DEPENDENCE_LEVEL).sum() >= 57


def test_slow_oscillations_in_noise_are_seen_by_the_blocks(rng):
    n = 20_000
    rows = rng.normal(size=(n, 1)) + 0.25 * np.sin(np.arange(n) / 300.0)[:, None]
    assert serial_p_value(rows) < 1e-6
    assert serial_p_value(rng.permutation(rows)) > DEPENDENCE_LEVEL


def test_stretches_of_a_long_file_are_tested(rng):
    rows = rng.normal(size=(60_000, 2))
    assert serial_p_value(rows) > DEPENDENCE_LEVEL
    assert serial_p_value(ar(rng, 60_000, 2, 0.9)) < 1e-9


def test_a_clock_beside_independent_rows_is_no_dependence(rng):
    rows = rng.normal(size=(500, 2))
    for clock in (np.arange(500.0), -np.arange(500.0), np.arange(500) // 7):
        assert serial_p_value(np.c_[clock, rows]) == serial_p_value(rows)
        assert memory(np.c_[clock, rows]) == memory(rows)
        assert relatedness(np.c_[clock, rows]) == relatedness(rows)


@pytest.mark.parametrize("n", [2, 5, 39])
def test_few_rows_cannot_be_tested(n):
    assert serial_p_value(np.sin(np.arange(float(n)))[:, None]) == 1.0
    assert serial_p_value(np.ones((n, 2))) == 1.0


@pytest.mark.parametrize("n", [2, 40, 100_000])
def test_constant_rows_depend_on_nothing(n):
    rows = np.ones((n, 2))
    assert (serial_p_value(rows), memory(rows), relatedness(rows)) == (1.0, 1.0, 1)


@pytest.mark.parametrize("phi", [0.0, 0.5, 0.9])
def test_the_memory_is_that_of_the_theory(phi, rng):
    # The standard error of the mean of 20 is about 3%; ranks have a slightly shorter memory.
    times = [memory(ar(rng, 10_000, 1, phi)) for _ in range(20)]
    assert np.mean(times) == pytest.approx((1.0 + phi) / (1.0 - phi), rel=0.12)


def test_the_relatedness_is_the_lag_at_which_rows_are_unlike(rng):
    lags = [relatedness(ar(rng, 10_000, 2, 0.9)) for _ in range(5)]
    assert np.mean(lags) == pytest.approx(np.log(0.2) / np.log(0.9), rel=0.2)  # 15.3
    assert relatedness(rng.normal(size=(1_000, 1))) == 1


@pytest.mark.parametrize("n", [2, 3, 50])
def test_autocorrelations_are_sums_of_products(n, rng):
    values = rng.normal(size=n)
    centered = values - values.mean()
    direct = [(centered[: n - lag] * centered[lag:]).sum() for lag in range(n)]
    assert_allclose(autocorrelation(values), np.array(direct) / direct[0], atol=1e-12)
