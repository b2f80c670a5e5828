"""Guarantees: alpha, confidence and discoveries, on nominal laws and real data sets."""

from copy import deepcopy

import numpy as np
import one_class
import pytest
from scipy.stats import binom

from rankad import RankAD
from rankad.calibration import OnlineDiscoveries, false_alarm_band
from rankad.monitoring import DriftMonitor

pytestmark = pytest.mark.slow

LAWS = {
    "normal": lambda rng, n: rng.normal(size=(n, 2)),
    "heavy tails": lambda rng, n: rng.standard_t(df=2, size=(n, 2)),
    "two clusters": lambda rng, n: rng.normal(size=(n, 2)) + 6 * rng.integers(0, 2, size=(n, 1)),
    "ties": lambda rng, n: rng.poisson(2.0, size=(n, 2)) + 0.0,
}

N_REPEATS = 200

#: Chance that a perfect detector fails one of these tests.
FAILURE_PROBABILITY = 1e-4


def most_failures(probability, n_repeats=N_REPEATS):
    return binom(n_repeats, probability).ppf(1 - FAILURE_PROBABILITY)


@pytest.fixture(scope="module", params=LAWS)
def repeats(request):
    """Detectors trained independently, each with fresh nominal rows and a batch with anomalies."""
    rng, law = np.random.default_rng(0), LAWS[request.param]
    outcomes = []
    for seed in range(N_REPEATS):
        detector = RankAD(alpha=0.5, calibration_size=150, random_state=seed).fit(law(rng, 300))
        batch = np.concatenate([law(rng, 90), rng.uniform(-25, 25, size=(30, 2))])
        outcomes.append((detector, law(rng, 4_000), batch))
    return outcomes


@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.2])
def test_the_rate_is_at_most_alpha_on_average(repeats, alpha):
    # One fresh row for each detector: they are independent, so the limit is binomial.
    n_alarms = sum(d.p_values(fresh[:1])[0] <= alpha for d, fresh, _ in repeats)
    assert n_alarms <= most_failures(alpha)


@pytest.mark.parametrize("alpha", [0.03, 0.1])
def test_with_confidence_the_rate_of_the_one_detector_is_at_most_alpha(repeats, alpha):
    n_exceeding = 0
    for detector, fresh, _ in repeats:
        n_alarms = (detector.predict(fresh, alpha=alpha, confidence=0.9) == -1).sum()
        # The rate has a sampling error. Only a count that alpha cannot explain is a failure.
        n_exceeding += n_alarms > binom(len(fresh), alpha).ppf(0.99)
    assert n_exceeding <= most_failures(0.1)


def test_the_band_holds_for_all_alphas_at_once(repeats):
    n_exceeding = 0
    band = false_alarm_band(150, 0.9)
    for detector, fresh, _ in repeats:
        p = np.sort(detector.p_values(fresh))
        counts = np.searchsorted(p, (np.arange(1, 151) + 1e-6) / 151, side="right")
        n_exceeding += (counts > binom(len(fresh), band).ppf(0.9999)).any()
    assert n_exceeding <= most_failures(0.1 + 150 * 1e-4)


@pytest.mark.parametrize("adaptive", [False, True])
@pytest.mark.parametrize("fdr", [0.1, 0.3])
@pytest.mark.filterwarnings("ignore::rankad.exceptions.CalibrationWarning")
def test_few_of_the_selected_are_false(repeats, fdr, adaptive):
    shares, powers = [], []
    for detector, _, batch in repeats:
        selected = detector.select(batch, fdr=fdr, adaptive=adaptive)
        shares.append(selected[:90].sum() / max(selected.sum(), 1))
        powers.append(selected[90:].mean())
    standard_error = np.std(shares) / np.sqrt(len(shares))
    assert np.mean(shares) <= fdr + 3.7 * standard_error
    assert np.mean(powers) > 0.3


def test_few_discoveries_of_a_stream_are_false():
    """Conditional p-values of one detector after another, each with a stream of 300 rows."""
    rng = np.random.default_rng(0)
    shares, powers = [], []
    for seed in range(60):
        detector = RankAD(random_state=seed).fit(rng.normal(size=(300, 2)))
        detector.calibrate(rng.normal(size=(5_000, 2)))
        is_anomaly = rng.uniform(size=300) < 0.1
        stream = np.where(is_anomaly[:, None], 9.0, 0.0) + rng.normal(size=(300, 2))
        online = OnlineDiscoveries(fdr=0.2, method="saffron")
        found = online.test_many(detector.p_values(stream, confidence=0.95))
        shares.append((found & ~is_anomaly).sum() / max(found.sum(), 1))
        powers.append(found[is_anomaly].mean())
    # With probability .05 the reference is unlucky.
    assert np.mean(shares) <= 0.2 + 0.05 + 3.7 * np.std(shares) / np.sqrt(len(shares))
    assert np.mean(powers) > 0.3


def test_at_a_new_level_a_calibration_restores_the_rate_and_a_new_fit_the_power():
    """Two clusters rise in one column. Over 30 draws, with four standard errors: below 1e-3."""
    centers = np.array([[0.0, 0.0], [6.0, 0.0]])

    def draw(n):
        return centers[rng.integers(2, size=n)] + rng.normal(size=(n, 2)) + [3.0, 0.0]

    rng, rates, powers = np.random.default_rng(0), [], []
    for seed in range(30):
        old = RankAD(random_state=seed).fit(draw(400) - [3.0, 0.0])
        new, fresh = draw(599), draw(500)
        anomalies = [6.0, 0.0] + 0.5 * rng.normal(size=(200, 2))  # between the clusters
        kept = deepcopy(old).calibrate(new, replace=True)
        again = RankAD(random_state=seed).fit(new)
        rates.append([(d.predict(fresh, 0.1) == -1).mean() for d in (old, kept, again)])
        powers.append([(d.predict(anomalies, 0.1) == -1).mean() for d in (kept, again)])
    nothing, *held = np.mean(rates, axis=0)
    assert nothing > 0.2
    error = np.std(rates, axis=0)[1:] / np.sqrt(len(rates))
    assert (np.abs(np.array(held) - 0.1) <= 4.0 * error).all()
    gain = np.diff(powers, axis=1)
    assert gain.mean() > 4.0 * gain.std() / np.sqrt(len(gain)) + 0.1


@pytest.mark.data
@pytest.mark.filterwarnings("ignore::rankad.exceptions.CalibrationWarning")
@pytest.mark.parametrize("name", ["shuttle", "satellite", "pageblocks", "cover"])
def test_few_of_the_selected_are_false_on_real_sets(name):
    shares, powers = [], []
    for seed in range(20):
        split = one_class.load_split(name, seed, n_train=2_000, n_test=900)
        detector = RankAD(random_state=seed).fit(split.train)
        anomalies = split.anomalies[:100]
        selected = detector.select(np.concatenate([split.nominal, anomalies]), fdr=0.2)
        shares.append(selected[: len(split.nominal)].sum() / max(selected.sum(), 1))
        powers.append(selected[len(split.nominal) :].mean())
    assert np.mean(shares) <= 0.2 + 3.7 * np.std(shares) / np.sqrt(len(shares))
    assert np.mean(powers) > 0.1


REAL_SETS = ("annthyroid", "cover", "http", "magic", "mammography", "satellite", "shuttle", "smtp")


@pytest.fixture(scope="module")
def real_repeats():
    """On each real set, detectors trained on ten draws of its nominal rows, with fresh rows."""
    outcomes = []
    for name in REAL_SETS:
        for seed in range(10):
            split = one_class.load_split(name, seed, n_train=800, n_test=2_000)
            outcomes.append((RankAD(random_state=seed).fit(split.train), split.nominal))
    return outcomes


@pytest.mark.data
def test_with_confidence_the_rate_is_at_most_alpha_on_real_sets(real_repeats):
    n_exceeding = 0
    for detector, fresh in real_repeats:
        n_alarms = (detector.predict(fresh, alpha=0.05, confidence=0.9) == -1).sum()
        n_exceeding += n_alarms > binom(len(fresh), 0.05).ppf(0.99)
    assert n_exceeding <= most_failures(0.1, len(real_repeats))


@pytest.mark.data
@pytest.mark.parametrize("betting", ["jumper", "mixture"])
def test_streams_without_drift_rarely_alarm_on_real_sets(real_repeats, betting):
    alpha, n_alarms = 0.1, 0
    for seed, (detector, fresh) in enumerate(real_repeats):
        monitor = DriftMonitor(detector, betting=betting, alpha=alpha, random_state=seed)
        n_alarms += monitor.update_many(detector.score_samples(fresh))
    assert n_alarms <= most_failures(alpha, len(real_repeats))
