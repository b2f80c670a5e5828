"""What p-value a far point gets: with no anchor (the paper), with it, and with the far field too.

Prints the figures of docs/theory.md and draws them:

    RANKAD_DATA=... python benchmarks/far_points.py --picture docs/images/far_points.png
"""

import argparse
from dataclasses import dataclass, replace

import numpy as np
from one_class import LARGE_SETS, load_split

from rankad import RankAD
from rankad.calibration import HeldOutScores
from rankad.datasets import perpendicular_gaussians
from rankad.kernels import FarField
from rankad.metrics import auc

VARIANTS = {"no anchor": "C3", "anchor": "C1", "anchor and far field": "C0"}
REFERENCE_SIZES = (100, 300, 1_000, 3_000, 10_000, 30_000, 80_000)
DEAD_KERNELS = (1e-3, 1e-6, 1e-12, 1e-30, 1e-300)


@dataclass(frozen=True)
class Scored:
    """A scoring function of raw rows."""

    detector: RankAD
    far_field: bool

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        """Scores with the detector's far field, or without."""
        scorer = self.detector.expansion_
        if not self.far_field:
            scorer = replace(scorer, far_field=None)
        return scorer(rows)


def variants(rows: np.ndarray) -> dict[str, Scored]:
    """The three ways to score, trained alike: rule for (C, sigma), z-scored columns."""
    anchored = RankAD(random_state=0).fit(rows)
    literal = RankAD(anchor=0.0, n_levels=3, n_neighbors=10, random_state=0).fit(rows)
    scorers = (Scored(literal, False), Scored(anchored, False), Scored(anchored, True))
    return dict(zip(VARIANTS, scorers, strict=True))


def far_p_values(name: str) -> dict[str, list[float]]:
    """p-value of a point at 1e6 in every column, by size of the reference."""
    split = load_split(name, seed=0, n_test=REFERENCE_SIZES[-1])
    far = np.full((1, split.train.shape[1]), 1e6)
    outcome = {}
    for label, score in variants(split.train).items():
        reference, far_score = score(split.nominal), score(far)
        outcome[label] = [
            float(HeldOutScores.of(reference[:size]).p_values(far_score)[0])
            for size in REFERENCE_SIZES
            if size <= len(reference)
        ]
    return outcome


def draw(path: str, set_name: str) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    rows = perpendicular_gaussians(2800, 0, random_state=0).nominal
    scorers, fresh = variants(rows[:800]), rows[800:]
    distances = np.geomspace(0.1, 300.0, 300)
    ray = np.array([-5.0, 0.0]) + distances[:, None] * np.array([0.0, 1.0])
    figure, (along, growing) = plt.subplots(1, 2, figsize=(10, 4.4))
    for label, color in VARIANTS.items():
        p = HeldOutScores.of(scorers[label](fresh)).p_values(scorers[label](ray))
        # The anchor alone is hidden by what the far field adds, but for its rim.
        along.plot(distances, p, color=color, label=label, lw=6 if label == "anchor" else 2)
    along.axvspan(3.0, 300.0, color="0.93", zorder=0)
    along.text(30.0, 1.3, "hardly any nominal rows", ha="center", fontsize=9)
    along.set_ylim(3e-4, 2.5)
    along.set(xscale="log", yscale="log", xlabel="distance from a cluster's center (its sd is 1)")
    along.set(ylabel="p-value", title="Walking away from the data of Fig. 2")
    far = far_p_values(set_name)
    sizes = np.array(REFERENCE_SIZES[: len(far["no anchor"])])
    for label, color in VARIANTS.items():
        growing.plot(sizes, far[label], "o-", color=color, label=label)
    growing.plot(sizes, 1 / (sizes + 1), "k--", lw=1, label="1 / (n + 1), the least possible")
    growing.set(xscale="log", yscale="log", xlabel="number n of reference points")
    growing.set(ylabel="p-value of a point at infinity", title=f"Real data: {set_name}")
    for ax in (along, growing):
        ax.grid(alpha=0.3)
        ax.legend(fontsize=9)
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def radius_table() -> str:
    """Mean AUC over the sets, by the kernel value at which the far field begins."""
    aucs = []
    for name in LARGE_SETS:
        split = load_split(name, seed=0)
        detector = RankAD(random_state=0).fit(split.train)
        scorer = detector.expansion_
        aucs.append(
            [
                auc(
                    split.is_anomaly,
                    replace(scorer, far_field=FarField.below(scorer.weights, dead))(split.test),
                )
                for dead in DEAD_KERNELS
            ]
        )
    return "\n".join(
        f"far field beyond kernel {dead:g}: mean AUC {mean:.4f}"
        for dead, mean in zip(DEAD_KERNELS, np.mean(aucs, axis=0), strict=True)
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--picture", help="also draw, to this file")
    arguments = parser.parse_args()
    for name in ("http", "smtp", "shuttle", "cover"):
        for label, p in far_p_values(name).items():
            print(f"{name}, {label}: p(infinity) = " + ", ".join(f"{value:.2g}" for value in p))
    print(f"(n = {', '.join(map(str, REFERENCE_SIZES))})\n{radius_table()}")
    if arguments.picture:
        draw(arguments.picture, "http")


if __name__ == "__main__":
    main()
