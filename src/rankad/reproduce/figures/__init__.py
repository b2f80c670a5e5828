"""The paper's figures and two others, drawn with matplotlib."""

from rankad.reproduce.figures.level_curves import fig_1, fig_2
from rankad.reproduce.figures.roc import fig_3
from rankad.reproduce.figures.style import images
from rankad.reproduce.figures.tradeoffs import auc_and_time, false_alarms
