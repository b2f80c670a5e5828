"""Levels -> RankSVM -> kernel expansion: the learning-to-rank stage of Algorithm 1, eq. (9)."""

import warnings
from dataclasses import dataclass

import numpy as np

from rankad._typing import FloatArray, IntArray
from rankad.exceptions import ConvergenceWarning
from rankad.kernels import FarField, KernelExpansion, gaussian_gram, squared_distances
from rankad.solvers import PairwiseSquaredHinge, Solution, Status, minimize


@dataclass(frozen=True)
class Ranker:
    """A trained ranker: the scoring function and how the solver reached it."""

    expansion: KernelExpansion
    solution: Solution


def fit_ranker(
    points: FloatArray,
    levels: IntArray,
    *,
    C: float,
    sigma: float,
    anchor: float = 1.0,
    tol: float = 1e-6,
    max_iter: int = 100,
) -> Ranker:
    """Learn g that ranks higher levels above lower ones: kernel RankSVM with the squared hinge.

    Minimizes ``1/2 |w|^2 + C sum_pairs max(0, 1 - (g_i - g_j))^2`` plus the anchor's pairs. With an
    anchor the expansion also gets the far field that continues it; ``anchor=0`` is the paper, whose
    coefficients sum to zero and whose kernel can therefore be centered.

    >>> points = np.array([[0.0], [0.1], [0.2], [2.0], [5.0]])
    >>> ranker = fit_ranker(points, np.array([3, 3, 2, 1, 1]), C=1.0, sigma=1.0)
    >>> g = ranker.expansion(np.array([[0.0], [2.0], [8.0], [1e9]]))
    >>> bool(np.all(np.diff(g) < 0))
    True
    """
    loss = PairwiseSquaredHinge(levels, anchor)
    centered = loss.is_shift_invariant
    gram = gaussian_gram(squared_distances(points), sigma, centered=centered)
    solution = minimize(loss, gram, C, tol=tol, max_iter=max_iter)
    if solution.status is not Status.CONVERGED:
        warnings.warn(
            f"The ranker's solver stopped early after {solution.n_iter} iterations: "
            f"{solution.status.value}. Its scores may be off by up to "
            f"{solution.gradient_norm:.2g} (C={C:.4g}, sigma={sigma:.4g}).",
            ConvergenceWarning,
            stacklevel=2,
        )
    is_support = solution.coefficients != 0.0
    weights = solution.coefficients[is_support]
    expansion = KernelExpansion(
        centers=np.ascontiguousarray(points[is_support]),
        weights=weights,
        sigma=sigma,
        centered=centered,
        far_field=None if centered else FarField.below(weights),
    )
    return Ranker(expansion, solution)
