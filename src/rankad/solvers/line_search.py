"""How far to go along a direction: the objective's minimum on a line, nearly."""

import numpy as np

from rankad._typing import FloatArray
from rankad.solvers.directions import Direction
from rankad.solvers.objective import Loss, LossAt

_MAX_STEPS = 40

#: Share of the first slope that may be left.
_SLOPE_LEFT = 0.1


def least_along(
    loss: Loss,
    C: float,
    coefficients: FloatArray,
    scores: FloatArray,
    local: LossAt,
    direction: Direction,
) -> tuple[float, LossAt]:
    """Step length that nearly minimizes J along the direction, 0 where nothing is gained.

    With the loss at the scores there. J along the line is convex and piecewise quadratic: Newton's
    method on its derivative, kept inside a bracket, lands on the minimum of the right piece in a
    few evaluations.
    """
    quadratic = float(direction.coefficients @ direction.scores)
    linear = float(coefficients @ direction.scores)
    first_slope = linear + C * float(local.gradient @ direction.scores)
    best, best_local = 0.0, local
    if not first_slope < 0.0:
        return best, best_local
    low, high, step = 0.0, np.inf, 1.0
    for _ in range(_MAX_STEPS):
        trial = loss.at(scores + step * direction.scores)
        slope = linear + step * quadratic + C * float(trial.gradient @ direction.scores)
        gain = step * (linear + 0.5 * step * quadratic) + C * (trial.value - local.value)
        # Convex, so still falling at the step means fallen all the way; the gain itself may drown
        # in rounding near the minimum.
        if slope <= 0.0 or gain < 0.0:
            best, best_local = step, trial
            if abs(slope) <= -_SLOPE_LEFT * first_slope:
                break
        low, high = (step, high) if slope < 0.0 else (low, step)
        curvature = quadratic + C * float(
            direction.scores @ trial.hessian_product(direction.scores)
        )
        step = step - slope / curvature if curvature > 0.0 else np.inf
        if not low < step < high:
            step = 2.0 * low if high == np.inf else 0.5 * (low + high)
        if high < np.inf and high - low <= 1e-14 * high:
            break
    return best, best_local
