import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.signal import lfilter
from scipy.stats import binom

from rankad import Episodes, RankAD
from rankad.calibration import HeldOutScores, TimeScores
from rankad.exceptions import UnresolvableAlphaError
from rankad.monitoring import episodes_per_day


def autoregressive(phi, n, rng):
    noise = rng.normal(0.0, np.sqrt(1.0 - phi**2), n + 1000)
    return lfilter([1.0], [1.0, -phi], noise)[1000:]


def runs_of(scores, n_runs):
    return TimeScores.from_runs(scores, np.arange(n_runs) * (len(scores) // n_runs))


def counted(scores, run_starts, alpha, gap):
    """Starts of episodes and rows, with at least ``gap`` rows of the same run before."""
    n_starts = n_rows = 0
    p = np.array([(scores <= score).mean() for score in scores])
    for run in np.split(p <= alpha, run_starts[1:]):
        for at in range(gap, len(run)):
            n_rows += 1
            n_starts += run[at] and not run[at - gap : at].any()
    return n_starts, n_rows


@pytest.mark.parametrize("gap", [1, 4])
@pytest.mark.parametrize("alpha", [0.02, 0.2])
def test_the_count_is_that_of_the_definition(alpha, gap, rng):
    reference = runs_of(np.round(autoregressive(0.8, 400, rng), 1), 4)
    found = episodes_per_day(reference, alpha, rows_per_day=100, gap=gap)
    expected = counted(reference.in_order, reference.run_starts, alpha, gap)
    assert (found.n_episodes, found.n_rows) == expected
    assert_allclose(found.mean, 100 * expected[0] / expected[1])
    assert found.low <= found.mean <= found.high
    assert found.alarms == alpha * 100


@pytest.mark.parametrize("gap", [1, 5, 20])
@pytest.mark.parametrize("alpha", [0.01, 0.1])
def test_independent_rows_have_the_known_rate(alpha, gap, rng):
    # An episode starts at an alarm after `gap` quiet rows: alpha (1 - alpha)^gap. The limits are
    # five standard deviations of a binomial count; the count of alarms is fixed, which narrows it.
    n, rate = 100_000, alpha * (1.0 - alpha) ** gap
    found = episodes_per_day(runs_of(rng.normal(size=n), 10), alpha, rows_per_day=n, gap=gap)
    assert abs(found.mean - n * rate) <= 5.0 * binom(n, rate).std()


def test_a_cool_down_makes_fewer_episodes(rng):
    reference = runs_of(autoregressive(0.9, 20_000, rng), 2)
    without = episodes_per_day(reference, 0.05, 1000, gap=2)
    with_cooldown = episodes_per_day(reference, 0.05, 1000, gap=2, cooldown=50)
    assert with_cooldown.mean < 0.6 * without.mean


@pytest.mark.slow
@pytest.mark.parametrize(("phi", "n"), [(0.0, 1000), (0.9, 2000)])
def test_the_interval_holds_the_mean_of_the_detector_at_hand(phi, n):
    # Measured coverage is .91 to .98. Below 100 of 120 has a probability under 1e-3 at .91.
    n_covered = 0
    for seed in range(120):
        scores = autoregressive(phi, n + 40_000, np.random.default_rng(seed))
        reference = runs_of(scores[:n], 4)
        found = episodes_per_day(reference, 0.05, 40_000, gap=3)
        new = Episodes(gap=3)
        true = new.update_many(scores[n:] < reference.threshold(0.05)) + new.close()
        n_covered += found.low <= len(true) <= found.high
    assert n_covered >= 100


def test_without_an_episode_the_interval_begins_at_zero():
    # The only alarms are in the first row of each run, where they may belong to an older episode.
    scores = np.r_[0.0, np.full(99, 1.0), 0.0, np.full(99, 1.0)]
    found = episodes_per_day(TimeScores.from_runs(scores, np.array([0, 100])), 0.01, 198)
    assert (found.mean, found.low, found.n_rows) == (0.0, 0.0, 198)
    assert_allclose(found.high, -np.log(0.025))  # the exact Poisson limit of no event


def test_a_detector_may_give_the_reference(nominal, rng):
    detector = RankAD(random_state=0).fit(nominal)
    detector.reference_ = runs_of(rng.normal(size=500), 2)
    assert episodes_per_day(detector, 0.05, 10) == episodes_per_day(detector.reference_, 0.05, 10)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"reference": HeldOutScores(np.arange(9.0))}, TypeError, "runs of consecutive rows; got"),
        ({"alpha": 1.0}, ValueError, "alpha must be a number between 0 and 1"),
        ({"alpha": 0.001}, UnresolvableAlphaError, "needs at least 1000 held-out rows; got 200"),
        ({"rows_per_day": 0}, ValueError, "rows_per_day must be a finite number above 0"),
        ({"confidence": 0.0}, ValueError, "confidence must be a number between 0 and 1"),
        ({"gap": 0}, ValueError, "gap must be a finite number above 0"),
        ({"cooldown": 95}, ValueError, "have 10 rows beyond their first 95, but 20 are needed"),
    ],
)
def test_bad_input_is_refused(options, error, message, rng):
    arguments = {"reference": runs_of(rng.normal(size=200), 2), "alpha": 0.05, "rows_per_day": 10}
    with pytest.raises(error, match=message):
        episodes_per_day(**arguments | options)
