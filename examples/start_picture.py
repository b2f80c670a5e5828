"""The picture of the site's first page: where rows alarm, and how many nominal rows alarm.

    python examples/start_picture.py

Draws to docs/images/start.png. Needs matplotlib.
"""

from pathlib import Path

import matplotlib.pyplot as plt

from rankad import RankAD, datasets
from rankad.plots import FalseAlarmDisplay, LevelSetDisplay

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "start.png"


def main() -> None:
    """Fit on rows of a known law, and draw the alarm regions and the false alarms on new rows."""
    rows = datasets.two_gaussians(14_000, random_state=0).X
    train, fresh = rows[:4_000], rows[4_000:]
    detector = RankAD(random_state=0).fit(train)
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.5), layout="constrained")
    LevelSetDisplay.from_estimator(detector, fresh[:500], ax=left)
    FalseAlarmDisplay.from_estimator(detector, fresh, ax=right)
    left.set(xlabel="first column", ylabel="second column")
    figure.savefig(PICTURE, dpi=110)


if __name__ == "__main__":
    main()
