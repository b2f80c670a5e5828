"""Line search: the step along a direction that nearly minimizes the objective."""

from math import inf

from rankad._typing import FloatArray
from rankad.solvers.objective import Loss, LossAt

_MAX_STEPS = 40

#: The search ends when the slope is at most this share of the slope at step 0.
_SLOPE_LEFT = 0.1


def minimum_along(
    loss: Loss,
    C: float,
    scores: FloatArray,
    local: LossAt,
    direction: FloatArray,
    *,
    linear: float,
    quadratic: float,
) -> tuple[float, LossAt]:
    """Step t that nearly minimizes the objective along a line, and the loss at that step.

    The step is 0 if no step lowers the objective. The objective is ``1/2 |w|^2 + C loss(f)``. Up to
    a constant, it is ``t linear + 1/2 t^2 quadratic + C loss(scores + t direction)`` along the
    line. That is convex and piecewise quadratic. So Newton's method on its derivative, kept inside
    a bracket, finds the minimum in a few evaluations.
    """
    first_slope = linear + C * float(local.gradient @ direction)
    best, best_local = 0.0, local
    if not first_slope < 0.0:
        return best, best_local
    low, high, step = 0.0, inf, 1.0
    for _ in range(_MAX_STEPS):
        trial = loss.at(scores + step * direction)
        slope = linear + step * quadratic + C * float(trial.gradient @ direction)
        gain = step * (linear + 0.5 * step * quadratic) + C * (trial.value - local.value)
        # The objective is convex, so if it still falls at the step, it fell all the way. The slope
        # decides because near the minimum the gain is lost in rounding.
        if slope <= 0.0 or gain < 0.0:
            best, best_local = step, trial
            if abs(slope) <= -_SLOPE_LEFT * first_slope:
                break
        low, high = (step, high) if slope < 0.0 else (low, step)
        curvature = quadratic + C * float(direction @ trial.hessian_product(direction))
        step = step - slope / curvature if curvature > 0.0 else inf
        if not low < step < high:
            step = 2.0 * low if high == inf else 0.5 * (low + high)
        if high < inf and high - low <= 1e-14 * high:
            break
    return best, best_local
