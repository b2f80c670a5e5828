"""The convex problem of the ranker and its solver: the third stage of Algorithm 1."""

from collections.abc import Callable
from typing import Final

from rankad.solvers.hinge import PairwiseHinge
from rankad.solvers.linear import minimize_linear
from rankad.solvers.newton import minimize, minimize_along
from rankad.solvers.objective import Loss
from rankad.solvers.pairwise import PairwiseSquaredHinge
from rankad.solvers.solution import Solution, Status

#: The losses by name. Each takes the preferences, the anchor and the anchor's margin.
LOSSES: Final[dict[str, Callable[..., Loss]]] = {
    "squared_hinge": PairwiseSquaredHinge,
    "hinge": PairwiseHinge,
}
