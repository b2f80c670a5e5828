"""The convex problem of the ranker and its solver (third stage of Algorithm 1)."""

from rankad.solvers.newton import minimize
from rankad.solvers.objective import Loss, LossAt
from rankad.solvers.pairwise import PairwiseSquaredHinge
from rankad.solvers.solution import Solution, Status

__all__ = ["Loss", "LossAt", "PairwiseSquaredHinge", "Solution", "Status", "minimize"]
