"""The interface of every statistic."""

from typing import Protocol

import numpy as np

from rankad._typing import FloatArray


class Statistic(Protocol):
    """Function that orders points by density: a higher value is more nominal.

    Called with the training points alone, it returns the value of each point among the others. A
    point is not its own neighbor. With ``among``, it returns the values of new points among those
    rows.
    """

    def __call__(self, points: FloatArray, among: FloatArray | None = None) -> FloatArray:
        """Value of the statistic at each point, shape ``(n,)``."""
        ...


def statistic_values(statistic: Statistic, points: FloatArray) -> FloatArray:
    """Values of a statistic at the training points. Raises unless each is one finite number."""
    values = np.asarray(statistic(points), dtype=np.float64)
    if values.shape != (len(points),) or not np.isfinite(values).all():
        raise ValueError(
            f"The statistic must return one finite value per row: {len(points)} of them. Got an "
            f"array of shape {values.shape} with {np.isfinite(values).sum()} finite values."
        )
    return values
