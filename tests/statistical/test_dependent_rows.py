"""What the tests of rows say, and what groups, copies and time promise: rates with limits."""

import os
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy.signal import lfilter
from scipy.stats import binom

from rankad.baselines import KLPE
from rankad.calibration.copies import COPIES_LEVEL
from rankad.calibration.dependence import DEPENDENCE_LEVEL
from rankad.calibration.sample import Sample
from rankad.datasets import laws
from rankad.exceptions import CalibrationWarning

pytestmark = pytest.mark.slow

#: Chance that a perfect detector fails one of these tests.
FAILURE_PROBABILITY = 1e-4

ALPHAS = (0.02, 0.05, 0.1, 0.3)


def is_suspected(rows, groups=None):
    """Whether a fit on these rows warns."""
    return not all(test.is_passed for test in Sample.tested(rows, groups).tests)


def ar(rng, n, phi):
    noise = rng.normal(size=(n, 2))
    noise[1:] *= np.sqrt(1.0 - phi**2)
    return lfilter([1.0], [1.0, -phi], noise, axis=0)


def most(n, share):
    """Count that is exceeded with the probability ``FAILURE_PROBABILITY`` at most."""
    return binom(n, share).ppf(1 - FAILURE_PROBABILITY)


def test_the_warning_is_as_rare_as_stated_on_smooth_laws():
    rng = np.random.default_rng(0)
    drawn = [(law, n) for law in laws().values() for n in (60, 400, 2_000) for _ in range(30)]
    n_warned = sum(
        is_suspected(law.sample(n, random_state=int(rng.integers(2**31)))) for law, n in drawn
    )
    assert n_warned <= most(len(drawn), COPIES_LEVEL + DEPENDENCE_LEVEL)


@pytest.mark.data
def test_the_warning_is_as_rare_as_stated_on_shuffled_real_sets():
    rng, counts = np.random.default_rng(1), {}
    for path in sorted(Path(os.environ["RANKAD_DATA"]).glob("*/*.npz")):
        with np.load(path) as arrays:
            rows = np.asarray(arrays["X"][arrays["y"] == 0], dtype=float)
        # Draws with replacement would be independent; a shuffled sample is exchangeable.
        samples = [rows[rng.permutation(len(rows))[:2_000]] for _ in range(30)]
        counts[path.stem] = [Sample.tested(sample).tests for sample in samples]
    assert len(counts) >= 20
    orders = [tests[1].is_passed for found in counts.values() for tests in found]
    assert len(orders) - sum(orders) <= most(len(orders), DEPENDENCE_LEVEL)
    copied = {name for name, found in counts.items() if not all(t[0].is_passed for t in found)}
    assert copied == set()


DEPENDENT = {
    "AR(.9)": lambda rng, n: ar(rng, n, 0.9),
    "groups of ten in file order": lambda rng, n: (
        np.repeat(rng.normal(size=(n // 10, 2)), 10, axis=0) + rng.normal(size=(n, 2))
    ),
    "each row twice": lambda rng, n: rng.permutation(np.repeat(rng.normal(size=(n, 2)), 2, axis=0)),
    "each row five times": lambda rng, n: np.tile(rng.normal(size=(n, 2)), (5, 1)),
    "a fifth of the rows twice": lambda rng, n: rng.permutation(
        np.r_[rows := rng.normal(size=(n, 2)), rows[: n // 5]]
    ),
}


#: 80 pairs beside 320 single rows are still explained by independent draws.
FEW_COPIES = ("a fifth of the rows twice", 400)


@pytest.mark.parametrize(
    ("law", "n"),
    [(law, n) for law in DEPENDENT for n in (400, 4_000) if (law, n) != FEW_COPIES],
)
def test_the_warning_speaks_where_rows_are_no_independent_draws(law, n):
    rng = np.random.default_rng(n)
    assert sum(is_suspected(DEPENDENT[law](rng, n)) for _ in range(60)) >= 0.95 * 60


#: One test in a thousand finds independent draws alike.
ORDER_MAY_WARN = pytest.mark.filterwarnings(
    "ignore:(Rows|Groups) that are near each other:rankad.exceptions.CalibrationWarning"
)


@ORDER_MAY_WARN
def test_a_new_row_of_a_new_group_alarms_at_most_as_often_as_alpha():
    rng = np.random.default_rng(3)
    n_repeats = 2_000
    p = np.empty(n_repeats)
    for repeat in range(n_repeats):
        sizes = rng.geometric(0.15, size=80)
        groups = np.repeat(np.arange(81), [*sizes, 1])
        effects = 3.0 * rng.standard_t(4, size=(81, 2))
        rows = effects[groups] + rng.normal(size=(len(groups), 2))
        detector = KLPE(n_neighbors=5, alpha=0.1, calibration_size=0.5, random_state=repeat)
        p[repeat] = detector.fit(rows[:-1], groups=groups[:-1]).p_values(rows[-1:])[0]
    for alpha in ALPHAS:
        assert (p <= alpha).sum() <= most(n_repeats, alpha)
    # And the rate is not far below: between alpha and alpha - 1 / (K + 1).
    assert (p <= 0.3).mean() > 0.22


@ORDER_MAY_WARN
@pytest.mark.parametrize("times", [2, 5])
def test_copies_hold_alpha(times):
    rng = np.random.default_rng(times)
    n_repeats = 1_500
    p = np.empty(n_repeats)
    for repeat in range(n_repeats):
        rows = rng.normal(size=(101, 2))
        copied = rng.permutation(np.repeat(rows[:-1], times, axis=0))
        detector = KLPE(alpha=0.1, calibration_size=0.5, random_state=repeat)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".*copies of 100 distinct rows", CalibrationWarning)
            detector.fit(copied)
        assert detector.reference_.size == 50
        p[repeat] = detector.p_values(rows[-1:])[0]
    for alpha in ALPHAS:
        assert (p <= alpha).sum() <= most(n_repeats, alpha)
    assert (p <= 0.3).mean() > 0.24


def test_runs_keep_the_rate_of_a_stream_near_alpha_and_rows_at_random_do_not():
    rng = np.random.default_rng(5)
    rates = {"time": [], "random": []}
    for seed in range(12):
        rows, new = ar(rng, 8_000, 0.9), ar(rng, 8_000, 0.9)
        for split, found in rates.items():
            detector = KLPE(calibration_split=split, n_neighbors=5, random_state=seed)
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "Rows that are near", CalibrationWarning)
                detector.fit(rows)
            found.append((detector.predict(new, 0.05) == -1).mean())
    by_time, at_random = (np.mean(rates[split]) for split in ("time", "random"))
    assert by_time <= 1.5 * 0.05
    assert at_random > by_time
