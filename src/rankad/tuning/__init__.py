"""Choices before training, by rule or by grid: rows, statistic, centers, C and sigma."""

from rankad.tuning.center_rule import MAX_KERNEL_ROWS, CenterRule
from rankad.tuning.cross_validation import cross_validate
from rankad.tuning.rules import (
    PAPER_CS,
    PAPER_RELATIVE_SIGMAS,
    paper_sigmas,
    rule_C,
    rule_n_centers,
    rule_n_neighbors,
    rule_sigma,
)
from rankad.tuning.statistic_rule import RankedPoints, StatisticRule
from rankad.tuning.training_rows import TrainingSample
from rankad.tuning.tuning import Chosen, Tuning
