"""Truncated Newton method for kernel machines, in the inner product of the kernel.

Minimize over the coefficients a, with scores f = K a,

    J(a) = 1/2 a'K a + C loss(f).

In the kernel's inner product <u, v>_K = u'Kv, the gradient of J has the coefficients
``r = a + C z``, with z the gradient of the loss in f. At the minimum a = -C z. Newton's direction d
solves

    (I + C H K) d = -r,          H the Hessian of the loss in f,

see ``directions``. A step needs two products with K in double precision, K r and K d. Then the
scores change by a multiple of K d.

At the minimum ``a_i = -C z_i`` is exactly 0 for every point in no active pair. So at convergence a
is recomputed from the gradient, which gives true zeros and true support vectors. That is a gradient
step of length 1, which moves the ranker by the norm of the gradient. If the curvature is so high
(large C) that this would raise the objective, the coefficients off the support are set to zero.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from math import inf, sqrt
from typing import NamedTuple

import numpy as np

from rankad._typing import FloatArray
from rankad.kernels.products import symmetric_product
from rankad.solvers.directions import KernelSystem
from rankad.solvers.line_search import minimum_along
from rankad.solvers.objective import Loss, LossAt
from rankad.solvers.solution import Solution, Status

#: Largest relative rise of the objective that is accepted for true zeros in the coefficients.
_OBJECTIVE_SLACK = 1e-8


class _Point(NamedTuple):
    """The coefficients a, their scores K a, and the loss there."""

    coefficients: FloatArray
    scores: FloatArray
    local: LossAt

    def objective(self, C: float) -> float:
        return 0.5 * float(self.coefficients @ self.scores) + C * self.local.value


class _Descent(NamedTuple):
    """The point where a descent ended, with its status and the number of steps."""

    point: _Point
    gradient_norm: float
    n_iter: int
    status: Status


def minimize(
    loss: Loss,
    gram: FloatArray,
    C: float,
    *,
    start: FloatArray | None = None,
    tol: float = 1e-6,
    max_iter: int = 100,
) -> Solution:
    """Minimize ``1/2 a'Ka + C loss(Ka)`` from ``start`` (default 0) by truncated Newton steps.

    Stops when the gradient's norm is at most ``tol`` times the ranker's, in the kernel's space, or
    after ``max_iter`` steps. The stages of a loss are minimized in turn.
    """
    coefficients = np.zeros(len(gram)) if start is None else start
    scores = coefficients if start is None else symmetric_product(gram, coefficients)
    system = KernelSystem(gram, sums_to_zero=loss.is_shift_invariant)
    descent = _descend(loss, system, C, coefficients, scores, tol, max_iter)
    point = descent.point
    sparse = point
    if descent.status is not Status.MAX_ITER:
        sparse = _sparsified(loss, gram, C, point)
    change = _norm(sparse.coefficients - point.coefficients, sparse.scores - point.scores)
    return replace(
        _as_solution(descent, C),
        coefficients=sparse.coefficients,
        scores=sparse.scores,
        objective=sparse.objective(C),
        error_bound=descent.gradient_norm + change,
    )


def minimize_along(
    loss: Loss, gram: FloatArray, Cs: Iterable[float], *, tol: float, max_iter: int = 100
) -> Iterator[Solution]:
    """Minimize for each C, started from the minimum for the C before; none is made sparse."""
    system = KernelSystem(gram, sums_to_zero=loss.is_shift_invariant)
    coefficients: FloatArray = np.zeros(len(gram))
    scores = coefficients
    for C in Cs:
        descent = _descend(loss, system, C, coefficients, scores, tol, max_iter)
        coefficients, scores, _ = descent.point
        yield _as_solution(descent, C)


def _as_solution(descent: _Descent, C: float) -> Solution:
    return Solution(
        coefficients=descent.point.coefficients,
        warm_start=descent.point.coefficients,
        scores=descent.point.scores,
        objective=descent.point.objective(C),
        gradient_norm=descent.gradient_norm,
        error_bound=descent.gradient_norm,
        n_iter=descent.n_iter,
        status=descent.status,
    )


def _descend(
    loss: Loss,
    system: KernelSystem,
    C: float,
    coefficients: FloatArray,
    scores: FloatArray,
    tol: float,
    max_iter: int,
) -> _Descent:
    n_iter = 0
    for stage in loss.stages:
        start = _Point(coefficients, scores, stage.at(scores))
        descent = _descend_stage(stage, system, C, start, tol, max_iter)
        coefficients, scores, _ = descent.point
        n_iter += descent.n_iter
    return descent._replace(n_iter=n_iter)


def _descend_stage(
    loss: Loss, system: KernelSystem, C: float, point: _Point, tol: float, max_iter: int
) -> _Descent:
    first_norm, min_norm, min_objective = 0.0, inf, inf
    for n_iter in range(max_iter + 1):
        residual = point.coefficients + C * point.local.gradient
        gram_residual = symmetric_product(system.gram, residual)
        gradient_norm = _norm(residual, gram_residual)
        if gradient_norm <= tol * _norm(point.coefficients, point.scores):
            return _Descent(point, gradient_norm, n_iter, Status.CONVERGED)
        objective = point.objective(C)
        is_stalled = gradient_norm >= min_norm and objective >= min_objective
        if is_stalled and not system.use_double_precision():
            return _Descent(point, gradient_norm, n_iter, Status.STALLED)
        if n_iter == max_iter:
            break
        first_norm = first_norm or gradient_norm
        min_norm = min(gradient_norm, min_norm)
        min_objective = min(objective, min_objective)
        forcing = min(0.1, sqrt(gradient_norm / first_norm))
        following = _step(loss, system, C, point, residual, gram_residual, forcing)
        if following is None:
            return _Descent(point, gradient_norm, n_iter, Status.STALLED)
        point = following
    return _Descent(point, gradient_norm, n_iter, Status.MAX_ITER)


def _step(
    loss: Loss,
    system: KernelSystem,
    C: float,
    point: _Point,
    residual: FloatArray,
    gram_residual: FloatArray,
    forcing: float,
) -> _Point | None:
    """The point after one step of Newton's method; None if no step gains."""
    direction = system.direction(point.local, C, residual, gram_residual, forcing)
    step, local = minimum_along(
        loss,
        C,
        point.scores,
        point.local,
        direction.scores,
        linear=float(point.coefficients @ direction.scores),
        quadratic=float(direction.coefficients @ direction.scores),
    )
    if step > 0.0:
        return _Point(
            point.coefficients + step * direction.coefficients,
            point.scores + step * direction.scores,
            local,
        )
    if system.use_double_precision():
        return _step(loss, system, C, point, residual, gram_residual, forcing)
    return None


def _sparsified(loss: Loss, gram: FloatArray, C: float, point: _Point) -> _Point:
    """Nearly the same point, with coefficients of exactly zero for points in no active pair.

    The point itself, if its objective would rise too much.
    """
    max_objective = point.objective(C) * (1.0 + _OBJECTIVE_SLACK)
    for coefficients in (
        -C * point.local.gradient,
        np.where(point.local.is_active, point.coefficients, 0.0),
    ):
        scores = symmetric_product(gram, coefficients)
        sparse = _Point(coefficients, scores, loss.at(scores))
        if sparse.objective(C) <= max_objective:
            return sparse
    return point


def _norm(coefficients: FloatArray, scores: FloatArray) -> float:
    """Norm of ``sum_i a_i k(x_i, .)`` in the kernel's space, from a and K a."""
    return sqrt(max(float(coefficients @ scores), 0.0))
