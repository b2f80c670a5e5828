"""False alarms asked and seen, by held-out scores and by the paper's training ranks.

Prints the table of docs/theory.md and, with ``--picture FILE``, draws it:

    RANKAD_DATA=... python benchmarks/false_alarms.py --picture docs/images/false_alarms.png
"""

import argparse
import warnings
from dataclasses import dataclass

import numpy as np
from one_class import LARGE_SETS, load_split
from scipy.stats import betabinom

from rankad import RankAD
from rankad.exceptions import CalibrationWarning

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
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    asked = np.geomspace(0.005, 0.5, 60)
    figure, axes = plt.subplots(1, 2, figsize=(9, 4.4), sharex=True, sharey=True)
    titles = {
        "train": "calibration='train': training ranks",
        "split": "calibration='split' (default)",
    }
    for ax, (kind, title) in zip(axes, titles.items(), strict=True):
        for by_kind in outcomes.values():
            pooled = np.mean(
                [[run.rate(alpha) for alpha in asked] for run in by_kind[kind]], axis=0
            )
            (line,) = ax.plot(asked, pooled, color="C3" if kind == "train" else "C0", alpha=0.45)
        line.set_label(f"{len(outcomes)} real sets")
        ax.plot(asked, asked, "k--", lw=1.5, label="seen = asked")
        ax.set(title=title, xlabel="false-alarm rate asked", xscale="log", yscale="log")
        ax.set_ylim(0.002, 1.0)
        ax.grid(alpha=0.3, which="both")
        ax.legend(loc="lower right")
    axes[0].set_ylabel("false-alarm rate seen on fresh nominal rows")
    figure.tight_layout()
    figure.savefig(path, dpi=120)


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
