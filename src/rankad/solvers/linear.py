"""Newton's method for a linear ranker: few features, any number of points.

Minimize over w, with scores f = Z w,

    J(w) = 1/2 |w|^2 + C loss(f).

Z has one row for each point and r columns. With z and H the gradient and the Hessian of the loss,
J has the gradient ``w + C Z'z``, and Newton's direction solves ``(I + C Z'HZ) d = -gradient``. That
is done by conjugate gradients, O(n r) each. Some tens of them suffice unless C is large; where they
do not, the matrix, only r by r, is formed in O(n r^2) for each block of pairs, and factorized.

With very many points each pass over Z takes long. There the matrix is formed of a sample of the
points, which makes so good a preconditioner that a few conjugate gradients solve the equations of
all; and the minimum of the sample is the start. So a solve is a handful of passes over Z.
"""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from math import inf, sqrt

import numpy as np
import scipy.linalg
from scipy.sparse.linalg import LinearOperator, cg

from rankad._progress import logger
from rankad._threads import one_thread_each
from rankad._typing import FloatArray, IntArray
from rankad.solvers.line_search import least_along
from rankad.solvers.objective import Loss, LossAt
from rankad.solvers.solution import Solution, Status

#: Points of the sample; up to twice as many are all taken.
_SAMPLE = 20_000

#: The minimum of the sample is only a start.
_SAMPLE_TOL = 1e-3

#: Conjugate gradients before the matrix is factorized instead, or the direction taken as it is.
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
    A loss in several stages takes each in turn.
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
        # Products with so few rows are short: threads beside other busy processes would wait for
        # one another for longer than the product takes.
        with one_thread_each() if sample is None else nullcontext():
            solution = _minimize_stage(stage, features, sample, C, w, tol, max_iter)
        w, n_iter = solution.coefficients, n_iter + solution.n_iter
    return replace(solution, n_iter=n_iter)


@dataclass(frozen=True, eq=False)
class _Sample:
    """Some of the points, their rows of Z, their loss, and how many times as large that of all."""

    rows: IntArray
    features: FloatArray
    loss: Loss
    factor: float

    def of(self, stage: Loss) -> "_Sample":
        """The same points with another loss."""
        loss, factor = stage.sampled(self.rows)
        return replace(self, loss=loss, factor=factor)

    def preconditioner(self, scores: FloatArray, C: float) -> LinearOperator:
        """Solves Newton's equations of the sample, which are nearly those of all points."""
        hessian = self.loss.at(scores[self.rows]).projected_hessian(self.features)
        return LinearOperator(hessian.shape, _solver(hessian, self.factor * C), dtype=np.float64)


def _minimize_stage(
    loss: Loss,
    features: FloatArray,
    sample: _Sample | None,
    C: float,
    w: FloatArray,
    tol: float,
    max_iter: int,
) -> Solution:
    status, first_norm, least_norm, least_objective = Status.MAX_ITER, 0.0, inf, inf
    is_exact = False
    scores = features @ w
    local = loss.at(scores)
    for n_iter in range(max_iter + 1):
        gradient = w + C * (local.gradient @ features)
        gradient_norm = float(np.linalg.norm(gradient))
        first_norm = first_norm or gradient_norm
        objective = 0.5 * float(w @ w) + C * local.value
        target = tol * float(np.linalg.norm(w))
        if sample is not None:  # each step takes seconds
            logger.info(
                "training: step %d, gradient %.2g, to fall to %.2g", n_iter, gradient_norm, target
            )
        if gradient_norm <= target:
            status = Status.CONVERGED
            break
        if gradient_norm >= least_norm and objective >= least_objective:
            if is_exact or sample is not None:
                status = Status.STALLED
                break
            is_exact = True  # rounding in the conjugate gradients may be what is in the way
        least_norm = min(gradient_norm, least_norm)
        least_objective = min(objective, least_objective)
        if n_iter == max_iter:
            break
        forcing = 0.0 if is_exact else min(0.1, sqrt(gradient_norm / first_norm))
        direction = _direction(local, features, sample, C, scores, gradient, forcing)
        direction_scores = features @ direction
        step, local = least_along(
            loss,
            C,
            scores,
            local,
            direction_scores,
            linear=float(w @ direction),
            quadratic=float(direction @ direction),
        )
        if step > 0.0:
            w, scores = w + step * direction, scores + step * direction_scores
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


def _direction(
    local: LossAt,
    features: FloatArray,
    sample: _Sample | None,
    C: float,
    scores: FloatArray,
    gradient: FloatArray,
    forcing: float,
) -> FloatArray:
    """Newton's direction to a relative residual of ``forcing``, exact for 0.

    NaN where rounding leaves none.
    """
    try:
        with np.errstate(all="ignore"):
            direction = _by_conjugate_gradients(
                local, features, sample, C, scores, gradient, forcing
            )
        if direction is None:
            return -_solver(local.projected_hessian(features), C)(gradient)
    except np.linalg.LinAlgError:  # not positive definite, by rounding: no direction
        return np.full_like(gradient, np.nan)
    return direction


def _by_conjugate_gradients(
    local: LossAt,
    features: FloatArray,
    sample: _Sample | None,
    C: float,
    scores: FloatArray,
    gradient: FloatArray,
    forcing: float,
) -> FloatArray | None:
    """Newton's direction; None where it takes a factorization."""
    if forcing == 0.0:
        return None
    size = (len(gradient), len(gradient))
    hessian = LinearOperator(
        size, lambda v: v + C * (local.hessian_product(features @ v) @ features), dtype=np.float64
    )
    preconditioner = None if sample is None else sample.preconditioner(scores, C)
    direction, n_unsolved = cg(
        hessian, -gradient, rtol=forcing, M=preconditioner, maxiter=_MAX_CG_ITERATIONS
    )
    is_solved = n_unsolved == 0 and np.isfinite(direction).all()
    return np.asarray(direction) if is_solved or sample is not None else None


def _solver(hessian: FloatArray, C: float) -> Callable[[FloatArray], FloatArray]:
    """Solves systems with ``I + C hessian``."""
    matrix = C * hessian
    matrix.flat[:: len(matrix) + 1] += 1.0
    with one_thread_each():  # beside other busy processes, more wait for one another for seconds
        factor = scipy.linalg.cho_factor(matrix, overwrite_a=True, check_finite=False)
    return lambda right_side: np.asarray(scipy.linalg.cho_solve(factor, right_side))
