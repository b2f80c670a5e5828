"""The displays of rankad.plots, each on one detector: a picture of six.

    python examples/displays.py [FILE]

Draws to docs/images/displays.png, or the file given. Needs matplotlib.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import rankad
from rankad import RankAD, datasets
from rankad.calibration import DriftMonitor
from rankad.plots import (
    DriftDisplay,
    ExplanationDisplay,
    FalseAlarmDisplay,
    LevelSetDisplay,
    PValueDisplay,
    SelectionDisplay,
)

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "displays.png"


def main() -> None:
    """Fit the default detector and a cross-validated one, watch a stream, explain a row, draw."""
    rows = datasets.two_gaussians(4_000, random_state=0).X
    train, fresh = rows[:2_000], rows[2_000:]
    searched = RankAD(sigma="published", C="published", pairs=3, random_state=0).fit(train[:800])
    detector = RankAD(random_state=0).fit(train)
    anomalous = np.array([[4.0, 6.0]])

    stream = np.concatenate([fresh[:1_000], fresh[1_000:1_600] + (1.2, 0.0)])
    monitor = DriftMonitor(detector, history_size=len(stream), random_state=0)
    monitor.update_many(detector.score_samples(stream))

    figure, axes = plt.subplots(2, 3, figsize=(15, 9), layout="constrained")
    LevelSetDisplay.from_estimator(detector, fresh[:400], ax=axes[0, 0])
    PValueDisplay.from_estimator(detector, fresh, ax=axes[0, 1])
    FalseAlarmDisplay.from_estimator(detector, fresh, ax=axes[0, 2])
    SelectionDisplay.from_estimator(searched, ax=axes[1, 0])
    ExplanationDisplay.from_explanation(rankad.explain(detector, anomalous), ax=axes[1, 1])
    DriftDisplay.from_monitor(monitor, ax=axes[1, 2])
    titles = ("Level sets", "p-values", "False alarms", "A search", "A reason", "Drift")
    for ax, title in zip(axes.flat, titles, strict=True):
        ax.set_title(title, loc="left", fontweight="bold", pad=44)  # above a legend
    figure.savefig(sys.argv[1] if len(sys.argv) > 1 else PICTURE, dpi=90)


if __name__ == "__main__":
    main()
