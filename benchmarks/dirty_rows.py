"""Bad rows among the rows given to fit: the tables and the picture of docs/dirty_rows.md.

    RANKAD_DATA=... python benchmarks/dirty_rows.py [--seeds 3] [--jobs 1]

It takes ten minutes of one core, keeps its runs, and goes on where it was stopped. Half of the
nominal rows of a set, at most 2,000, are given, and among them bad rows: a share of their number,
drawn from the set's anomalies.
"""

import argparse
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from pathlib import Path
from unittest.mock import patch

import numpy as np
from experiments import DIRTY_SETS, DIRTY_SHARES
from one_class import labeled_dirty_split, load_set
from pages import with_table
from running import FOLDER, kept_runs
from sklearn.ensemble import IsolationForest

from rankad import Calibrated, RankAD
from rankad._base import BaseDetector
from rankad.baselines import KLPE
from rankad.plots._style import BLACK, DEFAULT, GRAY, NEIGHBORS, ONE_CLASS, PICTURE, save_png
from rankad.reproduce.experiment import Experiment, tasks
from rankad.reproduce.markdown import table
from rankad.reproduce.protocol import Split
from rankad.reproduce.records import Key, Record
from rankad.reproduce.results import Results

DOCS = Path(__file__).parents[1] / "docs"
PAGE, IMAGE = DOCS / "dirty_rows.md", DOCS / "images" / "dirty_rows.png"

#: The rule of `suspicious_rows` was chosen on these sets, and confirmed on the others.
CHOSEN_ON = ("shuttle", "mammography", "http", "cardio", "vowels")
SETS = (*CHOSEN_ON, *(name for name in DIRTY_SETS if name not in CHOSEN_ON))

N_ROWS = 2_000
ALPHAS = (0.01, 0.05)

#: Share of the rows that a person looks at in the recipe, the most suspicious first.
LOOKED_AT = 0.1

Rows = np.ndarray

RANKAD = "RankAD"
ROBUST = "RankAD(robust=True)"
ALL_LEARN, ROBUST_ALL_LEARN = "RankAD, all train", "RankAD(robust=True), all train"
K_LPE, K_LPE_ALL_LEARN = "KLPE", "KLPE, all train"
FOREST_OUT, FOREST_LESS = "Calibrated(IsolationForest())", "the same without the farthest tenth"
FOREST_IN = "IsolationForest, in-sample"

FITTED = "fitted to all"
CLEANED = "reference without bad rows"
REFITTED = "looked at a tenth, dropped, refitted"
CLEAN = "fitted without bad rows"

LOOKS = {FITTED: DEFAULT, REFITTED: NEIGHBORS, CLEAN: ONE_CLASS}


@lru_cache(maxsize=2)
def split_of(set_and_share: str, seed: int) -> tuple[Split, Rows]:
    """A split with bad rows among the training rows, and the mask of these."""
    name, share = set_and_share.removesuffix("%").split(", ")
    return labeled_dirty_split(load_set(name), seed, float(share) / 100.0, N_ROWS)


@lru_cache(maxsize=2)
def first_rows(set_and_share: str, seed: int) -> Rows:
    """Positions of the training rows, the most suspicious first."""
    return RankAD(random_state=seed).suspicious_rows(split_of(set_and_share, seed)[0].train).indices


def by_forest(rows: Rows, seed: int) -> Rows:
    """The order by a forest that learned from the rows themselves."""
    forest = IsolationForest(random_state=seed).fit(rows)
    return np.argsort(forest.score_samples(rows), kind="stable")


def by_detector(detector: BaseDetector, rows: Rows, seed: int) -> Rows:
    """The order by `suspicious_rows`."""
    return detector.set_params(random_state=seed).suspicious_rows(rows).indices


def leaving_out(share: float, detector: BaseDetector, rows: Rows, seed: int) -> Rows:
    """The order if another share of the rows, the farthest ones, does not train."""
    with patch.object(type(detector), "_left_out_as_far", share):
        return by_detector(detector, rows, seed)


ORDERS: dict[str, Callable[[Rows, int], Rows]] = {
    ROBUST: partial(by_detector, RankAD(robust=True)),
    ALL_LEARN: partial(leaving_out, 0.0, RankAD()),
    ROBUST_ALL_LEARN: partial(leaving_out, 0.0, RankAD(robust=True)),
    K_LPE: partial(by_detector, KLPE()),
    K_LPE_ALL_LEARN: partial(leaving_out, 0.0, KLPE()),
    FOREST_OUT: partial(by_detector, Calibrated(IsolationForest())),
    FOREST_LESS: partial(leaving_out, 0.1, Calibrated(IsolationForest())),
    FOREST_IN: by_forest,
}


def on_suspicion(key: Key) -> Record:
    """How many of the first rows are bad, where as many are looked at as are bad, or 3 times."""
    split, is_bad = split_of(key.set, key.seed)
    if key.method == RANKAD:
        order = first_rows(key.set, key.seed)
    else:
        order = ORDERS[key.method](split.train, key.seed)
    n_bad = int(is_bad.sum())
    found = np.cumsum(is_bad[order])
    measures = {
        "precision": found[n_bad - 1] / n_bad,
        "found in thrice as many": found[3 * n_bad - 1] / n_bad,
        "found in a tenth": found[round(LOOKED_AT * len(order)) - 1] / n_bad,
    }
    return Record(*key, *split.train.shape, measures)


def on_level(key: Key) -> Record:
    """Rates of alarms on fresh rows: clean, bad, and both in the shares of the training rows."""
    split, is_bad = split_of(key.set, key.seed)
    detector = RankAD(random_state=key.seed).fit(kept_rows(key, split.train, is_bad))
    if key.method == CLEANED:
        held_out = detector.calibration_indices_
        detector.calibrate(split.train[held_out][~is_bad[held_out]], replace=True)
    measures = {}
    for alpha in ALPHAS:
        level = (detector.predict(split.nominal, alpha) == -1).mean()
        power = (detector.predict(split.anomalies, alpha) == -1).mean()
        both = (1.0 - is_bad.mean()) * level + is_bad.mean() * power
        rates = {"clean": level, "bad": power, "all": both}
        measures |= {f"{name} {alpha}": float(rate) for name, rate in rates.items()}
    return Record(*key, *split.train.shape, measures)


def kept_rows(key: Key, rows: Rows, is_bad: Rows) -> Rows:
    """The rows that the detector is fitted to."""
    if key.method == CLEAN:
        return rows[~is_bad]
    if key.method == REFITTED:
        looked_at = first_rows(key.set, key.seed)[: round(LOOKED_AT * len(rows))]
        return np.delete(rows, looked_at[is_bad[looked_at]], axis=0)
    return rows


def sets_at(shares: Sequence[float]) -> list[str]:
    return [f"{name}, {share:.0%}" for name in SETS for share in shares]


SUSPICION = Experiment(
    "suspicion", lambda: sets_at((0.01, 0.05)), lambda _: [RANKAD, *ORDERS], on_suspicion
)
LEVEL = Experiment(
    "level",
    lambda: sets_at(DIRTY_SHARES),
    lambda name: [FITTED] if name.endswith(" 0%") else [FITTED, CLEANED, REFITTED, CLEAN],
    on_level,
)


def of_share(results: Results, share: float, sets: Sequence[str] = SETS) -> Results:
    names = {f"{name}, {share:.0%}" for name in sets}
    return results.only(lambda record: record.set in names)


def precision_table(results: Results) -> str:
    """Mean precision of each method on the sets of the choice, on the others, and on all."""
    parts = {"chosen on": CHOSEN_ON, "others": SETS[len(CHOSEN_ON) :], "all ten": SETS}
    shares = (0.01, 0.05)
    heads = [f"{share:.0%}: {part}" for share in shares for part in parts]
    heads += [f"{share:.0%}: found in a tenth" for share in shares]
    lines = []
    for method in results.methods:
        cells = [
            f"{of_share(results, share, sets).mean(method, 'precision'):.2f}"
            for share in shares
            for sets in parts.values()
        ]
        cells += [
            f"{of_share(results, share).mean(method, 'found in a tenth'):.2f}" for share in shares
        ]
        lines.append([method, *cells])
    return table(["method", *heads], lines)


def sets_table(results: Results) -> str:
    """Precision on each set, of RankAD and of both forests."""
    shown = (RANKAD, FOREST_OUT, FOREST_IN)
    heads = [f"{share:.0%}: {method}" for share in (0.01, 0.05) for method in shown]
    lines = [
        [
            name,
            *(
                f"{of_share(results, share, [name]).mean(method, 'precision'):.2f}"
                for share in (0.01, 0.05)
                for method in shown
            ),
        ]
        for name in SETS
    ]
    return table(["set", *heads], lines)


def level_table(results: Results) -> str:
    """Mean rates over the sets, and the largest of a set, for each share and method."""
    heads = [
        f"{what}, asked {alpha:g}" for alpha in ALPHAS for what in ("clean rows (largest)", "power")
    ]
    heads += [f"all rows, asked {alpha:g}" for alpha in ALPHAS]
    lines = []
    for share in DIRTY_SHARES:
        part = of_share(results, share)
        for method in part.methods:
            cells = []
            for alpha in ALPHAS:
                by_set = part.by_set(method, f"clean {alpha}")
                cells += [f"{by_set.mean():.4f} ({by_set.max():.4f})"]
                cells += [f"{part.mean(method, f'bad {alpha}'):.3f}"]
            cells += [f"{part.mean(method, f'all {alpha}'):.4f}" for alpha in ALPHAS]
            lines.append([f"{share:.0%}", method, *cells])
    return table(["bad rows", "detector", *heads], lines)


def draw(results: Results) -> None:
    """Level on clean and on all fresh rows, and power, against the share of bad rows."""
    from matplotlib import style
    from matplotlib.figure import Figure

    style.use(("default", PICTURE))
    figure = Figure(figsize=(9.0, 6.6), layout="constrained")
    axes = figure.subplots(2, 2, sharex=True)
    shares = 100.0 * np.array(DIRTY_SHARES)
    for (level, power), alpha in zip(axes.T, ALPHAS, strict=True):
        for method, look in LOOKS.items():
            level.plot(
                shares, rates(results, method, f"clean {alpha}"), label=method, **look.line()
            )
            power.plot(shares, rates(results, method, f"bad {alpha}"), **look.line())
        of_all = rates(results, FITTED, f"all {alpha}")
        level.plot(
            *(shares, of_all), color=GRAY, marker="d", ls=":", label="fitted to all: all fresh rows"
        )
        level.axhline(alpha, color=BLACK, linewidth=1.0, label="asked for")
        limit = alpha / (1.0 - shares / 100.0)
        level.plot(shares, limit, color=BLACK, linestyle=(0, (1, 2)), label="limit on clean rows")
        level.set(title=f"Asked for {alpha:.0%}", ylim=(0.0, 1.6 * alpha))
        power.set(ylim=(0.0, 1.0), xlabel="bad rows among the rows given to fit, %", xticks=shares)
    axes[0, 0].set_ylabel("clean fresh rows that alarm")
    axes[1, 0].set_ylabel("bad fresh rows that alarm")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3)
    save_png(figure, IMAGE)


def rates(results: Results, method: str, measure: str) -> list[float]:
    """A mean rate at each share. Without bad rows there is one method."""
    parts = [of_share(results, share) for share in DIRTY_SHARES]
    return [part.mean(method if method in part.methods else FITTED, measure) for part in parts]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=1)
    asked = parser.parse_args(arguments)
    runs = list(tasks([SUSPICION, LEVEL], asked.seeds))
    records = kept_runs(runs, FOLDER / "dirty_rows.json", "dirty rows 1", asked.jobs)
    suspicion, level = (Results(records, one.name) for one in (SUSPICION, LEVEL))
    page = PAGE.read_text()
    page = with_table(page, "precision", precision_table(suspicion))
    page = with_table(page, "sets", sets_table(suspicion))
    page = with_table(page, "levels", level_table(level))
    PAGE.write_text(page)
    draw(level)


if __name__ == "__main__":
    main()
