"""What a solver returns: the coefficients, how exact they are, and why it stopped."""

from dataclasses import dataclass
from enum import Enum

from rankad._typing import FloatArray


class Status(Enum):
    """Why the solver stopped, with advice."""

    CONVERGED = "gradient norm fell below tol"
    MAX_ITER = "max_iter reached; raise max_iter, or lower C"
    STALLED = "no further progress in floating point; lower C or sigma, or raise tol"


@dataclass(frozen=True, eq=False, repr=False)
class Solution:
    """Minimizer of ``1/2 a'Ka + C loss(Ka)``.

    Attributes
    ----------
    coefficients : array of shape (n,)
        The minimizer a. At convergence it is exactly zero for points in no active pair. For a
        linear ranker (few centers): the coordinates w of its features, in place of a and K.
    warm_start : array of shape (n,)
        Coefficients before they were made sparse: a better start for a similar problem.
    scores : array of shape (n,)
        ``K coefficients``.
    objective : float
        Value at ``coefficients``.
    gradient_norm : float
        Norm of the gradient at ``warm_start``, in the kernel's space. The objective is strongly
        convex there with modulus 1, so at ``warm_start`` it exceeds the minimum by at most
        ``gradient_norm**2 / 2``.
    error_bound : float
        Bound on the difference to the optimal ranker's score at any point. It is
        ``gradient_norm`` plus the norm of the change that made the coefficients sparse.
    n_iter : int
        Newton steps taken.
    status : Status
        Why the solver stopped.
    """

    coefficients: FloatArray
    warm_start: FloatArray
    scores: FloatArray
    objective: float
    gradient_norm: float
    error_bound: float
    n_iter: int
    status: Status

    def __repr__(self) -> str:
        return (
            f"Solution({self.status.name} after {self.n_iter} iterations, "
            f"objective={self.objective:.6g}, error_bound={self.error_bound:.2g})"
        )
