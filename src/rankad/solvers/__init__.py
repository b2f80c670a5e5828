"""The convex problem of the ranker and its solver: the third stage of Algorithm 1."""

from rankad.solvers.hinge import PairwiseHinge
from rankad.solvers.linear import minimize_linear
from rankad.solvers.losses import LOSSES, made_loss
from rankad.solvers.newton import minimize, minimize_along
from rankad.solvers.objective import Loss, LossAt, LossMaker
from rankad.solvers.pairwise import PairwiseSquaredHinge
from rankad.solvers.solution import Solution, Status
