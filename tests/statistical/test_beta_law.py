"""The guarantee: the real false-alarm rate of a calibrated detector."""

import numpy as np
import pytest
from scipy.stats import beta, binom, kstest

from rankad import RankAD

pytestmark = [
    pytest.mark.slow,
    # One fit in a thousand finds independent rows alike.
    pytest.mark.filterwarnings(
        "ignore:Rows that are near each other:rankad.exceptions.CalibrationWarning"
    ),
]

N_ROWS, N_REFERENCE, N_REPEATS = 80, 39, 300


@pytest.fixture(scope="module")
def p_values_of_repeats():
    """p-values of 4,000 fresh nominal rows under each of 300 independently trained detectors."""
    rng = np.random.default_rng(0)
    outcomes = []
    for seed in range(N_REPEATS):
        detector = RankAD(alpha=0.5, calibration_size=N_REFERENCE, random_state=seed)
        detector.fit(rng.standard_t(df=3, size=(N_ROWS, 2)))
        outcomes.append(detector.p_values(rng.standard_t(df=3, size=(4000, 2))))
    return np.array(outcomes)


@pytest.mark.parametrize("alpha", [0.025, 0.1, 0.25, 0.5])
def test_the_realised_rate_follows_the_beta_law(p_values_of_repeats, alpha):
    rates = (p_values_of_repeats <= alpha).mean(axis=1)
    j = round(alpha * (N_REFERENCE + 1))
    assert kstest(rates, beta(j, N_REFERENCE + 1 - j).cdf).pvalue > 1e-3


@pytest.mark.parametrize("alpha", [0.025, 0.05, 0.1, 0.3])
def test_the_mean_false_alarm_rate_is_alpha(p_values_of_repeats, alpha):
    # One fresh row for each detector: the repeats are independent, so the limit is binomial.
    n_alarms = int((p_values_of_repeats[:, 0] <= alpha).sum())
    assert n_alarms <= binom(N_REPEATS, alpha).ppf(1 - 1e-4)


def test_training_ranks_break_the_promise():
    rng = np.random.default_rng(0)
    detector = RankAD(calibration="train", random_state=0).fit(rng.normal(size=(300, 5)))
    assert (detector.p_values(rng.normal(size=(4000, 5))) <= 0.05).mean() > 0.15


def test_cross_calibration_is_near_alpha_in_experience():
    # It is empirical, so the limit is wide. The mean must be nearer than that of training ranks.
    rng = np.random.default_rng(1)
    rates = []
    for seed in range(40):
        detector = RankAD(calibration="cross", random_state=seed).fit(rng.normal(size=(150, 3)))
        rates.append((detector.p_values(rng.normal(size=(1000, 3))) <= 0.1).mean())
    assert 0.05 < np.mean(rates) < 0.14
