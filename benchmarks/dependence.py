"""Rows in time, groups and copies: the tables of docs/guarantees.md.

    RANKAD_DATA=... python benchmarks/dependence.py [--seeds 10] [--jobs 2]

It takes about half an hour on two cores, keeps its runs, and goes on where it was stopped.
"""

import argparse
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from guarantees import SETS
from ordered_rows import SOURCES, OrderedRows, n_training, nominal_in_file_order, of_file
from pages import with_table
from running import FOLDER, kept_runs
from streams import N_BRIEF, N_LASTING, mean_and_error

from rankad import AlarmBudget, RankAD
from rankad.calibration import TimeBlocks
from rankad.calibration.sample import Sample
from rankad.exceptions import CalibrationWarning
from rankad.monitoring import DriftMonitor
from rankad.reproduce.experiment import Experiment, tasks
from rankad.reproduce.markdown import table
from rankad.reproduce.records import Key, Record
from rankad.reproduce.results import Results

PAGE = Path(__file__).parents[1] / "docs" / "guarantees.md"

SIZES = (4_000, 20_000)
ALPHAS = (0.01, 0.05)

#: A fault moves one column by so many standard deviations.
SHIFT = 3.0

#: Brief faults are at least so many rows apart.
APART = 100
N_FAULTS = 20

DEFAULT, TIME, GROUPS, LAST = "default", "time", "groups", "last rows"

SPLITS = {TIME: "time", LAST: TimeBlocks(n_blocks=1)}

#: What to do about the dependence. Other rows need nothing: the default knows copies.
REMEDIES = {
    **dict.fromkeys(("AR(.5)", "AR(.9)", "AR(.99)", "random walk"), TIME),
    **dict.fromkeys(("daily cycle", "daily cycle, hour columns"), TIME),
    "groups of ten": GROUPS,
    **dict.fromkeys(SETS, TIME),
}


def fitted(rows: OrderedRows, method: str, seed: int) -> tuple[RankAD, bool]:
    """A detector, and whether `fit` warned."""
    split = SPLITS.get(method, "random")
    groups = rows.groups if method == GROUPS else None
    detector = RankAD(calibration_split=split, random_state=seed)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", CalibrationWarning)
        detector.fit(rows.train, groups=groups)
    return detector, any(issubclass(warning.category, CalibrationWarning) for warning in caught)


def shifts(rows: OrderedRows, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """New rows with brief faults, the places of these, and new rows with a lasting fault."""
    n = len(rows.new)
    spreads = rows.train.std(axis=0)[: rows.n_shiftable]
    column = rng.choice(np.flatnonzero(spreads > 0.0))
    n_faults = min(N_FAULTS, n // APART)
    stretch = n // n_faults
    starts = np.arange(n_faults) * stretch + rng.integers(stretch - N_BRIEF, size=n_faults)
    places = starts[:, None] + np.arange(N_BRIEF)
    brief, lasting = rows.new.copy(), rows.new.copy()
    brief[places, column] += SHIFT * spreads[column]
    lasting[-n_lasting(n) :, column] += SHIFT * spreads[column]
    return brief, places, lasting


def n_lasting(n: int) -> int:
    """Number of rows of the lasting fault: the last 5,000, or half of them."""
    return min(N_LASTING, n // 2)


def measures(rows: OrderedRows, method: str, seed: int) -> dict[str, float]:
    """Rates and power of one detector at each alpha, and when the monitor alarms."""
    detector, is_warned = fitted(rows, method, seed)
    brief, places, lasting = shifts(rows, np.random.default_rng(seed))
    scores = detector.score_samples(rows.new)
    p, p_brief, p_lasting = (
        detector.reference_.p_values(some)
        for some in (scores, detector.score_samples(brief), detector.score_samples(lasting))
    )
    last = slice(-n_lasting(len(scores)), None)
    found = {
        "is_warned": float(is_warned),
        "worth": Sample.tested(rows.train).effective_size(),
        "monitor": alarm_of_monitor(detector, scores, seed),
    }
    for alpha in ALPHAS:
        found[f"rate {alpha}"] = float((p <= alpha).mean())
        found[f"brief {alpha}"] = float((p_brief[places] <= alpha).mean())
        found[f"lasting {alpha}"] = float((p_lasting[last] <= alpha).mean())
        budgets = (AlarmBudget(alpha=alpha).update_many(some) for some in (p, p_lasting))
        alarms, alarms_of_lasting = budgets
        found[f"budget rate {alpha}"] = float(alarms.mean())
        found[f"budget lasting {alpha}"] = float(alarms_of_lasting[last].mean())
    return found


def alarm_of_monitor(detector: RankAD, scores: np.ndarray, seed: int) -> float:
    """Row at which the monitor alarms; NaN if it does not, or takes no reference of groups."""
    if detector.reference_.guarantee == "groups":
        return float("nan")
    monitor = DriftMonitor(detector, random_state=seed)
    for part in np.array_split(scores, max(len(scores) // 500, 1)):
        if monitor.update_many(part):
            return float(monitor.alarmed_at or 0)
    return float("nan")


def on_source(key: Key) -> Record:
    """Rows drawn from a law."""
    name, n = named(key.set)
    return record(key, SOURCES[name](n, np.random.default_rng(key.seed)))


def on_file(key: Key) -> Record:
    """Nominal rows of a real set, in the order of its file."""
    name, n = named(key.set)
    return record(key, of_file(name, n))


def record(key: Key, rows: OrderedRows) -> Record:
    return Record(*key, *rows.train.shape, measures(rows, key.method, key.seed))


def named(of_set: str) -> tuple[str, int]:
    """Name and number of training rows."""
    name, n = of_set.rsplit(": ", 1)
    return name, int(n)


def methods(of_set: str) -> list[str]:
    remedy = REMEDIES.get(named(of_set)[0])
    return [DEFAULT, remedy] if remedy else [DEFAULT]


def file_sizes(name: str) -> list[int]:
    """Numbers of training rows of a real set: two, or one if the set is small."""
    n = len(nominal_in_file_order(name))
    return sorted({n_training(n, at_most) for at_most in SIZES})


EXPERIMENTS = {
    "dependence": Experiment(
        "dependence",
        lambda: [f"{name}: {n}" for n in SIZES for name in SOURCES],
        methods,
        on_source,
    ),
    "file-order": Experiment(
        "file order",
        lambda: [f"{name}: {n}" for name in SETS for n in file_sizes(name)],
        lambda of_set: [*methods(of_set), LAST],
        on_file,
    ),
}


def rate_table(results: Results, alpha: float, *, is_file: bool) -> str:
    """A line for each kind of rows and number of training rows."""
    lines = []
    for of_set in sorted(results.sets, key=lambda one: order_of(results, one)):
        name, n = named(of_set)
        remedy = REMEDIES.get(name, DEFAULT)
        usual, best = (measured(results, method, of_set) for method in (DEFAULT, remedy))
        by_remedy = ["none needed", ""]
        if remedy != DEFAULT:
            rate, power = fixed_cells(best, alpha)
            by_remedy = [f"{remedy}: {rate}", power]
        budget = [
            mean_and_error(best(f"budget rate {alpha}")),
            mean_and_error(best(f"budget lasting {alpha}"), 2),
        ]
        more = []
        if is_file:
            by_last = measured(results, LAST, of_set)(f"rate {alpha}")
            more = [mean_and_error(by_last), alarm_cell(best("monitor"))]
        worth = f"{n:,} ({np.mean(usual('worth')):,.0f})"
        lines.append([name, worth, *fixed_cells(usual, alpha), *by_remedy, *budget, *more])
    heads = [f"{way}: {what}" for way in ("default", "remedy") for what in ("rate", "power")]
    heads += ["budget: rate", "budget: power"]
    heads += ["n_blocks=1: rate", "monitor alarms at row"] * is_file
    return table([f"rows, asked {alpha:g}", "training rows (worth)", *heads], lines)


def order_of(results: Results, of_set: str) -> tuple[int, int]:
    """Kinds of rows as in the experiment, each with few and many training rows."""
    kinds = [named(other)[0] for other in results.sets]
    name, n = named(of_set)
    return kinds.index(name), n


Values = Callable[[str], np.ndarray]


def measured(results: Results, method: str, of_set: str) -> Values:
    """What gives the values of a measure, one for each seed."""
    runs = results.runs(method, of_set)
    return lambda measure: np.array([run.measures[measure] for run in runs])


def fixed_cells(values: Values, alpha: float) -> list[str]:
    """Rate with the warnings, and power of the fixed level."""
    warned = values("is_warned")
    power = [mean_and_error(values(f"{fault} {alpha}"), 2) for fault in ("brief", "lasting")]
    rate = mean_and_error(values(f"rate {alpha}"))
    return [f"{rate}, warned {warned.sum():.0f} of {len(warned)}", ", ".join(power)]


def alarm_cell(rows: np.ndarray) -> str:
    """Median row of the alarm, and how many seeds alarm."""
    alarmed = rows[~np.isnan(rows)]
    if not alarmed.size:
        return "no alarm"
    share = "" if alarmed.size == rows.size else f" ({alarmed.size} of {rows.size})"
    return f"{np.median(alarmed):,.0f}{share}"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=2)
    asked = parser.parse_args(arguments)
    for name, experiment in EXPERIMENTS.items():
        runs = list(tasks([experiment], asked.seeds))
        records = kept_runs(runs, FOLDER / "dependence.json", "dependence 1", asked.jobs)
        results = Results(records, experiment.name)
        for alpha in ALPHAS:
            made = rate_table(results, alpha, is_file=experiment.name == "file order")
            PAGE.write_text(with_table(PAGE.read_text(), f"{name}-{alpha}", made))


if __name__ == "__main__":
    main()
