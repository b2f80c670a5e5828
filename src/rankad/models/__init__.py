"""Models: frozen functions from rows to scores. They know nothing of p-values."""

from rankad.models.foreign import ForeignScores as ForeignScores
from rankad.models.learned_ranker import LearnedRanker as LearnedRanker
from rankad.models.mass import MassOfColumn as MassOfColumn
from rankad.models.mass import MeanMass as MeanMass
from rankad.models.model import Model as Model
from rankad.models.statistic import StatisticAmong as StatisticAmong
