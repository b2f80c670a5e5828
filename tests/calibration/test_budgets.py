"""Alarms a day, and the share of them that is true."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from rankad.calibration import FalseAlarmsPerDay, level_for_budget, true_alarm_share


def test_a_budget_is_a_level():
    assert level_for_budget(events_per_day=86_400, alarms_per_day=8.64) == pytest.approx(1e-4)


def test_a_days_count_lies_where_it_is_said_to(rng):
    told = FalseAlarmsPerDay.of_order(10, 199, events_per_day=500, confidence=0.9)
    rates = np.sort(rng.uniform(size=(5_000, 199)), axis=1)[:, 9]
    counts = rng.binomial(500, rates)
    assert_allclose(counts.mean(), told.mean, rtol=0.05)
    assert 0.88 < ((counts >= told.low) & (counts <= told.high)).mean() < 0.95


def test_the_share_of_true_alarms_is_that_of_a_simulation(rng):
    is_anomaly = rng.uniform(size=400_000) < 0.02
    alarms = rng.uniform(size=400_000) < np.where(is_anomaly, 0.7, 0.03)
    share = true_alarm_share(0.03, base_rate=0.02, power=0.7)
    assert_allclose(is_anomaly[alarms].mean(), share, atol=0.015)
    assert true_alarm_share(0.03, base_rate=0.02, power=0.0) == 0.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: level_for_budget(events_per_day=0, alarms_per_day=1), "events_per_day must be"),
        (lambda: level_for_budget(events_per_day=10, alarms_per_day=10), "alarms_per_day must lie"),
        (lambda: level_for_budget(events_per_day=10, alarms_per_day=0), "alarms_per_day must lie"),
        (lambda: true_alarm_share(0.1, base_rate=0.0, power=0.5), "base_rate must be"),
        (lambda: true_alarm_share(0.1, base_rate=0.1, power=1.5), "power must lie"),
        (lambda: FalseAlarmsPerDay.of_order(1, 9, 2.5, 0.9), "whole number"),
        (lambda: FalseAlarmsPerDay.of_order(1, 9, float("nan"), 0.9), "whole number"),
        (
            lambda: level_for_budget(events_per_day=float("inf"), alarms_per_day=1),
            "positive and finite",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
