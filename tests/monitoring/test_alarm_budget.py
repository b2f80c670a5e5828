import json
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError

from rankad import AlarmBudget, RankAD

BUDGETS = st.builds(
    AlarmBudget,
    alpha=st.floats(1e-3, 0.9),
    burst=st.floats(0.01, 1e3),
    decay=st.sampled_from([0.0, 0.3, 0.6]),
)


def adversary(kind, level, value):
    """A p-value that depends on the level: the worst that a stream can do."""
    wished = {"alarm": level, "quiet": np.nextafter(level, 2.0), "free": value}[kind]
    return float(np.clip(wished, 0.0, 1.0))


def share_of_alarms(budget, kinds, values):
    alarms = [
        budget.update(adversary(kind, budget.level, value))
        for kind, value in zip(kinds, values, strict=True)
    ]
    return float(np.mean(alarms))


@given(
    BUDGETS,
    st.lists(st.sampled_from(["alarm", "quiet", "free"]), min_size=1, max_size=60),
    st.integers(1, 8),
    st.randoms(use_true_random=False),
)
def test_the_limits_hold_on_every_stream(budget, kinds, repeats, random):
    kinds = [kind for kind in kinds for _ in range(repeats)]
    low, high = budget.rate_limits(len(kinds))
    share = share_of_alarms(budget, kinds, [random.random() for _ in kinds])
    assert low - 1e-9 <= share <= high + 1e-9


@pytest.mark.parametrize(("alpha", "burst"), [(0.01, 20.0), (0.05, 3.0), (0.3, 50.0)])
@pytest.mark.parametrize("n", [1, 30, 3000])
def test_a_constant_step_has_the_published_limit(alpha, burst, n):
    # Gibbs and Candes (2021), Proposition 4.1, for a start at alpha.
    step = alpha / burst
    low, high = AlarmBudget(alpha=alpha, burst=burst).rate_limits(n)
    published = (max(alpha, 1.0 - alpha) + step) / (n * step)
    assert max(alpha - low, high - alpha) <= published + 1e-12
    assert high <= alpha + (burst + 1.0) / n


@pytest.mark.parametrize("decay", [0.0, 0.6])
def test_the_limits_are_reached(decay):
    # All alarms at once, then none, come near the two limits, so the limits could not be narrower.
    n, budget = 40, AlarmBudget(alpha=0.2, burst=30.0, decay=decay)
    assert budget.update_many(np.zeros(n)).sum() >= 30
    quiet = AlarmBudget(alpha=0.2, burst=2.0, decay=decay)
    n_alarms = quiet.update_many(np.ones(45)).sum()
    assert n_alarms <= quiet.rate_limits(45)[0] * 45 + 3
    share = AlarmBudget(alpha=0.2, burst=3.0).update_many(np.zeros(n)).mean()
    assert share >= AlarmBudget(alpha=0.2, burst=3.0).rate_limits(n)[1] - 1.0 / n


def test_the_level_counts_the_alarms(rng):
    # With a constant step, a_{t+1} = a_1 + step (alpha t - number of alarms).
    budget, p = AlarmBudget(alpha=0.05, burst=7.0), rng.random(500)
    n_alarms, decided = 0, []
    for t, value in enumerate(p):
        alarms = value <= 0.05 + 0.05 / 7.0 * (0.05 * t - n_alarms)
        n_alarms += alarms
        decided.append(alarms)
    assert_array_equal(budget.update_many(p), decided)
    assert_allclose(budget.level, 0.05 + 0.05 / 7.0 * (0.05 * 500 - n_alarms))
    assert (budget.n_seen, budget.n_alarms) == (500, n_alarms)


def test_the_step_decays(rng):
    budget, p = AlarmBudget(alpha=0.1, burst=1.0, decay=0.6), rng.random(300)
    level = 0.1
    for t, value in enumerate(p, start=1):
        assert_allclose(budget.step, 0.1 * t**-0.6)
        is_alarm = value <= level
        assert budget.update(value) == is_alarm
        level += 0.1 * t**-0.6 * (0.1 - is_alarm)
        assert_allclose(budget.level, level)


def test_with_a_decaying_step_the_level_converges():
    # The p-values are squares of uniform ones, so p <= .01 has the probability .1 = alpha, and the
    # level must find .01. With a constant step it goes on moving.
    rng = np.random.default_rng(5)
    decaying = AlarmBudget(alpha=0.1, burst=1.0, decay=0.6)
    constant = AlarmBudget(alpha=0.1, burst=20.0)
    levels = []
    for _ in range(40):
        p = rng.random(5_000) ** 2
        decaying.update_many(p)
        constant.update_many(p)
        levels.append((decaying.level, constant.level))
    ours, theirs = np.array(levels)[20:].T
    assert_allclose(ours, 0.01, atol=0.002)
    assert theirs.std() > 2 * ours.std()


def test_a_lasting_fault_is_silent_and_the_budget_recovers():
    budget = AlarmBudget(alpha=0.01, burst=20)
    fault = budget.update_many(np.full(5_000, 0.001))
    assert 15 <= fault[:20].sum() <= 20
    assert fault[-1000:].mean() <= 0.0101
    assert budget.level < 0.002
    assert not budget.update_many(np.ones(2_000)).any()  # burst / alpha quiet rows
    assert budget.level >= 0.01


def test_a_quiet_time_saves_a_budget_unless_it_is_limited():
    storm = np.full(3_000, 0.005)
    saved, limited = AlarmBudget(alpha=0.01), AlarmBudget(alpha=0.01, max_level=0.01)
    for budget in (saved, limited):
        budget.update_many(np.full(50_000, 0.9))
    assert saved.update_many(storm).sum() > 500
    assert limited.update_many(storm).sum() <= 0.01 * 3_000 + 20 + 1


@given(st.lists(st.floats(0.0, 0.06), min_size=1, max_size=300), st.floats(0.1, 30.0))
def test_with_a_largest_level_every_window_is_limited(p, burst):
    budget = AlarmBudget(alpha=0.05, burst=burst, max_level=0.05)
    alarms = budget.update_many(p)
    assert not alarms[np.array(p) > 0.05].any()
    excess = np.concatenate([[0.0], np.cumsum(alarms - 0.05)])
    worst_window = (excess - np.minimum.accumulate(excess)).max()
    assert worst_window <= burst + 1.0 + 1e-9
    assert budget.rate_limits(len(p))[0] == 0.0


def test_the_level_may_lie_beyond_all_p_values():
    below = AlarmBudget(alpha=0.5, burst=0.1)
    assert below.update(0.0)
    assert below.level < 0
    assert not below.update(0.0)
    above = AlarmBudget(alpha=0.5, burst=0.1)
    assert not above.update(1.0)
    assert above.level > 1
    assert above.update(1.0)


def test_rows_are_scored_by_the_detector(nominal):
    detector = RankAD(random_state=0).fit(nominal)
    rows, p = nominal + 1.0, detector.p_values(nominal + 1.0)
    expected = AlarmBudget(alpha=0.2).update_many(p)
    assert expected.any()
    assert_array_equal(AlarmBudget(detector, alpha=0.2).update_many(rows), expected)
    assert_array_equal(AlarmBudget(detector, alpha=0.2).update_many(rows.tolist()), expected)
    assert_array_equal(AlarmBudget(detector, alpha=0.2).update_many(pd.DataFrame(rows)), expected)
    assert_array_equal(AlarmBudget(detector, alpha=0.2).update_many(p), expected)


def test_a_budget_says_when_it_is_silent(nominal):
    detector = RankAD(random_state=0).fit(nominal)  # 60 reference scores
    budget = AlarmBudget(detector, alpha=0.05, burst=2)
    assert not budget.is_silent
    budget.update_many(np.full(2, 1 / 61))
    assert budget.is_silent
    assert "silent" in repr(budget)
    assert not budget.update(1 / 61)
    with pytest.raises(ValueError, match=r"below the smallest p-value of the detector, 0.0164"):
        AlarmBudget(detector, alpha=0.01, max_level=0.01)


@pytest.mark.parametrize("options", [{}, {"decay": 0.5, "burst": 3}, {"max_level": 0.2}])
def test_a_resumed_budget_continues_bit_for_bit(options, rng):
    whole, first = AlarmBudget(alpha=0.1, **options), AlarmBudget(alpha=0.1, **options)
    p = rng.random(700)
    expected = whole.update_many(p)
    before = first.update_many(p[:400])
    resumed = AlarmBudget.from_state(json.loads(json.dumps(first.state(), allow_nan=False)))
    assert_array_equal(np.concatenate([before, resumed.update_many(p[400:])]), expected)
    assert resumed.state() == whole.state()


def test_a_resumed_budget_takes_rows_again(nominal):
    detector = RankAD(random_state=0).fit(nominal)
    state = AlarmBudget(detector).state()
    assert AlarmBudget.from_state(state, detector=detector).update_many(nominal).shape == (240,)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "DriftMonitor"}, "not a state of kind 'AlarmBudget'"),
        ({"version": 1}, "not a state of kind 'AlarmBudget'"),
        ({"level": 7.0}, "level of the state must be a number from"),
        ({"level": float("nan")}, "level of the state must be a number from"),
        ({"level": None}, "level of the state must be a number from"),
        ({"n_seen": -1}, "'n_seen' in a state of AlarmBudget must be an integer"),
        ({"n_alarms": 2.0}, "'n_alarms' in a state of AlarmBudget must be an integer"),
        ({"n_alarms": 90}, "cannot make 90 alarms in 100 rows"),
        ({"n_seen": 0}, "cannot make 3 alarms in 0 rows"),
        ({"alpha": 2.0}, "alpha must be a number between 0 and 1"),
        ({"burst": None}, "burst must be a finite number"),
    ],
)
def test_a_state_that_does_not_fit_is_refused(change, message):
    budget = AlarmBudget(alpha=0.1, burst=5)
    budget.update_many(np.tile([0.05, 0.9, 0.9, 0.9], 25)[:100])
    state = {**budget.state(), "n_alarms": 3}
    AlarmBudget.from_state({**state})
    with pytest.raises(ValueError, match=re.escape(message)):
        AlarmBudget.from_state({**state, **change})
    with pytest.raises(ValueError, match=r"missing: \['level'\]"):
        AlarmBudget.from_state({k: v for k, v in state.items() if k != "level"})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": 0.0}, "alpha must be a number between 0 and 1"),
        ({"alpha": "0.1"}, "alpha must be a finite number"),
        ({"burst": 0.0}, "burst must be a number above 0"),
        ({"burst": np.inf}, "burst must be a finite number"),
        ({"decay": 1.0}, "decay must be at least 0 and below 1"),
        ({"decay": True}, "decay must be a finite number"),
        ({"max_level": 0.001}, "max_level must be None or a number from alpha=0.01 to 1"),
        ({"max_level": 1.1}, "max_level must be None or a number from alpha=0.01 to 1"),
    ],
)
def test_a_bad_parameter_is_refused(options, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        AlarmBudget(**options)


def test_bad_input_is_refused_and_nothing_is_taken(nominal):
    budget = AlarmBudget(alpha=0.1)
    for bad in ([0.5, np.nan], [0.5, 1.5], [-0.1]):
        with pytest.raises(ValueError, match="No value of this call was taken"):
            budget.update_many(bad)
    with pytest.raises(ValueError, match=r"Give detector\.p_values\(X\), or make the budget from"):
        budget.update_many(nominal)
    assert budget.n_seen == 0
    assert len(budget.update_many([])) == 0
    with pytest.raises(TypeError, match="detector must have a method p_values"):
        AlarmBudget(0.01)
    with pytest.raises(NotFittedError):
        AlarmBudget(RankAD())
    for n_rows in (0, 1.5):
        with pytest.raises(ValueError, match="n_rows must be a whole number"):
            budget.rate_limits(n_rows)
