"""Newton's method for a linear ranker: few features, any number of points.

Minimize over w, with scores f = Z w,

    J(w) = 1/2 |w|^2 + C loss(f).

Z has one row for each point and r columns. With z and H the gradient and the Hessian of the loss,
the gradient of J is ``w + C Z'z``, and Newton's direction d solves ``(I + C Z'HZ) d = -gradient``.
Conjugate gradients solve it at O(n r) per iteration, in some tens of iterations unless C is large.
If they fail, the r by r matrix is formed in O(n r^2) for each block of pairs, and factorized.

With very many points each pass over Z is slow. Then the matrix is formed from a sample of the
points. It is a preconditioner so good that a few conjugate gradients solve the equations of all
points. The minimum of the sample is the start. So a solve takes only a few passes over Z.
"""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from math import inf, sqrt
from typing import NamedTuple

import numpy as np
import scipy.linalg
from scipy.sparse.linalg import LinearOperator, cg

from rankad._progress import logger
from rankad._threads import one_thread_each
from rankad._typing import FloatArray, IntArray
from rankad.solvers.line_search import minimum_along
from rankad.solvers.objective import Loss, LossAt
from rankad.solvers.solution import Solution, Status

#: Points of the sample. Up to twice as many points, all are taken.
_SAMPLE = 20_000

#: Tolerance on the sample, whose minimum is only a start.
_SAMPLE_TOL = 1e-3

#: After this many conjugate gradients the matrix is factorized; with a sample, the direction is
#: taken as it is.
_MAX_CG_ITERATIONS = 300


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
    The stages of a loss are minimized in turn.
    """
    sample = None
    if len(features) > 2 * _SAMPLE:
        rows = np.random.RandomState(0).choice(len(features), _SAMPLE, replace=False)
        sample = _Sample(rows, features[rows], *loss.sampled(rows))
        if start is None:
            start = minimize_linear(
                sample.loss, sample.features, sample.factor * C, tol=_SAMPLE_TOL, max_iter=max_iter
            ).coefficients
    w: FloatArray = np.zeros(features.shape[1]) if start is None else start
    n_iter = 0
    for stage in loss.stages:
        if sample is not None:
            sample = sample.of(stage)
        # Products with few rows are short: on a busy machine, threads would wait for each other
        # for longer than a product takes.
        with one_thread_each() if sample is None else nullcontext():
            solution = _minimize_stage(stage, features, sample, C, w, tol, max_iter)
        w, n_iter = solution.coefficients, n_iter + solution.n_iter
    return replace(solution, n_iter=n_iter)


@dataclass(frozen=True, eq=False)
class _Sample:
    """Some of the points, their rows of Z, their loss, and the factor to the loss of all."""

    rows: IntArray
    features: FloatArray
    loss: Loss
    factor: float

    def of(self, stage: Loss) -> "_Sample":
        """The same points with another loss."""
        loss, factor = stage.sampled(self.rows)
        return replace(self, loss=loss, factor=factor)

    def preconditioner(self, scores: FloatArray, C: float) -> LinearOperator:
        """Solver of the sample's Newton equations, which are nearly those of all points."""
        hessian = self.loss.at(scores[self.rows]).projected_hessian(self.features)
        return LinearOperator(hessian.shape, _solver(hessian, self.factor * C), dtype=np.float64)


class _Point(NamedTuple):
    """The coordinates w, their scores Z w, and the loss there."""

    w: FloatArray
    scores: FloatArray
    local: LossAt

    def objective(self, C: float) -> float:
        return 0.5 * float(self.w @ self.w) + C * self.local.value

    def solution(self, C: float, gradient_norm: float, n_iter: int, status: Status) -> Solution:
        return Solution(
            coefficients=self.w,
            warm_start=self.w,
            scores=self.scores,
            objective=self.objective(C),
            gradient_norm=gradient_norm,
            error_bound=gradient_norm,
            n_iter=n_iter,
            status=status,
        )


def _minimize_stage(
    loss: Loss,
    features: FloatArray,
    sample: _Sample | None,
    C: float,
    w: FloatArray,
    tol: float,
    max_iter: int,
) -> Solution:
    first_norm, min_norm, min_objective = 0.0, inf, inf
    is_exact = False
    scores = features @ w
    point = _Point(w, scores, loss.at(scores))
    for n_iter in range(max_iter + 1):
        gradient = point.w + C * (point.local.gradient @ features)
        gradient_norm = float(np.linalg.norm(gradient))
        first_norm = first_norm or gradient_norm
        objective = point.objective(C)
        target = tol * float(np.linalg.norm(point.w))
        if sample is not None:  # each step takes seconds
            logger.info(
                "training: step %d, gradient norm %.2g, target %.2g", n_iter, gradient_norm, target
            )
        if gradient_norm <= target:
            return point.solution(C, gradient_norm, n_iter, Status.CONVERGED)
        if gradient_norm >= min_norm and objective >= min_objective:
            if is_exact or sample is not None:
                return point.solution(C, gradient_norm, n_iter, Status.STALLED)
            is_exact = True  # rounding in the conjugate gradients may be the obstacle
        if n_iter == max_iter:
            break
        min_norm = min(gradient_norm, min_norm)
        min_objective = min(objective, min_objective)
        forcing = 0.0 if is_exact else min(0.1, sqrt(gradient_norm / first_norm))
        point = _step(loss, features, sample, C, point, gradient, forcing)
    return point.solution(C, gradient_norm, n_iter, Status.MAX_ITER)


def _step(
    loss: Loss,
    features: FloatArray,
    sample: _Sample | None,
    C: float,
    point: _Point,
    gradient: FloatArray,
    forcing: float,
) -> _Point:
    """The point after one step of Newton's method, or the same point if no step gains."""
    direction = _direction(point, features, sample, C, gradient, forcing)
    direction_scores = features @ direction
    step, local = minimum_along(
        loss,
        C,
        point.scores,
        point.local,
        direction_scores,
        linear=float(point.w @ direction),
        quadratic=float(direction @ direction),
    )
    if step > 0.0:
        return _Point(point.w + step * direction, point.scores + step * direction_scores, local)
    return point


def _direction(
    point: _Point,
    features: FloatArray,
    sample: _Sample | None,
    C: float,
    gradient: FloatArray,
    forcing: float,
) -> FloatArray:
    """Newton's direction to the relative residual ``forcing``, which is exact for 0.

    It is NaN if the matrix is singular by rounding.
    """
    try:
        with np.errstate(all="ignore"):
            direction = _by_conjugate_gradients(point, features, sample, C, gradient, forcing)
        if direction is None:
            return -_solver(point.local.projected_hessian(features), C)(gradient)
    except np.linalg.LinAlgError:  # not positive definite by rounding, so there is no direction
        return np.full_like(gradient, np.nan)
    return direction


def _by_conjugate_gradients(
    point: _Point,
    features: FloatArray,
    sample: _Sample | None,
    C: float,
    gradient: FloatArray,
    forcing: float,
) -> FloatArray | None:
    """Newton's direction by conjugate gradients; None if it needs a factorization."""
    if forcing == 0.0:
        return None
    size = (len(gradient), len(gradient))
    hessian_product = point.local.hessian_product
    hessian = LinearOperator(
        size, lambda v: v + C * (hessian_product(features @ v) @ features), dtype=np.float64
    )
    preconditioner = None if sample is None else sample.preconditioner(point.scores, C)
    direction, n_unsolved = cg(
        hessian, -gradient, rtol=forcing, M=preconditioner, maxiter=_MAX_CG_ITERATIONS
    )
    is_solved = n_unsolved == 0 and np.isfinite(direction).all()
    return np.asarray(direction) if is_solved or sample is not None else None


def _solver(hessian: FloatArray, C: float) -> Callable[[FloatArray], FloatArray]:
    """Function that solves systems with the matrix ``I + C hessian``."""
    matrix = C * hessian
    matrix.flat[:: len(matrix) + 1] += 1.0
    with one_thread_each():  # on a busy machine, more threads wait for each other for seconds
        factor = scipy.linalg.cho_factor(matrix, overwrite_a=True, check_finite=False)
    return lambda right_side: np.asarray(scipy.linalg.cho_solve(factor, right_side))
