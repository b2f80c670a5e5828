"""False alarms asked and seen, by held-out scores and by the paper's training ranks.

Prints the table of docs/theory.md and, with ``--picture FILE``, draws it:

    RANKAD_DATA=... python benchmarks/false_alarms.py --picture docs/images/false_alarms.png
"""

import argparse
import warnings
from dataclasses import dataclass

import numpy as np
from matplotlib.lines import Line2D
from one_class import LARGE_SETS, load_split
from scipy.stats import betabinom

from rankad import RankAD
from rankad.exceptions import CalibrationWarning
from rankad.plots._style import BLACK, DEFAULT, PICTURE, PUBLISHED, save_png

ALPHAS = (0.01, 0.05, 0.1)
SEEDS = (0, 1, 2)

#: Chance of a false verdict on a perfect detector, over all sets and alphas of one seed.
FAILURE_PROBABILITY = 0.001


@dataclass(frozen=True)
class FalseAlarms:
    """p-values of fresh nominal rows of one set, and the size of their reference."""

    p_values: np.ndarray
    n_reference: int

    def count(self, alpha: float) -> int:
        """Number of rows that alarm at this level."""
        return int((self.p_values <= alpha).sum())

    def rate(self, alpha: float) -> float:
        """Share of rows that alarm at this level."""
        return self.count(alpha) / len(self.p_values)

    def limit(self, alpha: float, n_tests: int) -> int:
        """Count that an exact detector exceeds with probability at most the agreed, Bonferroni.

        The realised rate is Beta(j, n + 1 - j) distributed over the draw of the reference, so the
        count is beta-binomial.
        """
        n = self.n_reference
        j = int(np.floor(alpha * (n + 1) + 1e-9))
        level = 1.0 - FAILURE_PROBABILITY / n_tests
        return int(betabinom(len(self.p_values), j, n + 1 - j).ppf(level))


def measure(name: str, seed: int, calibration: str = "split") -> FalseAlarms:
    """Fit the default detector on nominal rows of a set, and test it on fresh ones."""
    split = load_split(name, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibrationWarning)
        detector = RankAD(calibration=calibration, random_state=seed).fit(split.train)
    return FalseAlarms(detector.p_values(split.nominal), detector.reference_.size)


def table(outcomes: dict[str, dict[str, list[FalseAlarms]]]) -> str:
    lines = [
        "| set | reference | fresh rows | "
        + " | ".join(f"split, {alpha:g} asked: mean / worst / limit" for alpha in ALPHAS)
        + " | "
        + " | ".join(f"train, {alpha:g}" for alpha in ALPHAS)
        + " |",
        "|---" * (3 + 2 * len(ALPHAS)) + "|",
    ]
    n_tests = len(outcomes) * len(ALPHAS)
    for name, by_kind in outcomes.items():
        first = by_kind["split"][0]
        cells = [name, str(first.n_reference), str(len(first.p_values))]
        for alpha in ALPHAS:
            rates = [run.rate(alpha) for run in by_kind["split"]]
            limit = first.limit(alpha, n_tests) / len(first.p_values)
            cells.append(f"{np.mean(rates):.3f} / {max(rates):.3f} / {limit:.3f}")
        cells.extend(
            f"{np.mean([run.rate(alpha) for run in by_kind['train']]):.3f}" for alpha in ALPHAS
        )
        lines.append("| " + " | ".join(cells) + " |")
    means = [
        np.mean([run.rate(alpha) for by_kind in outcomes.values() for run in by_kind[kind]])
        for kind in ("split", "train")
        for alpha in ALPHAS
    ]
    lines.append("| **mean** | | | " + " | ".join(f"**{mean:.3f}**" for mean in means) + " |")
    return "\n".join(lines)


def draw(outcomes: dict[str, dict[str, list[FalseAlarms]]], path: str) -> None:
    """Rates seen against rates asked: a thin line for each set, their mean, twice its error."""
    from matplotlib import style
    from matplotlib.figure import Figure

    style.use(("default", PICTURE))
    figure = Figure(figsize=(9.0, 5.0), layout="constrained")
    axes = figure.subplots(1, 2, sharex=True, sharey=True)
    asked = np.geomspace(0.005, 0.5, 60)
    panels = {
        "train": (PUBLISHED, "Training ranks: calibration='train'"),
        "split": (DEFAULT, "Held-out scores: the default"),
    }
    for ax, (kind, (look, title)) in zip(axes, panels.items(), strict=True):
        seen = np.array(
            [
                np.mean([[run.rate(alpha) for alpha in asked] for run in by_kind[kind]], axis=0)
                for by_kind in outcomes.values()
            ]
        )
        mean = seen.mean(axis=0)
        error = 2.0 * seen.std(axis=0, ddof=1) / np.sqrt(len(seen))
        ax.plot(asked, seen.T, color=look.color, alpha=0.4, linewidth=0.9)
        ax.fill_between(asked, mean - error, mean + error, color=look.color, alpha=0.3, lw=0)
        ax.plot(asked, mean, **look.line(linewidth=3.0, markevery=12, markersize=8))
        ax.plot(asked, asked, color=BLACK, linestyle="--", linewidth=1.6, zorder=3)
        ax.set(xscale="log", yscale="log", ylim=(0.002, 1.0), xlabel="False-alarm rate asked")
        ax.set_title(title)
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_formatter(lambda rate, _: f"{rate:g}")
        handles = [
            Line2D([], [], color=look.color, alpha=0.6, lw=0.9, label="one set"),
            Line2D([], [], **look.line(lw=3.0, markersize=8), label="mean ± 2 standard errors"),
            Line2D([], [], color=BLACK, linestyle="--", lw=1.6, label="seen = asked"),
        ]
        ax.legend(handles=handles, loc="lower right", title=f"{len(seen)} real sets")
    axes[0].set_ylabel("Seen on fresh nominal rows")
    save_png(figure, path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--picture", help="also draw asked against seen, to this file")
    arguments = parser.parse_args()
    outcomes = {
        name: {kind: [measure(name, seed, kind) for seed in SEEDS] for kind in ("split", "train")}
        for name in LARGE_SETS
    }
    print(table(outcomes))
    if arguments.picture:
        draw(outcomes, arguments.picture)


if __name__ == "__main__":
    main()
