"""Training the ranker, eq. (9): from preferences to a kernel expansion."""

from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial

import numpy as np

from rankad._progress import logger
from rankad._threads import one_thread_each
from rankad._typing import FloatArray, IntArray
from rankad._warnings import warn_user
from rankad.exceptions import ConvergenceWarning
from rankad.kernels import (
    CenterFeatures,
    FarField,
    KernelExpansion,
    center_distances,
    distances_between,
    effective_rank,
    gaussian_gram,
    pursue,
)
from rankad.preferences import Preferences
from rankad.solvers import (
    Loss,
    LossMaker,
    Solution,
    Status,
    made_loss,
    minimize,
    minimize_along,
    minimize_linear,
)
from rankad.statistics.neighbors import distinct_rows

#: Up to this many points, products with the kernel matrix are too small for a second thread.
_FEW_POINTS = 2_000

#: Tolerance of pruning, in standard deviations of the training scores.
_PRUNING_TOLERANCE = 0.01


@dataclass(frozen=True)
class RankProblem:
    """The problem to solve for given preferences: its loss and the solver's tolerance.

    ``anchor`` is the weight of all pairs with the point at infinity, in units of the weight of all
    other pairs. ``anchor_margin`` is how far the training points should score above that point, in
    units of the step between levels.

    ``anchor=0`` is the paper's problem. There the coefficients sum to zero, so the kernel can be
    centered, which keeps its digits at a wide sigma. With an anchor the kernel is not centered, and
    a far field continues the kernel sum.
    """

    anchor: float = 1.0
    anchor_margin: float = 8.0
    loss: str | LossMaker = "squared_hinge"
    tol: float = 1e-6
    max_iter: int = 100

    @property
    def centered(self) -> bool:
        """Whether 1 is subtracted from every kernel value."""
        return self.anchor == 0

    def gram(self, distances: FloatArray, sigma: float, *, overwrite: bool = False) -> FloatArray:
        """Kernel matrix of distances, centered if ``centered``.

        With ``overwrite``, the matrix takes the memory of the distances.
        """
        return gaussian_gram(distances, sigma, centered=self.centered, overwrite=overwrite)

    def far_field(self, weights: FloatArray) -> FarField | None:
        """Far field of a kernel sum with these weights; None without an anchor."""
        return None if self.centered else FarField.below(weights)

    def loss_of(self, preferences: Preferences) -> Loss:
        """The loss of these preferences."""
        return made_loss(self.loss, preferences, self.anchor, self.anchor_margin)

    def solved(
        self,
        preferences: Preferences,
        gram: FloatArray,
        C: float,
        start: FloatArray | None = None,
    ) -> Solution:
        """Solution whose coefficients minimize ``1/2 |w|^2 + C loss``."""
        loss = self.loss_of(preferences)
        return minimize(loss, gram, C, start=start, tol=self.tol, max_iter=self.max_iter)

    def solved_along(
        self, preferences: Preferences, gram: FloatArray, Cs: Iterable[float]
    ) -> Iterator[Solution]:
        """Solution for each C, started from the solution for the C before; none is made sparse."""
        loss = self.loss_of(preferences)
        return minimize_along(loss, gram, Cs, tol=self.tol, max_iter=self.max_iter)

    def solved_linear(
        self,
        preferences: Preferences,
        features: FloatArray,
        C: float,
        start: FloatArray | None = None,
    ) -> Solution:
        """Solution whose coefficients w minimize ``1/2 |w|^2 + C loss(features w)``."""
        loss = self.loss_of(preferences)
        return minimize_linear(loss, features, C, start=start, tol=self.tol, max_iter=self.max_iter)


@dataclass(frozen=True)
class Ranker:
    """A trained ranker: the scoring function, and the solution with the solver's status."""

    expansion: KernelExpansion
    solution: Solution


def fit_ranker(
    points: FloatArray,
    preferences: Preferences,
    *,
    C: float,
    sigma: float,
    problem: RankProblem | None = None,
    centers: FloatArray | None = None,
) -> Ranker:
    """Learn a scoring function g that ranks preferred points above the others, eq. (9).

    Without ``centers``, every point is a center, and points in no active pair drop out. With
    ``centers``, the cost is linear in the number of points.

    >>> import numpy as np
    >>> from rankad.preferences import level_preferences
    >>> points = np.array([[0.0], [0.1], [0.2], [2.0], [5.0]])
    >>> preferences = level_preferences(np.array([3, 3, 2, 1, 1]))
    >>> ranker = fit_ranker(points, preferences, C=1.0, sigma=1.0)
    >>> g = ranker.expansion(np.array([[0.0], [2.0], [8.0], [1e9]]))
    >>> bool(np.all(np.diff(g) < 0))
    True
    """
    logger.info("training the ranker at C=%.4g, sigma=%.4g", C, sigma)
    problem = RankProblem() if problem is None else problem
    fit = _fit_on_points if centers is None else partial(_fit_on_centers, centers=centers)
    ranker = fit(points, preferences, C=C, sigma=sigma, problem=problem)
    solution = ranker.solution
    if solution.status is not Status.CONVERGED:
        warn_user(
            f"The ranker's solver stopped early after {solution.n_iter} iterations at "
            f"C={C:.4g}, sigma={sigma:.4g}: {solution.status.value}. Scores may be wrong by up to "
            f"{solution.error_bound:.2g}.",
            ConvergenceWarning,
        )
    return ranker


def _fit_on_points(
    points: FloatArray, preferences: Preferences, *, C: float, sigma: float, problem: RankProblem
) -> Ranker:
    gram = problem.gram(distances_between(points, points), sigma, overwrite=True)
    # On a busy machine, threads wait for each other for longer than a small product takes.
    with one_thread_each() if len(points) <= _FEW_POINTS else nullcontext():
        solution = problem.solved(preferences, gram, C)
    is_support = solution.coefficients != 0.0
    support = distinct_rows(points[is_support])
    weights = np.zeros(len(support.rows))
    np.add.at(weights, support.inverse, solution.coefficients[is_support])
    expansion = KernelExpansion(
        centers=support.rows,
        weights=weights,
        sigma=sigma,
        centered=problem.centered,
        far_field=problem.far_field(weights),
    )
    return Ranker(expansion, solution)


def _fit_on_centers(
    points: FloatArray,
    preferences: Preferences,
    *,
    C: float,
    sigma: float,
    problem: RankProblem,
    centers: FloatArray,
) -> Ranker:
    features = CenterFeatures.from_centers(centers, sigma)
    solution = problem.solved_linear(preferences, features(points), C)
    weights = features.coefficients(solution.coefficients)
    expansion = KernelExpansion(
        centers=features.centers,
        weights=weights,
        sigma=sigma,
        far_field=problem.far_field(weights),
    )
    return Ranker(expansion, solution)


def pruned(
    ranker: Ranker, problem: RankProblem, points: FloatArray
) -> tuple[KernelExpansion, float]:
    """The ranker's function with fewer centers, and a bound on the change of its kernel sum.

    Wide kernels overlap, so fewer centers can express nearly the same function. The bound holds at
    any point. It is at most 2% of the standard deviation of the training scores, and 0 if the
    expansion is returned unchanged. It is returned unchanged in these cases:

    - More than half of the centers are needed.
    - A center or a training point within reach of the expansion would be out of reach of the fewer
      centers. There the far field would begin too early.
    - There is no anchor. Then the function may be a difference of nearly equal kernels, and a sum
      that is not centered keeps too few digits.
    """
    expansion = ranker.expansion
    n_max = expansion.n_centers // 2
    if expansion.far_field is None or n_max == 0:
        return expansion, 0.0
    distances = distances_between(expansion.centers, expansion.centers)
    gram = gaussian_gram(distances, expansion.sigma)
    if effective_rank(gram) > n_max / 2:
        return expansion, 0.0
    tolerance = _PRUNING_TOLERANCE * float(ranker.solution.scores.std())
    found = pursue(gram, expansion.weights, tolerance=tolerance, n_max=n_max)
    if found is None:
        return expansion, 0.0
    to_picked = distances[:, found.picked].min(axis=1) / expansion.sigma
    if to_picked.max() > expansion.far_field.radius / 2.0:
        return expansion, 0.0
    if _has_unreached_points(points, expansion, found.picked, expansion.far_field.radius):
        return expansion, 0.0
    fewer = KernelExpansion(
        centers=expansion.centers[found.picked],
        weights=found.weights,
        sigma=expansion.sigma,
        far_field=problem.far_field(found.weights),
    )
    return fewer, found.error_bound


def _has_unreached_points(
    points: FloatArray, expansion: KernelExpansion, picked: IntArray, radius: float
) -> bool:
    """Whether any point within reach of the centers is out of reach of the picked centers."""
    reach = radius * expansion.sigma
    is_beyond = center_distances(points, expansion.centers[picked]) > reach
    return bool((center_distances(points[is_beyond], expansion.centers) <= reach).any())
