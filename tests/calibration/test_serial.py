from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.signal import lfilter
from scipy.stats import norm, rankdata

from rankad.calibration.serial import (
    LEVEL,
    WINDOW,
    SerialTest,
    autocorrelations,
    block_length,
    is_serially_dependent,
)

ONE_RUN = np.zeros(1, dtype=np.int64)


def autoregressive(phi, n, rng):
    noise = rng.normal(scale=np.sqrt(1 - phi**2), size=n + 1000)
    return lfilter([1.0], [1.0, -phi], noise)[1000:]


@pytest.mark.parametrize("digits", [0, 15])
def test_the_evidence_is_that_of_bartels_in_each_window(digits, rng):
    scores = np.round(autoregressive(0.5, 200, rng), digits)
    total = 0.0
    for start in range(0, 192, WINDOW):
        ranks = rankdata(scores[start : start + WINDOW])
        steps = sum((b - a) ** 2 for a, b in pairwise(ranks))
        total += 2 - steps / sum((r - ranks.mean()) ** 2 for r in ranks)
    assert_allclose(SerialTest().after(scores).total, total)
    assert SerialTest().after(scores).n_windows == 6
    assert SerialTest().after(np.zeros(320)).total == 0.0


def test_the_variance_of_the_evidence_is_known(rng):
    n = 20_000
    z = np.array([SerialTest().after(scores).z for scores in rng.normal(size=(n, WINDOW))])
    assert abs(z.mean()) < 4 / np.sqrt(n)
    assert abs(z.var() - 1) < 4 * np.sqrt(2 / n)


@pytest.mark.slow
def test_independent_scores_seldom_look_dependent(rng):
    n_streams, n_scores = 4000, 4096
    n_found = 0
    for _ in range(n_streams):
        test, scores = SerialTest(), rng.normal(size=n_scores)
        while test.n_windows * WINDOW < n_scores:
            more = (test.next_check - test.n_windows) * WINDOW
            begin = test.n_windows * WINDOW
            test = test.after(scores[begin : begin + more])
            n_found += test.is_dependent
    # Poisson with mean 4: more than 14 has probability 2e-5.
    assert n_found <= 14


@pytest.mark.slow
def test_references_in_independent_order_seldom_look_dependent(rng):
    found = [is_serially_dependent(rng.normal(size=1000), ONE_RUN) for _ in range(4000)]
    # The level is near 0.001 only: the sums of autocorrelations are not quite normal.
    assert np.mean(found) <= 5 * LEVEL


def test_dependent_scores_are_found_soon_and_a_drift_is_not_taken_for_dependence(rng):
    for _ in range(50):
        assert SerialTest().after(autoregressive(0.9, 128, rng)).is_dependent
        drifts = rng.normal(size=2048) + np.linspace(0.0, 3.0, 2048)
        assert not SerialTest().after(drifts).is_dependent
    assert is_serially_dependent(autoregressive(0.9, 1000, rng), ONE_RUN)


def test_autocorrelations_match_sums_within_runs(rng):
    scores, starts = rng.normal(size=60).cumsum(), np.array([0, 7, 40])
    ranks = rankdata(scores) - 30.5
    runs = np.split(ranks, starts[1:])
    expected = [
        sum(float(run[:-lag] @ run[lag:]) for run in runs if len(run) > lag) / (ranks @ ranks)
        for lag in range(1, 16)
    ]
    assert_allclose(autocorrelations(scores, starts), expected, atol=1e-12)


@pytest.mark.parametrize(("phi", "memory"), [(0.0, 1.0), (0.5, 3.0), (0.9, 19.0)])
def test_blocks_are_eight_times_the_memory(phi, memory, rng):
    lengths = [block_length(autoregressive(phi, 20_000, rng), ONE_RUN) for _ in range(10)]
    assert_allclose(np.mean(lengths), 8 * memory, rtol=0.2)


def test_a_slow_cycle_under_noise_makes_longer_blocks(rng):
    noise = autoregressive(0.5, 10_000, rng)
    cycle = 0.7 * np.sin(np.arange(10_000) * 2 * np.pi / 1440)
    assert block_length(noise + cycle, ONE_RUN) > 4 * block_length(noise, ONE_RUN)


def test_monotone_transformations_change_nothing(rng):
    scores = autoregressive(0.8, 1000, rng)
    assert_array_equal(autocorrelations(scores, ONE_RUN), autocorrelations(np.exp(scores), ONE_RUN))
    assert SerialTest().after(scores) == SerialTest().after(norm.cdf(scores))
