"""Levels per stratum: in each stratum, of one row or of thousands, alpha holds."""

import numpy as np
import pytest
from scipy.stats import betabinom, binom

from rankad import RankAD
from rankad.calibration import StrataControl, StrataScores, StratumLabels
from rankad.exceptions import CalibrationWarning

pytestmark = pytest.mark.slow

#: Reference rows of each stratum, and fresh rows on which its alarms are counted.
SIZES = (1, 2, 5, 10, 19, 20, 50, 99, 100, 300, 1_000, 2_500, 5_000)
N_FRESH = 2_000

#: Chance that a perfect detector fails one of these tests.
FAILURE_PROBABILITY = 1e-4


def rows_of(stratum, n, rng):
    """Rows of a stratum: each has its own spread and place."""
    return rng.normal(size=(n, 2)) * (0.5 + 0.2 * stratum) + 0.3 * (stratum % 3)


@pytest.fixture(scope="module")
def by_stratum():
    """A detector with strata of 1 to 5,000 reference rows, and fresh rows of each."""
    rng = np.random.default_rng(0)
    strata = np.repeat(np.arange(len(SIZES)), SIZES)
    mixed = rng.integers(0, len(SIZES), size=2_000)
    detector = RankAD(alpha=0.5, random_state=0)
    detector.fit(np.concatenate([rows_of(stratum, 1, rng) for stratum in mixed]))
    rows = np.concatenate([rows_of(stratum, n, rng) for stratum, n in enumerate(SIZES)])
    detector.calibrate(rows, strata=strata)
    fresh = [rows_of(stratum, N_FRESH, rng) for stratum in range(len(SIZES))]
    return detector, np.concatenate(fresh), np.repeat(np.arange(len(SIZES)), N_FRESH)


@pytest.mark.filterwarnings("ignore:Nothing can alarm:rankad.exceptions.CalibrationWarning")
@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.1, 0.5])
def test_every_stratum_has_as_many_alarms_as_its_law_allows(by_stratum, alpha):
    detector, fresh, strata = by_stratum
    alarms = detector.predict(fresh, alpha, strata=strata) == -1
    for stratum, n in enumerate(SIZES):
        count, order = int(alarms[strata == stratum].sum()), int(alpha * (n + 1) + 1e-9)
        if order == 0:
            assert count == 0
            continue
        law = betabinom(N_FRESH, order, n + 1 - order)
        tail = FAILURE_PROBABILITY / (2 * len(SIZES))  # Bonferroni
        assert law.ppf(tail) <= count <= law.ppf(1 - tail), (n, count)


def test_the_common_reference_breaks_the_level_in_a_stratum():
    """A loud and a quiet machine, with as many rows each."""
    rng = np.random.default_rng(4)
    spread = np.tile([1.0, 3.0], 5_000)[:, None]
    machines = np.where(spread[:, 0] > 1.0, "loud", "quiet")
    detector = RankAD(random_state=0).fit(rng.normal(size=(2_000, 2)) * spread[:2_000])
    detector.calibrate(rng.normal(size=(10_000, 2)) * spread, strata=machines, replace=True)
    fresh = rng.normal(size=(10_000, 2)) * spread
    common = detector.predict(fresh, 0.05) == -1
    by_stratum = detector.predict(fresh, 0.05, strata=machines) == -1
    assert common[machines == "loud"].mean() > 0.09
    assert common[machines == "quiet"].mean() < 0.001
    tail = FAILURE_PROBABILITY / 4
    law = betabinom(5_000, 250, 4_751)
    for machine in ("loud", "quiet"):
        assert law.ppf(tail) <= by_stratum[machines == machine].sum() <= law.ppf(1 - tail)


N_REPEATS = 4_000


@pytest.mark.parametrize("pool_below", [0, 5, 30])
def test_small_and_unseen_strata_hold_the_level_together(pool_below):
    """Rows and their strata are drawn together. The scores of rare strata are lower."""
    rng = np.random.default_rng(1)
    shares = 1.0 / np.arange(1, 201)
    shares /= shares.sum()
    p, is_shared, is_unseen = (
        np.empty(N_REPEATS),
        np.zeros(N_REPEATS, bool),
        np.zeros(N_REPEATS, bool),
    )
    for repeat in range(N_REPEATS):
        strata = rng.choice(200, size=301, p=shares)
        scores = rng.normal(size=301) - strata / 50.0
        fitted = StrataScores.from_scores(
            scores[1:], StratumLabels.from_values(strata[1:]), pool_below
        )
        control = StrataControl(fitted, StratumLabels.from_values(strata[:1]))
        p[repeat] = control.p_values(scores[:1])[0]
        is_shared[repeat] = fitted.shares(strata[0])
        is_unseen[repeat] = strata[0] not in fitted
    assert is_unseen.sum() > 200
    for alpha in (0.02, 0.1, 0.3):
        for group in (is_shared, ~is_shared):
            limit = binom(group.sum(), alpha).ppf(1 - FAILURE_PROBABILITY / 6)
            assert (p[group] <= alpha).sum() <= limit
    assert (p[is_unseen] == 1.0).all() == (pool_below == 0)
    if pool_below == 30:  # what is not promised: unseen strata alone
        assert (p[is_unseen] <= 0.1).mean() > 0.15
        assert (p[is_shared] <= 0.1).mean() > 0.07  # the shared reference is not idle


@pytest.mark.parametrize("fdr", [0.1, 0.3])
@pytest.mark.filterwarnings("ignore::rankad.exceptions.CalibrationWarning")
def test_few_of_the_selected_are_false(fdr):
    """Strata of 3 to 400 reference rows, with their own spread; a quarter are anomalies."""
    rng = np.random.default_rng(2)
    sizes = np.array([3, 20, 60, 150, 400])
    spread = np.array([1.0, 0.3, 5.0, 2.0, 1.0])
    strata = np.repeat(np.arange(5), sizes)
    of_new = np.repeat(np.arange(5), 40)
    is_anomaly = np.tile(np.arange(40) < 10, 5)
    control_labels, labels = map(StratumLabels.from_values, (of_new, strata))
    shares, powers = [], []
    for _ in range(600):
        reference = StrataScores.from_scores(rng.normal(size=len(strata)) * spread[strata], labels)
        scores = (rng.normal(size=200) - 5.0 * is_anomaly) * spread[of_new]
        found = StrataControl(reference, control_labels).selected(scores, fdr, adaptive=False)
        shares.append((found & ~is_anomaly).sum() / max(found.sum(), 1))
        powers.append(found[is_anomaly].mean())
    standard_error = np.std(shares) / np.sqrt(len(shares))
    assert np.mean(shares) <= fdr * 0.75 + 3.7 * standard_error  # three quarters are nominal
    assert np.mean(powers) > 0.3


def test_with_confidence_the_level_holds_for_the_very_stratum():
    rng = np.random.default_rng(3)
    n_strata, n = 400, 150
    labels = StratumLabels.from_values(np.repeat(np.arange(n_strata), n))
    reference = StrataScores.from_scores(rng.normal(size=n_strata * n), labels)
    new = StratumLabels.from_values(np.repeat(np.arange(n_strata), 4_000))
    control = StrataControl(reference, new)
    alarms = control.is_alarm(rng.normal(size=len(new)), control.thresholds(0.1, 0.1, 0.9))
    counts = alarms.reshape(n_strata, -1).sum(axis=1)
    # The rate has a sampling error. Only a count that alpha cannot explain is a failure.
    n_exceeding = (counts > binom(4_000, 0.1).ppf(0.99)).sum()
    assert 5 < n_exceeding <= binom(n_strata, 0.1).ppf(1 - FAILURE_PROBABILITY)


def test_the_law_of_a_tiny_stratum_is_told(by_stratum):
    detector, fresh, strata = by_stratum
    with pytest.warns(CalibrationWarning, match=r"\{0: 1, 1: 2, 2: 5, 3: 10, 4: 19\} and 2 more"):
        detector.predict(fresh, 0.01, strata=strata)
    assert detector.false_alarm_bounds(0.5, stratum=0).mean == 0.5
