import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from rankad.monitoring import DriftMonitor
from rankad.plots import DriftDisplay


def test_the_line_is_the_history_to_base_10(monitor):
    display = DriftDisplay.from_monitor(monitor)
    x, y = display.line_.get_data()
    assert_array_equal(x, np.arange(1, 401))
    assert_allclose(y, np.log10(np.exp(monitor.history)))


def test_the_alarm_is_where_the_line_first_reaches_the_threshold(monitor):
    display = DriftDisplay.from_monitor(monitor)
    assert_allclose(display.threshold_.get_ydata(), 2.0)
    at, height = np.ravel(display.alarm_.get_data())
    x, y = display.line_.get_data()
    assert at == monitor.alarmed_at == x[np.argmax(y >= 2.0)]
    assert height == y[np.argmax(y >= 2.0)]


def test_without_drift_there_is_no_alarm(rng):
    display = DriftDisplay.from_p_values(rng.uniform(size=200), alpha=0.001)
    assert display.alarm_ is None
    assert_allclose(display.threshold_.get_ydata(), 3.0)


def test_p_values_are_bet_against_in_their_order(rng):
    p = np.concatenate([rng.uniform(size=50), rng.uniform(high=0.2, size=100)])
    monitor = DriftMonitor(betting="mixture", history_size=150, random_state=0)
    for value in p:
        monitor.update_p(value)
    display = DriftDisplay.from_p_values(p, betting="mixture")
    assert_allclose(display.log10_martingale, monitor.history / np.log(10.0))
    assert display.alarmed_at == monitor.alarmed_at


def test_a_short_history_begins_late_and_may_have_missed_the_alarm(rng):
    monitor = DriftMonitor(history_size=10, random_state=0)
    monitor.update_many(np.concatenate([rng.normal(size=200), rng.normal(4.0, size=100)]))
    display = DriftDisplay.from_monitor(monitor)
    assert_array_equal(display.times, np.arange(291, 301))
    assert display.alarmed_at < 291
    assert display.alarm_ is None


def test_what_has_no_history_is_refused():
    monitor = DriftMonitor(random_state=0)
    monitor.update(0.0)
    with pytest.raises(ValueError, match=r"no history to draw. Make it with history_size"):
        DriftDisplay.from_monitor(monitor)


def test_a_p_value_of_zero_is_refused():
    with pytest.raises(ValueError, match="above 0 and at most 1"):
        DriftDisplay.from_p_values([0.5, 0.0])
    with pytest.raises(ValueError, match="with n at least 1"):
        DriftDisplay.from_p_values([])
