"""Truncated Newton method for kernel machines, in the inner product of the kernel.

Minimize over the coefficients a, with scores f = K a,

    J(a) = 1/2 a'K a + C loss(f).

Its gradient in the kernel's own inner product <u, v>_K = u'Kv has the coefficients
``r = a + C z``, z the gradient of the loss in f; at the minimum a = -C z. Newton's direction solves

    (I + C H K) d = -r,          H the Hessian of the loss in f,

an operator that is self-adjoint and positive in <.,.>_K: conjugate gradients need one product with
K per iteration and never K's inverse. Where they are slow (large C) and n is moderate, one LU
factorization of I + C H K takes over; H K costs only O(m n^2) by the loss's own sweeps.

At the minimum ``a_i = -C z_i`` is exactly 0 for every point in no active pair, so at convergence a
is recomputed from the gradient: true zeros, true support vectors. That is a gradient step of length
1, which moves the ranker by the norm of the gradient; where curvature is so high (large C) that it
would raise the objective, the coefficients off the support are set to zero instead.
"""

import warnings
from collections.abc import Callable
from dataclasses import replace
from math import inf, sqrt
from typing import NamedTuple

import numpy as np
import scipy.linalg

from rankad._typing import FloatArray
from rankad.solvers.objective import Loss, LossAt
from rankad.solvers.solution import Solution, Status

#: Up to this many points a factorization always beats conjugate gradients.
_ALWAYS_DIRECT = 200

#: Up to this many points a factorization may take over from conjugate gradients.
_EVER_DIRECT = 6000

_MAX_CG_ITERATIONS = 2000
_MAX_LINE_SEARCH_STEPS = 40

#: By how much, relatively, the objective may rise for true zeros in the coefficients.
_OBJECTIVE_SLACK = 1e-8


class _Direction(NamedTuple):
    coefficients: FloatArray
    scores: FloatArray


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
    after ``max_iter`` steps. A loss in several stages takes each in turn.
    """
    n_iter = 0
    for stage in loss.stages:
        solution = _minimize_stage(stage, gram, C, start, tol, max_iter)
        start, n_iter = solution.warm_start, n_iter + solution.n_iter
    return replace(solution, n_iter=n_iter)


def _minimize_stage(
    loss: Loss,
    gram: FloatArray,
    C: float,
    start: FloatArray | None,
    tol: float,
    max_iter: int,
) -> Solution:
    coefficients: FloatArray = np.zeros(len(gram)) if start is None else start
    first_norm, least_norm, least_objective = 0.0, inf, inf
    status, n_iter = Status.MAX_ITER, 0
    for n_iter in range(max_iter + 1):
        scores = gram @ coefficients
        local = loss.at(scores)
        residual = coefficients + C * local.gradient
        gram_residual = gram @ residual
        gradient_norm = _norm(residual, gram_residual)
        first_norm = first_norm or gradient_norm
        if gradient_norm <= tol * _norm(coefficients, scores):
            status = Status.CONVERGED
            break
        objective = 0.5 * float(coefficients @ scores) + C * local.value
        if gradient_norm >= least_norm and objective >= least_objective:
            status = Status.STALLED
            break
        least_norm = min(gradient_norm, least_norm)
        least_objective = min(objective, least_objective)
        if n_iter == max_iter:
            break
        forcing = min(0.1, sqrt(gradient_norm / first_norm))
        direction = _newton_direction(local, gram, C, residual, gram_residual, forcing)
        step = _line_search(loss, C, coefficients, scores, local, direction)
        if step == 0.0:
            status = Status.STALLED
            break
        coefficients = coefficients + step * direction.coefficients
    sparse = coefficients
    if status is not Status.MAX_ITER:
        sparse = _sparsified(loss, gram, C, coefficients, scores, local)
    change = sparse - coefficients
    return Solution(
        coefficients=sparse,
        warm_start=coefficients,
        scores=gram @ sparse,
        objective=_objective(loss, gram, C, sparse),
        gradient_norm=gradient_norm,
        error_bound=gradient_norm + _norm(change, gram @ change),
        n_iter=n_iter,
        status=status,
    )


def _sparsified(
    loss: Loss,
    gram: FloatArray,
    C: float,
    coefficients: FloatArray,
    scores: FloatArray,
    local: LossAt,
) -> FloatArray:
    """Coefficients of nearly the same ranker, exactly zero for points in no active pair."""
    objective = 0.5 * float(coefficients @ scores) + C * local.value
    for sparse in (-C * local.gradient, np.where(local.is_active, coefficients, 0.0)):
        if _objective(loss, gram, C, sparse) <= objective * (1.0 + _OBJECTIVE_SLACK):
            return sparse
    return coefficients


def _objective(loss: Loss, gram: FloatArray, C: float, coefficients: FloatArray) -> float:
    scores = gram @ coefficients
    return 0.5 * float(coefficients @ scores) + C * loss.at(scores).value


def _norm(coefficients: FloatArray, scores: FloatArray) -> float:
    """Norm of ``sum_i a_i k(x_i, .)`` in the kernel's space, from a and K a."""
    return sqrt(max(float(coefficients @ scores), 0.0))


def _newton_direction(
    local: LossAt,
    gram: FloatArray,
    C: float,
    residual: FloatArray,
    gram_residual: FloatArray,
    forcing: float,
) -> _Direction:
    n_active = int(np.count_nonzero(local.is_active))
    if n_active <= _ALWAYS_DIRECT:
        return _factorized_direction(local, gram, C, residual)
    may_factorize = n_active <= _EVER_DIRECT
    # A factorization costs about as much as this many products with K.
    budget = n_active // 30 + 20 if may_factorize else _MAX_CG_ITERATIONS
    direction, is_solved = _conjugate_gradients(
        lambda scores: C * local.hessian_product(scores),
        gram,
        -residual,
        -gram_residual,
        forcing,
        budget,
    )
    if is_solved or not may_factorize:
        return direction
    return _factorized_direction(local, gram, C, residual)


def _factorized_direction(
    local: LossAt, gram: FloatArray, C: float, residual: FloatArray
) -> _Direction:
    """Solve Newton's equations exactly, by LU of the rows where H is not zero.

    In the other rows the equations read ``d_i = -r_i``.
    """
    active = np.flatnonzero(local.is_active)
    direction = np.where(local.is_active, 0.0, -residual)
    known = C * local.hessian_product(gram @ direction)[active]
    matrix = C * local.hessian_product(gram[:, active])[active]
    matrix.flat[:: active.size + 1] += 1.0
    right_side = -residual[active] - known
    with warnings.catch_warnings():
        # An ill-conditioned step is caught by the line search and told by the status.
        warnings.simplefilter("ignore", scipy.linalg.LinAlgWarning)
        direction[active] = scipy.linalg.solve(
            matrix, right_side, overwrite_a=True, overwrite_b=True, check_finite=False
        )
    return _Direction(direction, gram @ direction)


def _conjugate_gradients(
    curvature: Callable[[FloatArray], FloatArray],
    gram: FloatArray,
    residual: FloatArray,
    gram_residual: FloatArray,
    forcing: float,
    max_iterations: int,
) -> tuple[_Direction, bool]:
    """Solve ``(I + curvature K) d = residual`` in the K-inner product, to ``forcing``, relative."""
    solution = np.zeros_like(residual)
    gram_solution = np.zeros_like(residual)
    search, gram_search = residual, gram_residual
    squared_norm = residual @ gram_residual
    target = forcing**2 * squared_norm
    for _ in range(max_iterations):
        image = search + curvature(gram_search)
        energy = gram_search @ image
        if energy <= 0.0:  # rounding: the directions left lie in K's null space
            return _Direction(solution, gram_solution), True
        length = squared_norm / energy
        solution = solution + length * search
        gram_solution = gram_solution + length * gram_search
        residual = residual - length * image
        gram_residual = gram @ residual
        previous, squared_norm = squared_norm, residual @ gram_residual
        if squared_norm <= target:
            return _Direction(solution, gram_solution), True
        ratio = squared_norm / previous
        search = residual + ratio * search
        gram_search = gram_residual + ratio * gram_search
    return _Direction(solution, gram_solution), False


def _line_search(
    loss: Loss,
    C: float,
    coefficients: FloatArray,
    scores: FloatArray,
    local: LossAt,
    direction: _Direction,
) -> float:
    """Step length that nearly minimizes J along the direction; 0 where nothing is gained.

    J along the line is convex and piecewise quadratic: Newton's method on its derivative, kept
    inside a bracket, lands on the minimum of the right piece in a few evaluations.
    """
    quadratic = float(direction.coefficients @ direction.scores)
    linear = float(coefficients @ direction.scores)
    first_slope = linear + C * float(local.gradient @ direction.scores)
    if not first_slope < 0.0:
        return 0.0
    low, high, step = 0.0, np.inf, 1.0
    best = 0.0
    for _ in range(_MAX_LINE_SEARCH_STEPS):
        trial = loss.at(scores + step * direction.scores)
        slope = linear + step * quadratic + C * float(trial.gradient @ direction.scores)
        gain = step * (linear + 0.5 * step * quadratic) + C * (trial.value - local.value)
        # Convex, so still falling at the step means fallen all the way; the gain itself may drown
        # in rounding near the minimum.
        if slope <= 0.0 or gain < 0.0:
            best = step
            if abs(slope) <= -0.1 * first_slope:
                return step
        low, high = (step, high) if slope < 0.0 else (low, step)
        curvature = quadratic + C * float(
            direction.scores @ trial.hessian_product(direction.scores)
        )
        step = step - slope / curvature if curvature > 0.0 else np.inf
        if not low < step < high:
            step = 2.0 * low if high == np.inf else 0.5 * (low + high)
        if high < np.inf and high - low <= 1e-14 * high:
            break
    return best
