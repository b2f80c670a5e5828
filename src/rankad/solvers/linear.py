"""Newton's method for a linear ranker: few features, any number of points.

Minimize over w, with scores f = Z w,

    J(w) = 1/2 |w|^2 + C loss(f).

Z has one row for each point and r columns. Newton's equations ``(I + C Z'HZ) d = -(w + C Z'z)``, z
and H the gradient and the Hessian of the loss, are only r by r: they are formed, in O(n r^2), and
solved exactly.
"""

from math import inf

import numpy as np
import scipy.linalg

from rankad._progress import logger
from rankad._typing import FloatArray
from rankad.solvers.line_search import line_search
from rankad.solvers.objective import Loss, LossAt
from rankad.solvers.solution import Solution, Status


def minimize_linear(
    loss: Loss,
    features: FloatArray,
    C: float,
    *,
    start: FloatArray | None = None,
    tol: float = 1e-6,
    max_iter: int = 100,
) -> Solution:
    """Minimize ``1/2 |w|^2 + C loss(features w)`` from ``start`` (default 0) by Newton steps.

    Stops when the gradient's norm is at most ``tol`` times that of w, or after ``max_iter`` steps.
    A loss in several stages takes each in turn.
    """
    w: FloatArray = np.zeros(features.shape[1]) if start is None else start
    n_iter = 0
    for stage in loss.stages:
        solution = _minimize_stage(stage, features, C, w, tol, max_iter)
        w, n_iter = solution.coefficients, n_iter + solution.n_iter
    return Solution(**(vars(solution) | {"n_iter": n_iter}))


def _minimize_stage(
    loss: Loss, features: FloatArray, C: float, w: FloatArray, tol: float, max_iter: int
) -> Solution:
    status, least_norm, least_objective = Status.MAX_ITER, inf, inf
    scores = features @ w
    for n_iter in range(max_iter + 1):
        local = loss.at(scores)
        gradient = w + C * (local.gradient @ features)
        gradient_norm = float(np.linalg.norm(gradient))
        objective = 0.5 * float(w @ w) + C * local.value
        logger.debug("Newton step %d: gradient norm %.3g", n_iter, gradient_norm)
        if gradient_norm <= tol * float(np.linalg.norm(w)):
            status = Status.CONVERGED
            break
        if gradient_norm >= least_norm and objective >= least_objective:
            status = Status.STALLED
            break
        least_norm = min(gradient_norm, least_norm)
        least_objective = min(objective, least_objective)
        if n_iter == max_iter:
            break
        direction = _newton_direction(local, features, C, gradient)
        direction_scores = features @ direction
        step = line_search(
            loss,
            C,
            scores,
            local,
            direction_scores,
            linear=float(w @ direction),
            quadratic=float(direction @ direction),
        )
        if step == 0.0:
            status = Status.STALLED
            break
        w = w + step * direction
        scores = features @ w
    return Solution(
        coefficients=w,
        warm_start=w,
        scores=scores,
        objective=objective,
        gradient_norm=gradient_norm,
        error_bound=gradient_norm,
        n_iter=n_iter,
        status=status,
    )


def _newton_direction(
    local: LossAt, features: FloatArray, C: float, gradient: FloatArray
) -> FloatArray:
    hessian = C * local.projected_hessian(features)
    hessian.flat[:: len(hessian) + 1] += 1.0
    return np.asarray(scipy.linalg.solve(hessian, -gradient, assume_a="pos"))
