"""False-alarm rates against alpha: with held-out scores and with the paper's training ranks.

Prints the table of docs/theory.md and, with ``--picture FILE``, draws it:

    RANKAD_DATA=... python benchmarks/false_alarms.py --picture docs/images/false_alarms.png
"""

import argparse

import numpy as np
from matplotlib.lines import Line2D
from one_class import LARGE_SETS, load_split
from running import FOLDER, kept_runs

from rankad.plots._style import BLACK, DEFAULT, PICTURE, PUBLISHED, save_png
from rankad.reproduce.experiment import Experiment, tasks
from rankad.reproduce.false_alarm_limits import alarm_limits
from rankad.reproduce.markdown import table
from rankad.reproduce.measure import false_alarms, run_of
from rankad.reproduce.methods import DEFAULT as RANKAD
from rankad.reproduce.methods import METHODS, TRAINING_RANKS
from rankad.reproduce.records import ALPHAS, Key, Record, rate_name
from rankad.reproduce.results import Results

#: Probability that an exact detector exceeds a limit, over all sets and alphas of one seed.
FAILURE_PROBABILITY = 0.001

#: The alphas that are drawn.
DRAWN_ALPHAS = np.geomspace(0.005, 0.5, 60)


def on_set(key: Key) -> Record:
    """False-alarm rates on fresh nominal rows at many alphas."""
    run = run_of(key, METHODS[key.method], load_split(key.set, key.seed))
    return run.record(false_alarms(run, (*ALPHAS, *DRAWN_ALPHAS)))


FALSE_ALARMS_OF_RANKAD = Experiment(
    "false alarms", lambda: LARGE_SETS, lambda _: [RANKAD, TRAINING_RANKS], on_set, n_runs=3
)


def limit(alpha: float, n_reference: float, n_nominal: float) -> int:
    """Number of alarms that an exact detector exceeds with the failure probability (Bonferroni)."""
    tail = FAILURE_PROBABILITY / (len(LARGE_SETS) * len(ALPHAS))
    return alarm_limits(alpha, int(n_reference), int(n_nominal), tail)[1]


def as_table(results: Results) -> str:
    """False-alarm rates at each alpha; for held-out scores the mean, the worst and the limit."""
    rows = []
    for i, name in enumerate(results.sets):
        first = results.runs(RANKAD, name)[0].measures
        n_reference, n_nominal = first["n_reference"], first["n_nominal"]
        cells = [name, f"{n_reference:.0f}", f"{n_nominal:.0f}"]
        for alpha in ALPHAS:
            rates = results.values(RANKAD, rate_name(alpha))[i]
            most = limit(alpha, n_reference, n_nominal) / n_nominal
            cells.append(f"{rates.mean():.3f} / {rates.max():.3f} / {most:.3f}")
        cells += [f"{results.by_set(TRAINING_RANKS, rate_name(a))[i]:.3f}" for a in ALPHAS]
        rows.append(cells)
    means = [results.mean(of, rate_name(a)) for of in (RANKAD, TRAINING_RANKS) for a in ALPHAS]
    rows.append(["**mean**", "", "", *(f"**{mean:.3f}**" for mean in means)])
    heads = [
        *("set", "reference", "fresh rows"),
        *(f"split, alpha = {alpha:g}: mean / worst / limit" for alpha in ALPHAS),
        *(f"train, alpha = {alpha:g}" for alpha in ALPHAS),
    ]
    return table(heads, rows)


def draw(results: Results, path: str) -> None:
    """False-alarm rate against alpha: a thin line for each set, their mean, twice its error."""
    from matplotlib import style
    from matplotlib.figure import Figure

    style.use(("default", PICTURE))
    figure = Figure(figsize=(9.0, 5.0), layout="constrained")
    axes = figure.subplots(1, 2, sharex=True, sharey=True)
    panels = {
        TRAINING_RANKS: (PUBLISHED, "Training ranks: calibration='train'"),
        RANKAD: (DEFAULT, "Held-out scores: the default"),
    }
    for ax, (method, (look, title)) in zip(axes, panels.items(), strict=True):
        seen = np.stack(
            [results.by_set(method, rate_name(alpha)) for alpha in DRAWN_ALPHAS], axis=1
        )
        mean = seen.mean(axis=0)
        error = 2.0 * seen.std(axis=0, ddof=1) / np.sqrt(len(seen))
        ax.plot(DRAWN_ALPHAS, seen.T, color=look.color, alpha=0.4, linewidth=0.9)
        ax.fill_between(DRAWN_ALPHAS, mean - error, mean + error, color=look.color, alpha=0.3, lw=0)
        ax.plot(DRAWN_ALPHAS, mean, **look.line(linewidth=3.0, markevery=12, markersize=8))
        ax.plot(DRAWN_ALPHAS, DRAWN_ALPHAS, color=BLACK, linestyle="--", linewidth=1.6, zorder=3)
        ax.set(xscale="log", yscale="log", ylim=(0.002, 1.0), xlabel="alpha")
        ax.set_title(title)
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_formatter(lambda rate, _: f"{rate:g}")
        handles = [
            Line2D([], [], color=look.color, alpha=0.6, lw=0.9, label="one set"),
            Line2D([], [], **look.line(lw=3.0, markersize=8), label="mean ± 2 standard errors"),
            Line2D([], [], color=BLACK, linestyle="--", lw=1.6, label="rate = alpha"),
        ]
        ax.legend(handles=handles, loc="lower right", title=f"{len(seen)} real sets")
    axes[0].set_ylabel("False-alarm rate on fresh nominal rows")
    save_png(figure, path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--picture", help="also draw the rates against alpha, to this file")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    runs = list(tasks([FALSE_ALARMS_OF_RANKAD]))
    records = kept_runs(runs, FOLDER / "false_alarms.json", "false alarms 1", arguments.jobs)
    results = Results(records, FALSE_ALARMS_OF_RANKAD.name)
    print(as_table(results))
    if arguments.picture:
        draw(results, arguments.picture)


if __name__ == "__main__":
    main()
