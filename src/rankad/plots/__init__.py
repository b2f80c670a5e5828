"""Pictures of what a detector does, and of whether its false-alarm rate holds.

The displays follow scikit-learn: ``from_...`` computes and draws, ``plot(ax)`` draws again. The
results are kept in ``ax_``, ``figure_`` and the artists. Without axes, a display makes a figure by
pyplot. A notebook shows it; a script calls ``plt.show()`` or saves ``display.figure_``. With
``ax=`` it draws there and does not use pyplot. matplotlib is needed to draw, not to import this
module. pyplot is imported only when a display makes its own figure.

>>> from rankad import RankAD, datasets, plots
>>> X = datasets.two_gaussians(1000, random_state=0).X
>>> detector = RankAD(random_state=0).fit(X[:800])
>>> display = plots.LevelSetDisplay.from_estimator(detector, X[800:])
>>> display.figure_.savefig("level_sets.png")  # doctest: +SKIP
"""

from rankad.plots.drift import DriftDisplay
from rankad.plots.explanation import ExplanationDisplay
from rankad.plots.false_alarms import FalseAlarmDisplay
from rankad.plots.level_sets import LevelSetDisplay
from rankad.plots.p_values import PValueDisplay
from rankad.plots.tuning import TuningDisplay

__all__ = [
    "DriftDisplay",
    "ExplanationDisplay",
    "FalseAlarmDisplay",
    "LevelSetDisplay",
    "PValueDisplay",
    "TuningDisplay",
]
