"""p-value of a far point: without the anchor (the paper), with it, and with the far field too.

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
from rankad.plots._style import BLACK, DEFAULT, ORANGE, PICTURE, PUBLISHED, Look, save_png

NO_ANCHOR, ANCHOR, BOTH = "no anchor", "anchor", "anchor and far field (default)"

#: The look of each variant.
VARIANTS = {NO_ANCHOR: PUBLISHED, ANCHOR: Look(ORANGE, "s"), BOTH: DEFAULT}
_WIDTHS = {NO_ANCHOR: 1.6, ANCHOR: 6.0, BOTH: 2.2}
_SIZES = {NO_ANCHOR: 7.0, ANCHOR: 9.0, BOTH: 5.0}

REFERENCE_SIZES = (100, 300, 1_000, 3_000, 10_000, 30_000, 80_000)
DEAD_KERNELS = (1e-3, 1e-6, 1e-12, 1e-30, 1e-300)


@dataclass(frozen=True)
class Scored:
    """A scoring function of raw rows."""

    detector: RankAD
    far_field: bool

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        """Scores with or without the detector's far field."""
        scorer = self.detector.expansion_
        if not self.far_field:
            scorer = replace(scorer, far_field=None)
        return scorer(rows)


def variants(rows: np.ndarray) -> dict[str, Scored]:
    """The three variants. All have C and sigma by the rule, and z-scored columns."""
    anchored = RankAD(random_state=0).fit(rows)
    literal = RankAD(anchor=0.0, pairs=3, n_neighbors=10, random_state=0).fit(rows)
    scorers = (Scored(literal, False), Scored(anchored, False), Scored(anchored, True))
    return dict(zip(VARIANTS, scorers, strict=True))


def far_p_values(name: str) -> dict[str, list[float]]:
    """p-value of a point at 1e6 in every column, by the number of reference scores."""
    split = load_split(name, seed=0, n_test=REFERENCE_SIZES[-1])
    far = np.full((1, split.train.shape[1]), 1e6)
    outcome = {}
    for label, score in variants(split.train).items():
        reference, far_score = score(split.nominal), score(far)
        outcome[label] = [
            float(HeldOutScores.from_scores(reference[:size]).p_values(far_score)[0])
            for size in REFERENCE_SIZES
            if size <= len(reference)
        ]
    return outcome


def draw(path: str, set_name: str) -> None:
    """p-values along a ray out of the data, and of infinity against the number of references."""
    from matplotlib import style
    from matplotlib.figure import Figure

    style.use(("default", PICTURE))
    figure = Figure(figsize=(9.0, 4.8), layout="constrained")
    along, growing = figure.subplots(1, 2)
    rows = perpendicular_gaussians(2800, 0, random_state=0).nominal
    scorers, fresh = variants(rows[:800]), rows[800:]
    distances = np.geomspace(0.1, 300.0, 300)
    ray = np.array([-5.0, 0.0]) + distances[:, None] * np.array([0.0, 1.0])
    far = far_p_values(set_name)
    sizes = np.array(REFERENCE_SIZES[: len(far[NO_ANCHOR])])
    for label, look in VARIANTS.items():
        p = HeldOutScores.from_scores(scorers[label](fresh)).p_values(scorers[label](ray))
        # Where two lines coincide, the upper one is thin, so the lower one shows on both sides.
        options = look.line(linewidth=_WIDTHS[label], markevery=30, markersize=_SIZES[label])
        options["zorder"] = 2.4 if label == NO_ANCHOR else 2.0
        along.plot(distances, p, label=label, **options)
        growing.plot(sizes, far[label], **(options | {"markevery": 1, "label": label}))
    growing.plot(
        *(sizes, 1 / (sizes + 1)),
        color=BLACK,
        linestyle=(0, (1, 2)),
        linewidth=2.2,
        zorder=2.5,
        label="1 / (n + 1), the smallest possible",
    )
    growing.legend(handles=growing.get_lines()[-1:], loc="lower left")
    along.axvspan(3.0, 300.0, color="0.94", zorder=0)
    along.text(30.0, 1.3, "almost no nominal rows", ha="center")
    along.set(
        xscale="log", yscale="log", ylim=(3e-4, 2.5), xlabel="Distance from a cluster's center"
    )
    along.set(ylabel="p-value", title="At growing distance from the data")
    growing.set(xscale="log", yscale="log", xlabel="Reference scores, n")
    growing.set(ylabel="p-value of a point at infinity", title=f"More reference scores: {set_name}")
    handles, labels = along.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3)
    save_png(figure, path)


def radius_table() -> str:
    """Lines with the mean AUC over the sets, by the kernel value where the far field begins."""
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
    parser.add_argument("--picture", help="also draw the picture, to this file")
    parser.add_argument(
        "--only-picture", action="store_true", help="draw the picture and print nothing"
    )
    arguments = parser.parse_args()
    if arguments.only_picture and not arguments.picture:
        parser.error("--only-picture needs --picture FILE")
    if arguments.only_picture:
        draw(arguments.picture, "http")
        return
    for name in ("http", "smtp", "shuttle", "cover"):
        for label, p in far_p_values(name).items():
            print(f"{name}, {label}: p(infinity) = " + ", ".join(f"{value:.2g}" for value in p))
    print(f"(n = {', '.join(map(str, REFERENCE_SIZES))})\n{radius_table()}")
    if arguments.picture:
        draw(arguments.picture, "http")


if __name__ == "__main__":
    main()
