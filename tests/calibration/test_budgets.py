"""Alarms a day, and the share of true alarms."""

import re

import numpy as np
import pytest
from numpy.testing import assert_allclose

from rankad.calibration import (
    FalseAlarmControl,
    FalseAlarmsPerDay,
    HeldOutScores,
    true_alarm_share,
)
from rankad.exceptions import UnresolvableAlphaError

CONTROL = FalseAlarmControl(HeldOutScores.from_scores(np.arange(99.0)))


def test_a_budget_is_an_alpha():
    assert CONTROL.alpha_for(events_per_day=200, alarms_per_day=4) == pytest.approx(0.02)


@pytest.mark.parametrize("n", [1, 2, 3, 6, 60, 99, 999, 1233, 70_000])
def test_the_smallest_alpha_of_the_message_is_accepted(n):
    control = FalseAlarmControl(HeldOutScores.from_scores(np.arange(float(n))))
    with pytest.raises(UnresolvableAlphaError) as error:
        control.threshold(0.5 / (n + 1))
    smallest = float(re.search(r"smallest alpha that can alarm is (\S+)\. ", str(error.value))[1])
    assert control.threshold(smallest) == 0.0
    assert smallest < 1.001 / (n + 1)


def test_a_days_count_lies_where_it_is_said_to(rng):
    alarms = FalseAlarmsPerDay.from_order(10, 199, events_per_day=500, confidence=0.9)
    rates = np.sort(rng.uniform(size=(5_000, 199)), axis=1)[:, 9]
    counts = rng.binomial(500, rates)
    assert_allclose(counts.mean(), alarms.mean, rtol=0.05)
    assert 0.88 < ((counts >= alarms.low) & (counts <= alarms.high)).mean() < 0.95


def test_the_share_of_true_alarms_is_that_of_a_simulation(rng):
    is_anomaly = rng.uniform(size=400_000) < 0.02
    alarms = rng.uniform(size=400_000) < np.where(is_anomaly, 0.7, 0.03)
    share = true_alarm_share(0.03, base_rate=0.02, power=0.7)
    assert_allclose(is_anomaly[alarms].mean(), share, atol=0.015)
    assert true_alarm_share(0.03, base_rate=0.02, power=0.0) == 0.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: CONTROL.alpha_for(0, 1), "events_per_day must be"),
        (lambda: CONTROL.alpha_for(10, 10), "alarms_per_day must lie"),
        (lambda: CONTROL.alpha_for(10, 0), "alarms_per_day must lie"),
        (lambda: CONTROL.alpha_for(float("inf"), 1), "positive and finite"),
        (lambda: true_alarm_share(0.1, base_rate=0.0, power=0.5), "base_rate must be"),
        (lambda: true_alarm_share(0.1, base_rate=0.1, power=1.5), "power must be at least 0"),
        (lambda: FalseAlarmsPerDay.from_order(1, 9, 2.5, 0.9), "whole number"),
        (lambda: FalseAlarmsPerDay.from_order(1, 9, float("nan"), 0.9), "whole number"),
    ],
)
def test_what_makes_no_sense_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
