"""The rankers of a fold, as sums of kernels at its training points or at given centers."""

from collections.abc import Iterable, Iterator
from typing import Protocol

from rankad._typing import FloatArray
from rankad.kernels import CenterFeatures
from rankad.preferences import Preferences
from rankad.ranker import RankProblem
from rankad.solvers import Solution


class Basis(Protocol):
    """Rankers at one sigma, learned from the training points of a fold.

    ``nearest`` holds the distance of each held-out point to the nearest center, in units of sigma.
    """

    nearest: FloatArray

    def solved(self, preferences: Preferences, C: float, start: FloatArray) -> Solution:
        """The ranker at one C."""

    def solved_along(self, preferences: Preferences, Cs: Iterable[float]) -> Iterator[Solution]:
        """The ranker at each C, started from the ranker at the C before."""

    def held_out_sums(self, solution: Solution) -> FloatArray:
        """Kernel sums at the held-out points."""

    def weights(self, solution: Solution) -> FloatArray:
        """Weights of the centers."""


class PointBasis:
    """Kernels at the training points."""

    def __init__(
        self,
        problem: RankProblem,
        among_centers: FloatArray,
        to_centers: FloatArray,
        sigma: float,
    ) -> None:
        """Take distances among training points and from held-out points; both are overwritten."""
        self.problem = problem
        self.nearest = to_centers.min(axis=1) / sigma
        self._gram = problem.gram(among_centers, sigma, overwrite=True)
        self._held_out = problem.gram(to_centers, sigma, overwrite=True)

    def solved(self, preferences: Preferences, C: float, start: FloatArray) -> Solution:
        """The ranker at one C."""
        return self.problem.solved(preferences, self._gram, C, start)

    def solved_along(self, preferences: Preferences, Cs: Iterable[float]) -> Iterator[Solution]:
        """The ranker at each C, started from the ranker at the C before."""
        return self.problem.solved_along(preferences, self._gram, Cs)

    def held_out_sums(self, solution: Solution) -> FloatArray:
        """Kernel sums at the held-out points."""
        return self._held_out @ solution.coefficients

    def weights(self, solution: Solution) -> FloatArray:
        """Weights of the centers."""
        return solution.coefficients


class CenterBasis:
    """Kernels at given centers. Solutions are coordinates of the features of these centers."""

    def __init__(
        self,
        problem: RankProblem,
        train: FloatArray,
        test: FloatArray,
        centers: FloatArray,
        sigma: float,
        nearest: FloatArray,
    ) -> None:
        self.problem, self.nearest = problem, nearest
        self._features = CenterFeatures.from_centers(centers, sigma)
        self._train, self._held_out = self._features(train), self._features(test)

    def solved(self, preferences: Preferences, C: float, start: FloatArray | None) -> Solution:
        """The ranker at one C."""
        return self.problem.solved_linear(preferences, self._train, C, start)

    def solved_along(self, preferences: Preferences, Cs: Iterable[float]) -> Iterator[Solution]:
        """The ranker at each C, started from the ranker at the C before."""
        start = None
        for C in Cs:
            solution = self.solved(preferences, C, start)
            start = solution.warm_start
            yield solution

    def held_out_sums(self, solution: Solution) -> FloatArray:
        """Kernel sums at the held-out points."""
        return self._held_out @ solution.coefficients

    def weights(self, solution: Solution) -> FloatArray:
        """Weights of the centers."""
        return self._features.coefficients(solution.coefficients)
