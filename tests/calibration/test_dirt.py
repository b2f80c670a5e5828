"""Bad rows among the reference rows, at the worst places: levels, audits, discoveries, counts."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import beta, binom, hypergeom

from rankad.calibration import Audit, FalseAlarmBounds, HeldOutScores, TrueAlarms
from rankad.calibration.audits import clean_rate_interval
from rankad.calibration.bounds import rate_interval
from rankad.calibration.control import FalseAlarmControl
from rankad.calibration.dirt import checked_share, high_rate, largest_mean_rate, low_rate, most_bad
from rankad.calibration.discoveries import benjamini_hochberg
from rankad.calibration.reference import order_of

N, SHARE, ALPHA = 200, 0.15, 0.05
ORDER = order_of(ALPHA, N)
N_REPEATS = 4_000

#: Chance that a correct limit fails one of these tests.
FAILURE_PROBABILITY = 1e-5

#: Clean scores are uniform. Bad rows score above or below all of them, or half and half, or so near
#: the threshold that they are the j-th lowest themselves.
PLACES = {
    "all above": lambda n_bad, rng: np.full(n_bad, 2.0),
    "all below": lambda n_bad, rng: np.full(n_bad, -1.0),
    "mixed": lambda n_bad, rng: np.where(np.arange(n_bad) % 2, 2.0, -1.0),
    "at the threshold": lambda n_bad, rng: rng.uniform(0.04, 0.08, n_bad),
}


def most_failures(probability, n_repeats=N_REPEATS):
    return binom(n_repeats, probability).ppf(1.0 - FAILURE_PROBABILITY)


def rates_on_clean(place, rng, n_repeats=N_REPEATS):
    """Rate on clean rows below the threshold of dirty references, known as rows are uniform."""
    rates = np.empty(n_repeats)
    for repeat in range(n_repeats):
        n_bad = rng.binomial(N, SHARE)
        scores = np.append(rng.uniform(size=N - n_bad), PLACES[place](n_bad, rng))
        rates[repeat] = np.clip(np.partition(scores, ORDER - 1)[ORDER - 1], 0.0, 1.0)
    return rates


@pytest.mark.parametrize("place", PLACES)
def test_the_limits_hold_wherever_the_bad_rows_score(place, rng):
    rates = rates_on_clean(place, rng)
    bounds = FalseAlarmBounds.from_order(ALPHA, ORDER, N, 0.9, dirty_share=SHARE)
    assert (rates > bounds.limit).sum() <= most_failures(0.1)
    assert ((rates < bounds.low) | (rates > bounds.high)).sum() <= most_failures(0.1)
    standard_error = rates.std() / np.sqrt(N_REPEATS)
    assert rates.mean() <= bounds.mean + 4.3 * standard_error


def test_the_limits_of_a_clean_reference_fail_under_dirt(rng):
    """The limits above are no luck: the plain ones are wrong here, on both sides."""
    above, below = (rates_on_clean(place, rng) for place in ("all above", "all below"))
    clean = FalseAlarmBounds.from_order(ALPHA, ORDER, N, 0.9)
    assert (above > clean.limit).sum() > most_failures(0.1)
    assert (below < clean.low).sum() > most_failures(0.1)
    assert above.mean() > ALPHA + 4.3 * above.std() / np.sqrt(N_REPEATS)


def test_the_limit_of_the_mean_is_reached(rng):
    above = rates_on_clean("all above", rng)
    error = above.std() / np.sqrt(N_REPEATS)
    assert_allclose(above.mean(), largest_mean_rate(ORDER, N, SHARE), atol=4.3 * error)


@pytest.mark.parametrize("n_bad", [0, 3, 10, 150, 195])
def test_given_the_number_of_bad_rows_the_laws_are_those_of_order_statistics(n_bad):
    if N - n_bad >= ORDER:
        law = beta(ORDER, N - n_bad + 1 - ORDER)
        assert_allclose(high_rate(ORDER, N, n_bad, 0.1), law.ppf(0.9))
    else:
        assert high_rate(ORDER, N, n_bad, 0.1) == 1.0
    if n_bad < ORDER:
        law = beta(ORDER - n_bad, N + 1 - ORDER)
        assert_allclose(low_rate(ORDER, N, n_bad, 0.1), law.ppf(0.1))
    else:
        assert low_rate(ORDER, N, n_bad, 0.1) == 0.0


@pytest.mark.parametrize("share", [0.001, 0.02, 0.3, 0.9])
@pytest.mark.parametrize("n", [1, 20, 400])
@pytest.mark.parametrize("miss", [0.3, 0.01])
def test_the_number_of_bad_rows_is_exceeded_rarely(share, n, miss):
    limit = most_bad(n, share, miss)
    assert binom(n, share).sf(limit) <= miss
    n_file = 4 * n
    in_file = math.floor(share * n_file)
    assert hypergeom(n_file, in_file, n).sf(limit) <= miss
    assert limit >= math.floor(share * n), "a share of the reference itself"
    assert limit <= min(n, n * share + math.sqrt(n * math.log(1.0 / miss) / 2.0) + 1.0), "Hoeffding"


def test_without_dirt_nothing_changes():
    clean = FalseAlarmBounds.from_order(0.05, 10, 199, 0.95)
    assert FalseAlarmBounds.from_order(0.05, 10, 199, 0.95, dirty_share=0) == clean
    counts = 0.05, 12, 300, 0.95
    assert Audit.from_counts(*counts, order=10, n_reference=199, dirty_share=0.0) == (
        Audit.from_counts(*counts, order=10, n_reference=199)
    )
    assert clean_rate_interval(12, 300, 0, 0.95) == rate_interval(12, 300, 0.95)


def test_much_dirt_bounds_nothing():
    bounds = FalseAlarmBounds.from_order(0.05, 10, 199, 0.95, dirty_share=0.97)
    assert (bounds.low, bounds.high, bounds.limit, bounds.mean) == (0.0, 1.0, 1.0, 1.0)
    audit = Audit.from_counts(0.05, 300, 300, 0.95, order=10, n_reference=199, dirty_share=0.999)
    assert audit.verdict == "consistent with what was asked for"
    assert (audit.low, audit.high, audit.detectable_rate) == (0.0, 1.0, math.inf)


@pytest.mark.parametrize("share", [-0.1, 1.0, 2, "0.1", None, True, math.nan])
def test_what_is_no_share_is_refused(share):
    with pytest.raises(ValueError, match=r"dirty_share must be a number of at least 0 and below 1"):
        checked_share(share)
    control = FalseAlarmControl(HeldOutScores.from_scores(np.arange(99.0)))
    with pytest.raises(ValueError, match="dirty_share"):
        control.bounds(0.05, 0.95, share)
    with pytest.raises(ValueError, match="dirty_share"):
        control.audit(1, 100, 0.05, 0.95, dirty_share=share)


# -- Audits ------------------------------------------------------------------------------------

N_FRESH = 400


@pytest.mark.parametrize("alarm_bad", [True, False], ids=["bad rows alarm", "bad rows do not"])
@pytest.mark.parametrize("place", ["all above", "all below"])
def test_an_audit_of_dirty_rows_rarely_finds_a_fault_that_is_none(place, alarm_bad, rng):
    n_faults = n_missed = 0
    for rate in rates_on_clean(place, rng):
        n_bad = rng.binomial(N_FRESH, SHARE)
        n_alarms = rng.binomial(N_FRESH - n_bad, rate) + n_bad * alarm_bad
        audit = audit_of(n_alarms)
        n_faults += not audit.min_alarms <= n_alarms <= audit.max_alarms
        n_missed += not audit.low <= rate <= audit.high
    assert n_faults <= most_failures(0.1)
    assert n_missed <= most_failures(0.1)


def audit_of(n_alarms, share=SHARE, made={}):  # noqa: B006  a cache
    if (n_alarms, share) not in made:
        made[n_alarms, share] = Audit.from_counts(
            ALPHA, n_alarms, N_FRESH, 0.9, order=ORDER, n_reference=N, dirty_share=share
        )
    return made[n_alarms, share]


def test_true_alarms_condemn_a_detector_only_if_the_audit_knows_of_no_dirt():
    n_alarms = round(SHARE * N_FRESH) + round(ALPHA * N_FRESH)
    assert "more false alarms" in audit_of(n_alarms, share=0.0).verdict
    assert audit_of(n_alarms).verdict == "consistent with what was asked for"
    assert "another distribution" in audit_of(N_FRESH // 2).verdict, "too many for the dirt"


def test_the_power_of_an_audit_of_dirty_rows_is_that_of_its_clean_ones():
    audit = audit_of(20)
    n_clean = N_FRESH - audit.n_bad
    assert_allclose(audit.power_at(0.5), binom(n_clean, 0.5).sf(audit.max_alarms))
    assert_allclose(audit.power_at(audit.detectable_rate), 0.8, atol=1e-6)
    assert audit.detectable_rate > audit_of(20, share=0.0).detectable_rate


# -- Discoveries -------------------------------------------------------------------------------


def dirty_batches(n_bad, place, rng, n_batch=20, n_repeats=N_REPEATS):
    """p-values of nominal rows, and of 5 anomalies that score below them all, and the bound."""
    for _ in range(n_repeats):
        clean = rng.uniform(size=N - n_bad)
        reference = HeldOutScores.from_scores(np.append(clean, PLACES[place](n_bad, rng)))
        yield reference.p_values(np.append(rng.uniform(size=n_batch), np.full(5, -0.5)))


@pytest.mark.parametrize("place", PLACES)
def test_the_false_discovery_rate_grows_by_the_dirt_at_most(place, rng):
    n_bad, fdr, is_false = 60, 0.4, np.arange(25) < 20
    bound = fdr * (20 / 25) * (N + 1) / (N - n_bad + 1)
    shares = []
    for p in dirty_batches(n_bad, place, rng):
        selected = benjamini_hochberg(p, fdr)
        shares.append((selected & is_false).sum() / max(selected.sum(), 1))
    error = np.std(shares) / np.sqrt(N_REPEATS)
    assert np.mean(shares) <= bound + 4.3 * error
    if place == "all above":  # the bound is needed
        assert np.mean(shares) > fdr * (20 / 25) + 4.3 * error


@pytest.mark.parametrize("place", PLACES)
def test_the_confidence_of_certified_counts_falls_by_the_dirt_at_most(place, rng):
    n_bad, miss = 60, 0.2
    n_too_many = sum(
        TrueAlarms.from_p_values(p, 1.0 - miss).lower_limits[-1] > 5
        for p in dirty_batches(n_bad, place, rng)
    )
    assert n_too_many <= most_failures(miss * (N + 1) / (N - n_bad + 1))


# -- Labels ------------------------------------------------------------------------------------


def test_bad_rows_that_were_looked_at_and_dropped_leave_the_bound_of_the_others(rng):
    """A person labels the lowest reference rows, and drops those that are bad."""
    n_below, n_above, n_looked_at = 10, 20, 60
    is_bad = np.arange(N + n_below + n_above) >= N
    rates = []
    for _ in range(N_REPEATS):
        bad = np.append(np.full(n_below, -1.0), np.full(n_above, 2.0))
        scores = np.append(rng.uniform(size=N), bad)
        looked_at = np.argsort(scores)[:n_looked_at]
        found = looked_at[is_bad[looked_at]]
        assert len(found) == n_below
        rates.append(HeldOutScores.from_scores(np.delete(scores, found)).threshold(ALPHA))
    order, error = order_of(ALPHA, N + n_above), np.std(rates) / np.sqrt(N_REPEATS)
    assert_allclose(np.mean(rates), order / (N + 1), atol=4.3 * error)
    bound = largest_mean_rate(order, N + n_above, n_above / (N + n_above))
    assert ALPHA < np.mean(rates) <= bound + 4.3 * error


def test_nominal_rows_that_were_dropped_by_mistake_add_one_place_each(rng):
    n_dropped = 6
    size = N - n_dropped
    order = order_of(ALPHA, size)
    rates = [
        HeldOutScores.from_scores(np.sort(rng.uniform(size=N))[n_dropped:]).threshold(ALPHA)
        for _ in range(N_REPEATS)
    ]
    error = np.std(rates) / np.sqrt(N_REPEATS)
    assert_allclose(np.mean(rates), (order + n_dropped) / (N + 1), atol=4.3 * error)
