"""What every statistic is."""

from typing import Protocol

import numpy as np

from rankad._typing import FloatArray


class Statistic(Protocol):
    """Orders points as the density would: the higher, the more nominal.

    Called with the training points alone, it gives the value of each among the others: a point does
    not count as its own neighbor. With ``among``, it gives the values of new points among
    those.
    """

    def __call__(self, points: FloatArray, among: FloatArray | None = None) -> FloatArray:
        """Value of the statistic at each point, shape ``(n,)``."""
        ...


def statistic_values(statistic: Statistic, points: FloatArray) -> FloatArray:
    """Values of a statistic at the training points, checked: one finite number for each."""
    values = np.asarray(statistic(points), dtype=np.float64)
    if values.shape != (len(points),) or not np.isfinite(values).all():
        raise ValueError(
            f"The statistic must give one finite value per row: {len(points)} of them. Got "
            f"shape {values.shape}, {np.isfinite(values).sum()} finite."
        )
    return values
