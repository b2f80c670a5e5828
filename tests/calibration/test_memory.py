"""What rows in the order of time are worth."""

import numpy as np
import pytest
from scipy.signal import lfilter

from rankad import RankAD
from rankad.calibration.dependence import memory
from rankad.exceptions import CalibrationWarning


def autoregressive(phi, n, rng):
    """A stationary column: each value remembers the share phi of the value before."""
    noise = rng.normal(0.0, np.sqrt(1.0 - phi**2), n + 2_000)
    return lfilter([1.0], [1.0, -phi], noise)[2_000:]


@pytest.mark.parametrize("phi", [0.5, 0.9])
def test_the_memory_of_an_autoregressive_column_is_near_its_theory(phi):
    found = [
        memory(autoregressive(phi, 20_000, np.random.default_rng(seed))[:, None])
        for seed in range(10)
    ]
    assert np.mean(found) == pytest.approx((1.0 + phi) / (1.0 - phi), rel=0.15)


def test_one_column_that_remembers_is_not_hidden_by_others_that_do_not():
    rng = np.random.default_rng(0)
    rows = np.column_stack([autoregressive(0.99, 4_000, rng), rng.normal(size=(4_000, 20))])
    assert len(rows) / memory(rows) < 100
    with pytest.warns(CalibrationWarning, match="worth about"):
        RankAD(calibration_split="time", random_state=0).fit(rows)
