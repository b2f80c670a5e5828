"""The six displays of rankad.plots: five of default detectors, one of a search for C and sigma.

    python examples/displays.py [FILE]

Draws to docs/images/displays.png, or to FILE. Needs matplotlib and pandas.
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib import style
from matplotlib.figure import Figure

from rankad import DriftMonitor, RankAD, datasets
from rankad.plots import (
    DriftDisplay,
    ExplanationDisplay,
    FalseAlarmDisplay,
    LevelSetDisplay,
    PValueDisplay,
    TuningDisplay,
)
from rankad.plots._style import PICTURE, save_png

FILE = Path(__file__).parents[1] / "docs" / "images" / "displays.png"


def main() -> None:
    """Fit default detectors and a cross-validated one, watch a stream, explain a row, draw."""
    rows = datasets.two_gaussians(4_000, random_state=0).X
    train, fresh = rows[:2_000], rows[2_000:]
    searched = RankAD(sigma="published", C="published", pairs=3, random_state=0).fit(train[:800])
    detector = RankAD(random_state=0).fit(train)

    sensors = ["pressure", "temperature", "flow", "vibration", "load"]
    nominal = np.random.default_rng(0).normal((5, 70, 30, 2, 50), (0.2, 4, 3, 0.3, 9), (2_000, 5))
    plant = RankAD(random_state=0).fit(pd.DataFrame(nominal, columns=sensors))
    anomalous = pd.DataFrame([[3.5, 88.0, 31.0, 6.5, 47.0]], columns=sensors)

    stream = np.concatenate([fresh[:1_000], fresh[1_000:1_600] + (1.2, 0.0)])
    monitor = DriftMonitor(detector, history_size=len(stream), random_state=0)
    monitor.update_many(detector.score_samples(stream))

    draw = {
        "Level sets: where rows alarm": lambda ax: LevelSetDisplay.from_estimator(
            detector, fresh[:400], ax=ax
        ),
        "p-values of nominal rows: uniform": lambda ax: PValueDisplay.from_estimator(
            detector, fresh, ax=ax
        ),
        "False alarms: asked and counted": lambda ax: FalseAlarmDisplay.from_estimator(
            detector, fresh, ax=ax
        ),
        "Drift: the mean moves after 1,000 rows": lambda ax: DriftDisplay.from_monitor(
            monitor, ax=ax
        ),
        "Explanation: three sensors make a row alarm": lambda ax: ExplanationDisplay.from_estimator(
            plant, anomalous, ax=ax
        ),
        "Not the default: a search of C and sigma": lambda ax: TuningDisplay.from_estimator(
            searched, ax=ax
        ),
    }
    style.use(("default", PICTURE))
    figure = Figure(figsize=(9.6, 12.0), layout="constrained")
    figure.suptitle(
        "rankad.plots, on the default detector RankAD()", fontweight="bold", fontsize=14
    )
    for panel, (title, drawn_on) in zip(figure.subfigures(3, 2).flat, draw.items(), strict=True):
        panel.suptitle(title, x=0.02, ha="left", fontsize=12, fontweight="bold")
        drawn_on(panel.subplots()).ax_.grid(visible=False)
    save_png(figure, sys.argv[1] if len(sys.argv) > 1 else FILE, dpi=140)


if __name__ == "__main__":
    main()
