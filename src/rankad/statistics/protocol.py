"""What every statistic is."""

from typing import Protocol

from rankad._typing import FloatArray


class Statistic(Protocol):
    """Orders points as the density would: the higher, the more nominal.

    Called with the training points alone, it gives each one's value among the others (a point
    never vouches for itself); with ``reference``, that of new points among the reference points.
    """

    def __call__(self, points: FloatArray, reference: FloatArray | None = None) -> FloatArray:
        """Value of the statistic at each point, shape ``(n,)``."""
        ...
