"""What a solver returns: the coefficients, and how they were reached."""

from dataclasses import dataclass
from enum import Enum

from rankad._typing import FloatArray


class Status(Enum):
    """Why the solver stopped, with advice where the user can do something."""

    CONVERGED = "gradient norm fell below tol"
    MAX_ITER = "max_iter reached; raise max_iter, or lower C"
    STALLED = "no further progress in floating point; lower C or sigma, or raise tol"


@dataclass(frozen=True)
class Solution:
    """Minimizer of ``1/2 a'Ka + C loss(Ka)``.

    The objective is strongly convex with modulus 1 in the norm of the kernel's space, where the
    gradient has norm ``gradient_norm``; so ``objective`` exceeds the minimum by at most
    ``gradient_norm**2 / 2``, and the ranker is within ``gradient_norm`` of the optimal one at
    every point of the input space (k(x, x) = 1).

    ``coefficients`` are exactly zero off the support; ``warm_start`` are those before that last
    touch, a better start for a neighboring problem; ``scores`` are K times ``coefficients``.
    """

    coefficients: FloatArray
    warm_start: FloatArray
    scores: FloatArray
    objective: float
    gradient_norm: float
    n_iter: int
    status: Status
