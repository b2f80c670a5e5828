"""Drift monitors on streams with memory: false alarms, delays, and what is suffered until then.

    python benchmarks/drift_streams.py      # ten million scores: memory and seconds

`guarantees.py --drift` writes the table of the other measures into docs/guarantees.md.
"""

import json
import resource
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from joblib import Parallel, delayed
from scipy.signal import lfilter

from rankad import RankAD
from rankad.calibration import ReferenceScores, TimeScores
from rankad.exceptions import CalibrationWarning
from rankad.monitoring import DriftMonitor
from rankad.reproduce.markdown import table

N_COLUMNS, N_TRAIN, N_STREAM, N_BEFORE = 4, 4_000, 20_000, 5_000

#: Alpha of the monitor and of the detector.
MONITOR_ALPHA, DETECTOR_ALPHA = 0.05, 0.01


def with_memory(phi: float, n: int, rng: np.random.Generator) -> np.ndarray:
    """Rows of independent AR(1) columns with variance 1."""
    noise = rng.normal(scale=np.sqrt(1.0 - phi**2), size=(n + 5_000, N_COLUMNS))
    return lfilter([1.0], [1.0, -phi], noise, axis=0)[5_000:]


def with_cycle(period: int, n: int, rng: np.random.Generator) -> np.ndarray:
    """Rows of AR(.5) columns. A cycle of amplitude 1 moves the first two."""
    rows = with_memory(0.5, n, rng)
    rows[:, :2] += np.sin(2.0 * np.pi * np.arange(n) / period)[:, None]
    return rows


@dataclass(frozen=True)
class Stream:
    """A stationary stream: its name, its rows, and how many are made."""

    name: str
    rows: Callable[[int, np.random.Generator], np.ndarray]
    n_repeats: int = 15


STREAMS = (
    Stream("independent rows", lambda n, rng: with_memory(0.0, n, rng)),
    Stream("AR(.5)", lambda n, rng: with_memory(0.5, n, rng)),
    Stream("AR(.9)", lambda n, rng: with_memory(0.9, n, rng), 50),
    Stream("AR(.99)", lambda n, rng: with_memory(0.99, n, rng)),
    Stream("cycle of 288 rows", lambda n, rng: with_cycle(288, n, rng)),
    Stream("cycle of 1,440 rows", lambda n, rng: with_cycle(1_440, n, rng)),
)

SINGLE, DEFAULT, IN_TIME = "single scores", "default", "reference in time"


@dataclass
class Outcome:
    """What one monitor did on the repeats of a stream."""

    n_false: int = 0
    delays: list[float] = field(default_factory=list)
    n_suffered: int = 0
    n_delay_rows: int = 0
    lengths: list[int] = field(default_factory=list)


def monitored(stream: Stream) -> dict[str, Outcome]:
    """Outcome of each monitor on a stream, without a shift and with one."""
    outcomes = {name: Outcome() for name in (SINGLE, DEFAULT, IN_TIME)}
    for seed in range(stream.n_repeats):
        rng = np.random.default_rng(seed)
        rows = stream.rows(N_TRAIN + N_STREAM, rng)
        train, nominal = np.split(rows, [N_TRAIN])
        shifted = nominal.copy()
        shifted[N_BEFORE:, 0] += rows[:, 0].std()
        split = RankAD(random_state=seed).fit(train)
        early, late = np.split(train, [3 * N_TRAIN // 4])
        timed = RankAD(random_state=seed, calibration="train").fit(early)
        in_time = TimeScores.from_runs(timed.score_samples(late), np.zeros(1, dtype=np.int64))
        for name, detector, reference, dependence in (
            (SINGLE, split, split.reference_, None),
            (DEFAULT, split, split.reference_, "auto"),
            (IN_TIME, timed, in_time, "auto"),
        ):
            scores = [detector.score_samples(part) for part in (nominal, shifted)]
            monitors = [
                DriftMonitor(
                    reference, alpha=MONITOR_ALPHA, dependence=dependence, random_state=seed
                )
                for _ in scores
            ]
            for monitor, part in zip(monitors, scores, strict=True):
                monitor.update_many(part)
            _count(outcomes[name], monitors, reference, scores[1])
    return outcomes


def _count(
    outcome: Outcome,
    monitors: list[DriftMonitor],
    reference: ReferenceScores,
    shifted: np.ndarray,
) -> None:
    still, moved = monitors
    outcome.n_false += still.is_alarm
    outcome.lengths.append(still.block_length or 0)
    at = moved.alarmed_at
    if at is not None and at <= N_BEFORE:
        return
    end = N_STREAM if at is None else at
    outcome.delays.append(np.inf if at is None else at - N_BEFORE)
    alarms = reference.p_values(shifted[N_BEFORE:end]) <= DETECTOR_ALPHA
    outcome.n_suffered += int(alarms.sum())
    outcome.n_delay_rows += len(alarms)


def memory_table(n_jobs: int) -> str:
    """False alarms and delays of the monitors, stream by stream."""
    outcomes = Parallel(n_jobs=n_jobs)(
        delayed(_monitored_quietly)(at) for at in range(len(STREAMS))
    )
    lines = [
        [stream.name, name, *_cells(stream, outcome)]
        for stream, of_stream in zip(STREAMS, outcomes, strict=True)
        for name, outcome in of_stream.items()
    ]
    heads = (
        *("stream", "monitor", "block", "alarms without a shift"),
        *("median delay, rows", "90% within", "detector's alarms in the delay"),
    )
    return table(heads, lines)


def _monitored_quietly(at: int) -> dict[str, Outcome]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibrationWarning)
        return monitored(STREAMS[at])


def _cells(stream: Stream, outcome: Outcome) -> list[str]:
    known = [length for length in outcome.lengths if length]
    block = f"{np.median(known):.0f}" if known else "-"
    false = f"{outcome.n_false} of {stream.n_repeats}"
    if len(outcome.delays) < stream.n_repeats / 2:  # it alarms before the shift
        return [block, false, "-", "-", "-"]
    quantiles = np.quantile(outcome.delays, [0.5, 0.9], method="higher")
    limit = N_STREAM - N_BEFORE
    delays = [f"{q:,.0f}" if np.isfinite(q) else f"more than {limit:,}" for q in quantiles]
    return [block, false, *delays, f"{outcome.n_suffered / outcome.n_delay_rows:.1%}"]


def long_stream(n_millions: int = 10) -> None:
    """Give a monitor many scores, and print seconds and memory after each million."""
    rng = np.random.default_rng(0)
    monitor = DriftMonitor(random_state=0)
    monitor.update_many(rng.normal(size=1_000))
    for million in range(1, n_millions + 1):
        scores = rng.normal(size=1_000_000)
        before = time.perf_counter()
        monitor.update_many(scores)
        seconds = time.perf_counter() - before
        state = len(json.dumps(monitor.state())) / 2**20
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
        print(f"{million:3d} M: {seconds:.1f} s, state {state:.2f} MiB, process {peak:.0f} MiB")


if __name__ == "__main__":
    warnings.simplefilter("ignore", CalibrationWarning)
    long_stream()
