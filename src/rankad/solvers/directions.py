"""Newton's equations of a kernel machine, ``(I + C H K) d = -r``, and two ways to solve them.

The operator is self-adjoint and positive in the kernel's inner product <u, v>_K = u'Kv. So
conjugate gradients need one product with K per iteration and never the inverse of K. If they are
slow (large C), an LU factorization of I + C H K is used. In rows where H is zero the equation is
``d_i = -r_i``. So only the active rows and columns are factorized, and the loss's sweeps compute
H K there in O(m n^2).

A direction need not be exact, because its scores K d are computed in double precision and the next
step corrects its error. So the equations are first solved with K in single precision, at less than
half the cost. But C H multiplies the rounding errors of K. If C is large and the kernel wide, the
errors are larger than the identity. The direction shows this: along an exact solution, and along
any iterate of conjugate gradients, the quadratic model of J has its minimum at step 1,

    d'K d + C (K d)'H (K d) = -r'K d.

If this fails, the equations are solved again in double precision.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from rankad._typing import FloatArray, IntArray
from rankad.kernels.gram import submatrix
from rankad.kernels.products import symmetric_product
from rankad.solvers.objective import LossAt

#: Up to this many active points a factorization is always used.
_ALWAYS_DIRECT = 200

#: Up to this many active points a factorization is used if conjugate gradients are slow.
_MAX_DIRECT = 6000

_MAX_CG_ITERATIONS = 2000

#: From this many points on, single precision saves time. Smaller matrices fit into the caches.
_ROUGH_FROM = 800

#: Largest relative difference between the two sides of the test of a direction.
_MODEL_SLACK = 0.1


class Direction(NamedTuple):
    """Coefficients d of a direction, and its scores K d."""

    coefficients: FloatArray
    scores: FloatArray


class KernelSystem:
    """Solver of Newton's equations for one kernel matrix, at any C and any scores.

    It remembers which way failed, because the next equations are similar.

    Parameters
    ----------
    gram : array of shape (n, n)
    sums_to_zero : bool
        Whether exact directions sum to zero, because a constant added to all scores does not change
        the loss. A centered kernel is positive only on such directions, so the rest of the sum that
        rounding leaves is subtracted.
    """

    def __init__(self, gram: FloatArray, *, sums_to_zero: bool) -> None:
        self.gram = gram
        self.sums_to_zero = sums_to_zero
        self._rough_gram = gram.astype(np.float32) if len(gram) >= _ROUGH_FROM else None
        self._prefers_factors = False

    def use_double_precision(self) -> bool:
        """Solve in double precision from now on. Returns False if it already did."""
        was_rough, self._rough_gram = self._rough_gram is not None, None
        return was_rough

    def direction(
        self,
        local: LossAt,
        C: float,
        residual: FloatArray,
        gram_residual: FloatArray,
        forcing: float,
    ) -> Direction:
        """Newton's direction, to the relative residual ``forcing`` if found by iteration."""
        equations = _Equations(local, C, residual, gram_residual)
        if self._rough_gram is not None:
            with np.errstate(all="ignore"):  # a direction with an overflow fails the test
                direction = self._solved(equations, self._rough_gram, forcing)
            if equations.is_solved_by(direction):
                return direction
            self.use_double_precision()
        return self._solved(equations, self.gram, forcing)

    def _solved(self, equations: "_Equations", gram: FloatArray, forcing: float) -> Direction:
        active = np.flatnonzero(equations.local.is_active)
        may_factorize = active.size <= _MAX_DIRECT
        is_solved = False
        if not may_factorize or not (self._prefers_factors or active.size <= _ALWAYS_DIRECT):
            budget = _products_worth_factors(active.size, len(gram))
            coefficients, is_solved = conjugate_gradients(
                equations.curvature,
                gram,
                -equations.residual,
                -equations.gram_residual,
                forcing,
                budget if may_factorize else _MAX_CG_ITERATIONS,
            )
            self._prefers_factors = may_factorize and not is_solved
        if may_factorize and not is_solved:
            coefficients = equations.factorized(gram, active)
        if self.sums_to_zero:
            coefficients -= coefficients.mean()
        return Direction(coefficients, symmetric_product(self.gram, coefficients))


def _products_worth_factors(n_active: int, n: int) -> int:
    """Number of products with K after which a factorization is the better way.

    A factorization costs about twice as many products, but its direction is exact, which saves
    steps.
    """
    return 10 + int(0.1 * (n_active / n) ** 2 * n_active)


class _Equations(NamedTuple):
    """The equations ``(I + C H K) d = -r`` at one point of the descent."""

    local: LossAt
    C: float
    residual: FloatArray
    gram_residual: FloatArray

    def curvature(self, scores: FloatArray) -> FloatArray:
        """``C H`` times scores."""
        return self.C * self.local.hessian_product(scores)

    def is_solved_by(self, direction: Direction) -> bool:
        """Whether the quadratic model along the direction has its minimum at about step 1."""
        coefficients, scores = direction
        slope = -float(self.residual @ scores)
        curvature = float(scores @ (coefficients + self.curvature(scores)))
        return slope > 0.0 and abs(curvature - slope) <= _MODEL_SLACK * slope

    def factorized(self, gram: FloatArray, active: IntArray) -> FloatArray:
        """The solution by LU of the active rows; in the other rows ``d_i = -r_i``."""
        direction = -self.residual
        direction[active] = 0.0
        known = self.curvature(symmetric_product(gram, direction))[active]
        matrix = self.local.hessian_product(submatrix(gram, active, active), active)
        matrix *= gram.dtype.type(self.C)
        matrix.flat[:: active.size + 1] += 1.0
        right_side = (-self.residual[active] - known).astype(gram.dtype)
        try:
            direction[active] = np.linalg.solve(matrix, right_side)
        except np.linalg.LinAlgError:  # singular by rounding, so there is no direction
            direction[:] = np.nan
        return direction


def conjugate_gradients(
    curvature: Callable[[FloatArray], FloatArray],
    gram: FloatArray,
    residual: FloatArray,
    gram_residual: FloatArray,
    forcing: float,
    max_iterations: int,
) -> tuple[FloatArray, bool]:
    """Solve ``(I + curvature K) d = residual`` in the K-inner product.

    Returns d, and whether it reached the relative residual ``forcing``.
    """
    solution = np.zeros_like(residual)
    search, gram_search = residual, gram_residual
    squared_norm = residual @ gram_residual
    target = forcing**2 * squared_norm
    for _ in range(max_iterations):
        image = search + curvature(gram_search)
        energy = gram_search @ image
        if energy <= 0.0:  # by rounding: the remaining directions lie in the null space of K
            return solution, True
        length = squared_norm / energy
        solution = solution + length * search
        residual = residual - length * image
        gram_residual = symmetric_product(gram, residual)
        previous, squared_norm = squared_norm, residual @ gram_residual
        if squared_norm <= target:
            return solution, True
        ratio = squared_norm / previous
        search = residual + ratio * search
        gram_search = gram_residual + ratio * gram_search
    return solution, False
