import copy
import json
import re
from dataclasses import dataclass
from itertools import pairwise, product
from math import exp, inf, isinf, log
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import quad
from scipy.stats import gamma
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rankad import RankAD
from rankad.baselines import KLPE
from rankad.calibration import (
    CrossFittedScores,
    GroupScores,
    HeldOutScores,
    OnlineDiscoveries,
    TrainingScores,
)
from rankad.calibration.betting import BETTINGS, MixtureBetting, SimpleJumper
from rankad.monitoring import DriftMonitor
from rankad.monitoring.comparing import stream_reference

STRATEGIES = pytest.mark.parametrize(
    "betting", [MixtureBetting(), SimpleJumper(), SimpleJumper(reserve=True)], ids=repr
)
NAMES = pytest.mark.parametrize("name", BETTINGS)


def martingale(betting, p_values):
    bets = betting.start()
    for p in p_values:
        bets = betting.bet(bets, p)
    return exp(betting.log_martingale(bets))


def power_product(eps, p_values):
    return float(np.prod([eps * p ** (eps - 1) for p in p_values]))


def jumper_over_all_paths(p_values, jump):
    """The definition: the mean product of bets, over all ways to jump between the gamblers."""
    total = 0.0
    for path in product((-1, 0, 1), repeat=len(p_values)):
        # The jump before the first bet changes nothing, because the gamblers are equal.
        moves = [1 / 3] + [
            (1 - jump) * (now == before) + jump / 3 for before, now in pairwise(path)
        ]
        bets = [1 + e * (p - 0.5) for e, p in zip(path, p_values, strict=True)]
        total += np.prod(moves) * np.prod(bets)
    return total


def delay(betting, seed, *, n_before=0, shift=-1.0):
    """Shifted scores until the alarm, after 500 reference scores and ``n_before`` others."""
    rng = np.random.default_rng(seed)
    monitor = DriftMonitor(
        HeldOutScores.from_scores(rng.normal(size=500)),
        betting=betting,
        dependence=None,
        random_state=seed,
    )
    assert not monitor.update_many(rng.normal(size=n_before))
    monitor.update_many(rng.normal(size=1000) + shift)
    return inf if monitor.alarmed_at is None else monitor.alarmed_at - n_before


def test_the_mixture_is_the_mean_product_of_power_bets(rng):
    p_values = rng.random(12) ** 2
    expected, _ = quad(lambda eps: power_product(eps, p_values), 0, 1, epsabs=0, epsrel=1e-12)
    assert_allclose(martingale(MixtureBetting(), p_values), expected, rtol=1e-10)


@pytest.mark.parametrize("jump", [0.0, 0.01, 0.3, 1.0])
def test_the_jumper_is_the_mean_product_of_bets_over_all_jumps(jump, rng):
    p_values = rng.random(7)
    expected = jumper_over_all_paths(p_values, jump)
    assert_allclose(martingale(SimpleJumper(jump), p_values), expected, rtol=1e-12)


def test_the_reserve_starts_a_jumper_at_each_step(rng):
    p_values = rng.random(30)
    started = [
        martingale(SimpleJumper(), p_values[n - 1 :]) / (n * (n + 1))
        for n in range(1, len(p_values) + 1)
    ]
    expected = sum(started) + 1 / (len(p_values) + 1)
    assert_allclose(martingale(SimpleJumper(reserve=True), p_values), expected, rtol=1e-12)


@pytest.mark.parametrize("n", [0, 1, 50, 1000, 100_000])
@pytest.mark.parametrize("mean", [0.0, 1e-12, 0.3, 0.9, 1.0, 1.1, 5.0])
def test_the_mixture_matches_quadrature_whatever_the_p_values(n, mean):
    a = n * mean  # -sum log p: 1 for each uniform p-value, less for large ones
    peak = min(1.0, n / a) if a > 0 else 1.0

    def log_integrand(eps):
        return (n * log(eps) if n else 0.0) + a * (1.0 - eps)

    width = 40.0 / (1.0 + np.sqrt(n) + abs(n - a) * (peak == 1.0))
    edges = np.linspace(max(1e-300, peak - width), min(1.0, peak + width), 400)
    parts = [
        quad(lambda eps: exp(log_integrand(eps) - log_integrand(peak)), low, high, epsabs=0)[0]
        for low, high in pairwise(edges)
    ]
    expected = log_integrand(peak) + log(sum(parts))
    assert_allclose(MixtureBetting().log_martingale((n, -a)), expected, rtol=1e-12, atol=1e-9)


@pytest.mark.parametrize("n", [1, 2, 30])
def test_the_mixture_is_fair(n):
    # -sum log p of n uniform p-values has a gamma law. The mean is over a tail like 1 / a^2, too
    # heavy for Monte Carlo.
    def weighted(a):
        return exp(MixtureBetting().log_martingale((n, -a)) + gamma.logpdf(a, n))

    body, _ = quad(weighted, 0, 500, limit=500, points=[1, n, 2 * n, 100])
    tail, _ = quad(lambda inverse: weighted(1 / inverse) / inverse**2, 1e-5, 1 / 500)
    assert_allclose(body + tail, 1.0, atol=1e-3 * n)


@pytest.mark.parametrize("reserve", [False, True])
def test_the_jumper_is_fair(reserve, rng):
    n_streams = 4000
    betting = SimpleJumper(jump=0.1, reserve=reserve)
    final = [martingale(betting, p_values) for p_values in 1 - rng.random((n_streams, 15))]
    assert abs(np.mean(final) - 1) < 4 * np.std(final) / np.sqrt(n_streams)
    assert np.std(final) > 0.1


@STRATEGIES
@pytest.mark.parametrize("p", [5e-324, 1e-3, 1.0])
def test_a_long_run_of_one_p_value_neither_overflows_nor_breaks(betting, p):
    monitor = DriftMonitor(betting=betting)
    for _ in range(20_000):
        monitor.update_p(p)
    assert np.isfinite(monitor.log_martingale)
    grows = p < 0.5 or isinstance(betting, SimpleJumper)
    assert isinf(monitor.martingale) == monitor.is_alarm == grows


@pytest.mark.slow
@STRATEGIES
def test_villes_bound_holds_for_exchangeable_streams(betting):
    n_streams, alpha = 1000, 1 / 20
    n_alarms = 0
    for seed in range(n_streams):
        rng = np.random.default_rng(seed)
        # Exchangeable, but dependent and tied.
        scores = np.round(rng.normal() + rng.normal(size=400), 1)
        monitor = DriftMonitor(
            HeldOutScores.from_scores(scores[:30]), betting=betting, alpha=alpha, random_state=seed
        )
        n_alarms += monitor.update_many(scores[30:])
    assert n_alarms / n_streams <= alpha + 4 * np.sqrt(alpha * (1 - alpha) / n_streams)
    assert n_alarms > 0


@pytest.mark.slow
@NAMES
def test_a_fixed_reference_alarms_falsely_and_a_growing_one_does_not(name):
    n_streams, n_scores = 30, 10_000
    fixed_alarms = growing_alarms = 0
    for seed in range(n_streams):
        rng = np.random.default_rng(seed)
        reference, scores = (
            HeldOutScores.from_scores(rng.normal(size=100)),
            rng.normal(size=n_scores),
        )
        fixed = DriftMonitor(betting=name)
        n_below = np.searchsorted(reference.scores, scores)
        for p in (n_below + 1 - rng.random(n_scores)) / (reference.size + 1):
            fixed.update_p(p)
        growing = DriftMonitor(reference, betting=name, random_state=seed)
        fixed_alarms += fixed.is_alarm
        growing_alarms += growing.update_many(scores)
    assert fixed_alarms >= 0.2 * n_streams  # each should alarm with probability 0.01
    assert growing_alarms <= 2


@pytest.mark.parametrize(("name", "longest"), [("jumper", 40), ("mixture", 25)])
def test_a_fall_by_one_sigma_is_found_soon(name, longest):
    assert np.median([delay(name, seed) for seed in range(100)]) <= longest


def test_the_jumper_notices_a_rise_and_the_mixture_does_not():
    assert np.median([delay("jumper", seed, shift=1.0) for seed in range(20)]) <= 40
    assert all(isinf(delay("mixture", seed, shift=1.0)) for seed in range(20))


def test_with_a_reserve_a_late_change_is_found_sooner():
    assert all(delay("jumper", seed, n_before=8000) <= 150 for seed in range(4))
    assert all(delay(SimpleJumper(), seed, n_before=8000) > 150 for seed in range(4))


@NAMES
def test_a_resumed_monitor_continues_bit_for_bit(name, rng):
    scores = np.round(rng.normal(size=900), 1)
    scores[[10, 20]] = -inf, inf
    reference = HeldOutScores.from_scores(np.round(rng.normal(size=50), 1))
    options = {"betting": name, "history_size": 70, "random_state": 3}
    whole, first = DriftMonitor(reference, **options), DriftMonitor(reference, **options)
    whole.update_many(scores[:400])
    first.update_many(scores[:400])
    saved = json.dumps(first.state(), allow_nan=False)
    resumed = DriftMonitor.from_state(json.loads(saved))
    assert json.dumps(resumed.state()) == saved
    for monitor in (whole, resumed):
        monitor.update_many(scores[400:] - 2.0)
    assert resumed.state() == whole.state()
    assert resumed.is_alarm
    assert_array_equal(resumed.history, whole.history)
    assert len(resumed.history) == 70


def test_one_by_one_is_the_same_as_many(rng):
    scores = np.round(rng.normal(size=200), 1)
    one_by_one, many = DriftMonitor(random_state=0), DriftMonitor(random_state=0)
    assert [one_by_one.update(score) for score in scores] == [False] * 200
    assert many.update_many(scores) is False
    assert many.update_many([]) is False
    assert one_by_one.martingale == many.martingale
    assert one_by_one.state() == many.state()
    assert DriftMonitor(random_state=1).state() != DriftMonitor(random_state=0).state()


def test_the_alarm_stays_until_restart():
    monitor = DriftMonitor(alpha=0.1, history_size=1000, random_state=0)
    assert monitor.martingale == 1.0
    while not monitor.update_p(0.01):
        assert monitor.martingale < 10
    alarmed_at = monitor.alarmed_at
    assert alarmed_at == monitor.n_seen == len(monitor.history)
    assert monitor.history[-2] < log(10) <= monitor.history[-1] == monitor.log_martingale
    for p in [0.1, 0.9] * 200:
        assert monitor.update_p(p)
    assert monitor.martingale < 10
    assert monitor.alarmed_at == alarmed_at

    n_seen = monitor.n_seen
    monitor.restart()
    assert (monitor.log_martingale, monitor.alarmed_at, len(monitor.history)) == (0.0, None, 0)
    assert monitor.n_seen == n_seen


def saved_p_values(monitor):
    return monitor.state()["comparison"]["p_values"]


def test_restart_keeps_the_scores_unless_a_new_reference_is_given(rng):
    monitor = DriftMonitor(HeldOutScores.from_scores(rng.normal(size=20)), random_state=0)
    monitor.update_many(rng.normal(size=100))
    assert sum(saved_p_values(monitor.restart())["counts"]) == 120
    recalibrated = SimpleNamespace(reference_=HeldOutScores.from_scores(np.array([2.0, 1.0])))
    p_values = saved_p_values(monitor.restart(recalibrated))
    assert p_values["scores"] == [1.0, 2.0]
    assert p_values["n_drawn"] == 100
    for refuses in (DriftMonitor, monitor.restart):
        with pytest.raises(ValueError, match="only be compared with held-out scores"):
            refuses(TrainingScores.from_scores(np.arange(9.0)))


@dataclass(frozen=True)
class HalfPower:
    """Bets 1/2 p^(-1/2)."""

    def start(self):
        return (0.0,)

    def bet(self, bets, p):
        return (bets[0] + log(0.5) - 0.5 * log(p),)

    def log_martingale(self, bets):
        return bets[0]


def test_a_strategy_of_ones_own(rng):
    monitor = DriftMonitor(betting=HalfPower(), random_state=0)
    p_values = 1 - rng.random(10)
    for p in p_values:
        monitor.update_p(p)
    assert_allclose(monitor.martingale, power_product(0.5, p_values))
    with pytest.raises(ValueError, match="Give it again as betting"):
        DriftMonitor.from_state(monitor.state())
    resumed = DriftMonitor.from_state(monitor.state(), betting=HalfPower())
    assert resumed.log_martingale == monitor.log_martingale


@pytest.mark.parametrize("p", [0.0, -0.1, 1.1, np.nan, inf])
def test_what_is_no_p_value_is_refused_and_changes_nothing(p):
    monitor = DriftMonitor(random_state=0)
    before = monitor.state()
    with pytest.raises(ValueError, match="above 0 and at most 1"):
        monitor.update_p(p)
    assert monitor.state() == before


@pytest.mark.parametrize("scores", [[1.0, np.nan], [[1.0]], 1.0])
def test_bad_scores_are_refused_and_change_nothing(scores):
    monitor = DriftMonitor(random_state=0)
    before = monitor.state()
    with pytest.raises(ValueError, match=r"is nan, not a number|must have shape \(n,\)"):
        monitor.update_many(scores)
    assert monitor.state() == before


def test_bad_parameters_are_refused():
    for alpha in (0.0, 1.0, -1, np.nan):
        with pytest.raises(ValueError, match="alpha must be a number between 0 and 1"):
            DriftMonitor(alpha=alpha)
    with pytest.raises(ValueError, match=r"one of \['jumper', 'mixture'\]"):
        DriftMonitor(betting="power")
    with pytest.raises(ValueError, match="jump must be a number from 0 to 1"):
        SimpleJumper(jump=1.5)
    for dependence in ("on", 1, True, 2.5, -3):
        with pytest.raises(ValueError, match="dependence must be 'auto', None, or the length"):
            DriftMonitor(dependence=dependence)


@pytest.mark.parametrize("state", [{}, {"version": 99}, OnlineDiscoveries().state()])
def test_what_is_no_state_is_refused(state):
    with pytest.raises(ValueError, match="not a state of kind 'DriftMonitor'"):
        DriftMonitor.from_state(state)


def test_a_monitor_tells_how_it_stands(rng):
    monitor = DriftMonitor(dependence=None, random_state=0)
    monitor.update_many(rng.normal(size=30))
    assert re.match("<DriftMonitor: no alarm, 30 scores, martingale", repr(monitor))
    assert "fit again" not in repr(monitor)
    monitor.update_many(np.arange(-1000.0, -1300.0, -1.0))
    assert "alarm at" in repr(monitor)
    assert "no alarm" not in repr(monitor)
    assert "fit again on about 300 or more of the new rows" in repr(monitor)
    assert "calibrate(X, replace=True)" in repr(monitor)


def test_the_reference_of_a_detector():
    reference = HeldOutScores.from_scores(np.array([2.0, 1.0]))
    assert stream_reference(reference) is reference
    assert stream_reference(SimpleNamespace(reference_=reference)) is reference
    assert stream_reference(None) is None


@pytest.mark.parametrize("kind", [TrainingScores, CrossFittedScores])
def test_scores_that_were_not_held_out_are_refused(kind):
    reference = kind.from_scores(np.arange(9.0))
    for detector in (reference, SimpleNamespace(reference_=reference)):
        with pytest.raises(ValueError, match=r"held-out scores; .*calibration='split'"):
            stream_reference(detector)


def test_scores_of_groups_are_refused():
    reference = GroupScores.from_groups(np.arange(4.0), np.array([0, 0, 1, 1]))
    with pytest.raises(ValueError, match=r"held-out scores; .* and without groups, or call"):
        stream_reference(reference)


def test_what_is_no_fitted_detector_is_refused():
    with pytest.raises(NotFittedError):
        stream_reference(RankAD())
    with pytest.raises(TypeError, match="must be a fitted detector of rankad, reference"):
        stream_reference(np.arange(9.0))


def test_a_pipeline_is_told_what_to_give_instead(rng):
    pipe = make_pipeline(StandardScaler(), RankAD(random_state=0)).fit(rng.normal(size=(200, 2)))
    with pytest.raises(TypeError, match=r"Of a pipeline, give the last step, pipe\[-1\]"):
        DriftMonitor(pipe)
    assert not DriftMonitor(pipe[-1], random_state=0).update_rows(
        pipe[:-1].transform(rng.normal(size=(50, 2)))
    )


def test_a_rounded_reference_is_refused():
    class Thinned(HeldOutScores):
        size = 7

    with pytest.raises(ValueError, match="keeps only 3 of its scores"):
        stream_reference(Thinned.from_scores(np.arange(3.0)))


def test_a_detector_that_was_fitted_again_is_refused(rng):
    detector = KLPE(random_state=0).fit(rng.normal(size=(400, 2)))
    monitor = DriftMonitor(detector, random_state=0)
    detector.calibrate(rng.normal(size=(100, 2)))
    monitor.update_rows(rng.normal(size=(50, 2)))  # a calibration keeps the model
    copied = copy.deepcopy(monitor)
    copied.update_rows(rng.normal(size=(50, 2)))
    detector.fit(3.0 * rng.normal(size=(400, 2)))
    with pytest.raises(ValueError, match=r"was fitted again, .* Call restart\(detector\)"):
        monitor.update_rows(rng.normal(size=(50, 2)))
    assert monitor.n_seen == 50
    monitor.restart(detector).update_rows(3.0 * rng.normal(size=(50, 2)))
    assert monitor.n_seen == 100
