"""What was learned: frozen functions from rows to scores. They give no p-values."""

from rankad.models.foreign import ForeignScores
from rankad.models.learned_ranker import LearnedRanker, RankerScores
from rankad.models.mass import MassOfColumn, MeanMass
from rankad.models.model import Model
from rankad.models.statistic import StatisticAmong
