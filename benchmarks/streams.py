"""Alarm budgets and episodes on streams with memory: tables of docs/guarantees.md.

    python benchmarks/streams.py [--seeds 10]           # about two minutes

Every stream has four columns with a standard deviation of about 1, 4,000 training rows and 20,000
new rows.
"""

import argparse
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from pages import with_table
from scipy.signal import lfilter

from rankad import AlarmBudget, Episodes, RankAD
from rankad.calibration import TimeScores
from rankad.monitoring import episodes_per_day
from rankad.reproduce.markdown import table

PAGE = Path(__file__).parents[1] / "docs" / "guarantees.md"

N_TRAIN, N_NEW, N_COLUMNS = 4_000, 20_000, 4
ALPHAS = (0.01, 0.05)

#: Rows of a day, if a row comes every minute.
DAY = 1_440

#: A shift by three standard deviations: the length of a move by 1.5 in each of four columns.
SHIFT = 3.0 / np.sqrt(N_COLUMNS)
N_BRIEF, N_LASTING = 20, 5_000

#: An episode ends after so many quiet rows.
GAP = 5

Rows = np.ndarray
Alarms = Callable[[Rows], np.ndarray]


def autoregressive(phi: float, n: int, rng: np.random.Generator) -> Rows:
    """Stationary rows: each remembers the share phi of the row before."""
    noise = rng.normal(0.0, np.sqrt(1.0 - phi**2), (n + 2_000, N_COLUMNS))
    return lfilter([1.0], [1.0, -phi], noise, axis=0)[2_000:]


def daily_cycle(phi: float, n: int, rng: np.random.Generator) -> Rows:
    """A cycle of a day, and noise."""
    cycle = 2.0 * np.sin(2.0 * np.pi * np.arange(n) / DAY)
    return cycle[:, None] + autoregressive(phi, n, rng)


def ramp(n: int, rng: np.random.Generator) -> Rows:
    """Independent rows whose means rise by 2 over the new rows."""
    rise = 2.0 * np.maximum(np.arange(n) - N_TRAIN, 0) / N_NEW
    return rng.normal(size=(n, N_COLUMNS)) + rise[:, None]


def step(n: int, rng: np.random.Generator) -> Rows:
    """Independent rows whose means rise by 1 in the middle of the new rows."""
    return rng.normal(size=(n, N_COLUMNS)) + (np.arange(n) >= N_TRAIN + N_NEW // 2)[:, None]


STREAMS: dict[str, Callable[[int, np.random.Generator], Rows]] = {
    "independent rows": partial(autoregressive, 0.0),
    "AR(.9)": partial(autoregressive, 0.9),
    "AR(.99)": partial(autoregressive, 0.99),
    "daily cycle": partial(daily_cycle, 0.0),
    "daily cycle, AR(.95) noise": partial(daily_cycle, 0.95),
    "slow ramp": ramp,
    "step": step,
}


def decisions(alpha: float) -> dict[str, Alarms]:
    """Ways from p-values to alarms."""
    return {
        "fixed level": lambda p: p <= alpha,
        "budget": lambda p: AlarmBudget(alpha=alpha).update_many(p),
        "budget, max_level=alpha": lambda p: AlarmBudget(alpha=alpha, max_level=alpha).update_many(
            p
        ),
        "budget, burst=1, decay=.6": lambda p: AlarmBudget(
            alpha=alpha, burst=1, decay=0.6
        ).update_many(p),
    }


COMPARED = ("fixed level", "budget")


def p_values_of(name: str, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """p-values of the new rows: as they are, with brief shifts, with a lasting one.

    The last array holds the rows of the brief shifts, a line for each.
    """
    rows = STREAMS[name](N_TRAIN + N_NEW, np.random.default_rng(seed))
    detector = RankAD(random_state=seed).fit(rows[:N_TRAIN])
    new = rows[N_TRAIN:]
    # At random places: an alarm of a spent budget comes every 1 / alpha rows.
    starts = np.arange(0, N_NEW, 1_000) + np.random.default_rng(seed).integers(980, size=20)
    places = starts[:, None] + np.arange(N_BRIEF)
    brief, lasting = new.copy(), new.copy()
    brief[places] += SHIFT
    lasting[-N_LASTING:] += SHIFT
    return *(detector.p_values(some) for some in (new, brief, lasting)), places


Measured = dict[str, list[tuple[np.ndarray, ...]]]


def budget_tables(measured: Measured) -> str:
    """Realized rates, and what they cost in power."""
    rates, powers = [], []
    for alpha in ALPHAS:
        ways = decisions(alpha)
        for name, seeds in measured.items():
            first = [f"{alpha:g}", name]
            cells = [mean_and_error([way(p).mean() for p, *_ in seeds]) for way in ways.values()]
            rates.append([*first, *cells])
            powers.append([*first, *_power_cells([ways[way] for way in COMPARED], seeds)])
    heads = [
        f"{what}: {way}"
        for what in ("rows of brief shifts", "brief shifts", "first 100 rows", "last 1,000 rows")
        for way in COMPARED
    ]
    tables = [["alpha", "stream", *decisions(0.01)], rates], [["alpha", "stream", *heads], powers]
    return "\n\n".join(table(head, rows) for head, rows in tables)


def burst_table(measured: Measured, alpha: float = 0.01) -> str:
    """What the burst costs and gives, at one alpha."""
    rows = []
    for burst in (2, 5, 10, 20, 50, 100):
        cells = []
        for name in ("independent rows", "AR(.9)"):
            alarms, worst, power = [], [], []
            for p, brief, _, places in measured[name]:
                is_alarm = AlarmBudget(alpha=alpha, burst=burst).update_many(p)
                alarms.append(is_alarm.mean())
                worst.append(np.convolve(is_alarm, np.ones(1_000), "valid").max() / 1_000)
                found = AlarmBudget(alpha=alpha, burst=burst).update_many(brief)
                power.append(found[places].mean())
            cells += [mean_and_error(alarms), mean_and_error(worst, 3), mean_and_error(power, 2)]
        rows.append([str(burst), *cells])
    heads = [
        f"{name}: {what}"
        for name in ("independent rows", "AR(.9)")
        for what in ("rate", "worst 1,000 rows", "rows of brief shifts")
    ]
    return table(["burst", *heads], rows)


def _power_cells(ways: list[Alarms], seeds: list[tuple[np.ndarray, ...]]) -> list[str]:
    """Shares that alarm: of rows and events of brief shifts, and of a lasting shift."""
    found = np.empty((4, len(ways), len(seeds)))
    for i, way in enumerate(ways):
        for j, (_, brief, lasting, places) in enumerate(seeds):
            events, fault = way(brief)[places], way(lasting)[-N_LASTING:]
            found[:, i, j] = (
                events.mean(),
                events.any(axis=1).mean(),
                fault[:100].mean(),
                fault[-1_000:].mean(),
            )
    return [mean_and_error(shares, digits=2) for measure in found for shares in measure]


def episode_table(n_seeds: int) -> str:
    """Alarms and episodes a day on AR(.9), seen and expected, by number of held-out rows."""
    rows = []
    for n_reference in (1_000, 4_000):
        for alpha in ALPHAS:
            runs = [_episodes_of(n_reference, alpha, seed) for seed in range(n_seeds)]
            alarms, seen, expected, low, high = np.array(runs).T
            n_inside = int(((low <= seen) & (seen <= high)).sum())
            rows.append(
                [
                    *(f"{n_reference:,}", f"{alpha:g}", f"{alpha * DAY:.1f}"),
                    *(mean_and_error(column, digits=1) for column in (alarms, seen, expected)),
                    f"{low.mean():.1f} to {high.mean():.1f}",
                    f"{n_inside} of {n_seeds}",
                ]
            )
    heads = ("held-out rows", "alpha", "alarms a day, asked", "alarms a day, seen")
    expected = ("episodes a day, seen", "episodes a day, expected", "mean interval")
    return table([*heads, *expected, "streams within it"], rows)


def _episodes_of(n_reference: int, alpha: float, seed: int) -> tuple[float, ...]:
    """Alarms and episodes a day of new rows, and what the held-out rows say."""
    n_before = 3_000 + n_reference
    rows = autoregressive(0.9, n_before + N_NEW, np.random.default_rng(seed))
    model = RankAD(calibration="train", random_state=seed).fit(rows[:3_000])
    scores = model.score_samples(rows[3_000:])
    reference = TimeScores.from_runs(scores[:n_reference], np.array([0]))
    is_alarm = reference.p_values(scores[n_reference:]) <= alpha
    episodes = Episodes(gap=GAP)
    n_episodes = len(episodes.update_many(is_alarm) + episodes.close())
    expected = episodes_per_day(reference, alpha, DAY, gap=GAP)
    days = N_NEW / DAY
    counts = is_alarm.sum() / days, n_episodes / days
    return *counts, expected.mean, expected.low, expected.high


def mean_and_error(values: object, digits: int = 4) -> str:
    """Mean ± standard error over the seeds."""
    found = np.asarray(values, dtype=np.float64)
    mean = f"{found.mean():.{digits}f}"
    if len(found) < 2:
        return mean
    return f"{mean} ± {found.std(ddof=1) / np.sqrt(len(found)):.{digits}f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    measured = {name: [p_values_of(name, seed) for seed in range(asked.seeds)] for name in STREAMS}
    tables = {
        "budget": budget_tables(measured),
        "bursts": burst_table(measured),
        "episodes": episode_table(asked.seeds),
    }
    for name, made in tables.items():
        PAGE.write_text(with_table(PAGE.read_text(), name, made))


if __name__ == "__main__":
    main()
