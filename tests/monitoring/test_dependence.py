"""Monitors of streams with memory, of rows, and over long streams."""

import json
import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.signal import lfilter

from rankad import RankAD
from rankad.calibration import HeldOutScores, TimeScores
from rankad.exceptions import CalibrationWarning
from rankad.monitoring import DriftMonitor

ONE_RUN = np.zeros(1, dtype=np.int64)


def rows_with_memory(phi, n, rng, n_columns=4):
    noise = rng.normal(scale=np.sqrt(1 - phi**2), size=(n + 1000, n_columns))
    return lfilter([1.0], [1.0, -phi], noise, axis=0)[1000:]


def scores_with_memory(phi, n, rng):
    """Log densities of rows, up to a constant."""
    return -(rows_with_memory(phi, n, rng) ** 2).sum(axis=1)


def in_time(scores):
    return TimeScores.from_runs(scores, ONE_RUN)


@pytest.fixture(scope="module")
def detector():
    return RankAD(random_state=0).fit(np.random.default_rng(0).normal(size=(400, 2)))


def test_a_monitor_turns_to_blocks_once_and_says_so(rng):
    monitor = DriftMonitor(random_state=0)
    scores = scores_with_memory(0.9, 20_000, rng)
    with pytest.warns(CalibrationWarning, match='calibration_split="time"') as caught:
        assert not monitor.update_many(scores[:600])
    assert len(caught) == 1
    assert monitor.block_length is None
    assert "learning" in repr(monitor)
    monitor.update_many(scores[600:])
    assert 30 <= monitor.block_length <= 250
    assert f"blocks of {monitor.block_length}" in repr(monitor)


def test_a_reference_in_time_teaches_the_blocks_without_a_warning(rng):
    scores = scores_with_memory(0.9, 4000, rng)
    monitor = DriftMonitor(in_time(scores[:2000]), random_state=0)
    assert 30 <= monitor.block_length <= 250
    monitor.update_many(scores[2000:])
    fallen = scores[2000:] - 15.0
    assert monitor.update_many(fallen)
    assert monitor.alarmed_at - 2000 < 40 * monitor.block_length


def test_an_independent_reference_in_time_keeps_single_scores(rng):
    reference = rng.normal(size=500)
    timed, held_out = (
        DriftMonitor(in_time(reference), random_state=0),
        DriftMonitor(HeldOutScores.from_scores(reference), dependence=None, random_state=0),
    )
    scores = rng.normal(size=300)
    assert not timed.update_many(scores)
    assert not held_out.update_many(scores)
    assert timed.martingale == held_out.martingale
    assert (timed.block_length, held_out.block_length) == (1, 1)


def test_too_short_a_reference_in_time_warns_and_learns_on(rng):
    scores = scores_with_memory(0.9, 6000, rng)
    with pytest.warns(CalibrationWarning, match="reference has 300 scores in the order of time"):
        monitor = DriftMonitor(in_time(scores[:300]), random_state=0)
    assert monitor.block_length is None
    monitor.update_many(scores[300:])
    assert monitor.block_length > 10


def test_a_shift_at_once_alarms_after_64_scores_and_not_before(rng):
    reference = HeldOutScores.from_scores(rng.normal(size=500))
    monitor = DriftMonitor(reference, random_state=0)
    assert not monitor.update_many(rng.normal(size=63) - 4.0)
    assert monitor.martingale > 1e6
    assert monitor.update_many([-4.0])
    assert monitor.alarmed_at == 64


def test_an_evidence_that_comes_from_dependence_is_no_alarm():
    # At the first score with enough evidence, the test of dependence speaks first.
    scores = scores_with_memory(0.95, 300, np.random.default_rng(3))
    single = DriftMonitor(dependence=None, random_state=0)
    assert single.update_many(scores)
    monitor = DriftMonitor(random_state=0)
    with pytest.warns(CalibrationWarning, match="each score is like those just before"):
        assert not monitor.update_many(scores)


@pytest.mark.parametrize("dependence", ["auto", None, 40])
@pytest.mark.parametrize("n_reference", [0, 1500])
@pytest.mark.filterwarnings("ignore::rankad.exceptions.CalibrationWarning")
def test_one_by_one_in_batches_and_resumed_are_the_same(dependence, n_reference, rng):
    scores = scores_with_memory(0.8, n_reference + 4500, rng)
    reference = in_time(scores[:n_reference]) if n_reference else None
    options = {"dependence": dependence, "history_size": 5000, "random_state": 1}
    whole, parts = DriftMonitor(reference, **options), DriftMonitor(reference, **options)
    stream = scores[n_reference:]
    whole.update_many(stream)
    for start in range(0, 4500, 500):
        parts.update_many(stream[start : start + 350])
        for score in stream[start + 350 : start + 500]:
            parts.update(score)
        parts = DriftMonitor.from_state(json.loads(json.dumps(parts.state(), allow_nan=False)))
    assert_array_equal(parts.history, whole.history)
    assert parts.state() == whole.state()


def test_rows_are_scored_by_the_detector(detector, rng):
    rows = rng.normal(size=(300, 2))
    by_rows, by_scores = (
        DriftMonitor(detector, random_state=0),
        DriftMonitor(detector, random_state=0),
    )
    assert not by_rows.update_rows(rows)
    assert not by_scores.update_many(detector.score_samples(rows))
    assert by_rows.state() == by_scores.state()
    before = by_rows.state()
    with pytest.raises(ValueError, match="NaN"):
        by_rows.update_rows([[0.0, 1.0], [np.nan, 0.0]])
    assert by_rows.state() == before


def test_without_a_detector_there_are_no_rows(detector):
    saved = DriftMonitor(detector).state()
    for monitor in (
        DriftMonitor(),
        DriftMonitor(detector.reference_),
        DriftMonitor.from_state(saved),
    ):
        with pytest.raises(ValueError, match=r"has no detector, so it cannot score rows\. Make"):
            monitor.update_rows([[0.0, 0.0]])


def test_the_saved_monitor_takes_its_own_detector_again(detector, rng):
    rows = rng.normal(size=(100, 2))
    monitor = DriftMonitor(detector, random_state=0)
    monitor.update_rows(rows[:50])
    resumed = DriftMonitor.from_state(monitor.state(), detector=detector)
    for each in (monitor, resumed):
        each.update_rows(rows[50:])
    assert resumed.state() == monitor.state()
    other = RankAD(random_state=0).fit(rng.normal(size=(400, 2)))
    for wrong in (other, detector.reference_):
        with pytest.raises(ValueError, match="is not the detector of the saved monitor"):
            DriftMonitor.from_state(monitor.state(), detector=wrong)
    assert DriftMonitor().restart(detector).update_rows(rows) is False


@pytest.mark.slow
def test_memory_does_not_grow_with_the_stream(rng):
    def state_size(monitor):
        return len(json.dumps(monitor.state()))

    monitor = DriftMonitor(random_state=0)
    sizes = []
    for _ in range(20):
        monitor.update_many(rng.normal(size=100_000))
        sizes.append(state_size(monitor))
    # 65,536 scores and counts, of at most 40 characters together, and 4,096 recent scores.
    assert max(sizes) < 3_000_000
    assert sizes[-1] < 1.1 * max(sizes[:5])
    assert not monitor.is_alarm


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::rankad.exceptions.CalibrationWarning")
def test_stationary_streams_with_memory_seldom_alarm():
    n_streams, n_alarms = 50, {"single": 0, "stream": 0, "time": 0}
    for seed in range(n_streams):
        scores = scores_with_memory(0.9, 21_000, np.random.default_rng(seed))
        monitors = {
            "single": DriftMonitor(alpha=0.05, dependence=None, random_state=seed),
            "stream": DriftMonitor(alpha=0.05, random_state=seed),
            "time": DriftMonitor(in_time(scores[:1000]), alpha=0.05, random_state=seed),
        }
        for name, monitor in monitors.items():
            n_alarms[name] += monitor.update_many(scores[1000:])
    # With the rate 0.05, more than 8 of 50 alarms have probability 0.0002. At 0.07, 0.005.
    assert n_alarms["stream"] <= 8
    assert n_alarms["time"] <= 8
    assert n_alarms["single"] >= 45


@pytest.mark.slow
def test_the_bound_holds_for_independent_streams_with_auto():
    n_streams, level = 1000, 0.05
    n_alarms = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibrationWarning)
        for seed in range(n_streams):
            rng = np.random.default_rng(seed)
            monitor = DriftMonitor(in_time(rng.normal(size=200)), alpha=level, random_state=seed)
            n_alarms += monitor.update_many(np.round(rng.normal(size=800), 1))
    # Four standard errors: probability 3e-5.
    assert n_alarms / n_streams <= level + 4 * np.sqrt(level * (1 - level) / n_streams)
