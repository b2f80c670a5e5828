"""A detector whose scores are compared with earlier ones: it must not be fitted again meanwhile."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from numpy.typing import ArrayLike

from rankad._typing import FloatArray


@dataclass(frozen=True, eq=False)
class FrozenModel:
    """Scores of a detector, while it has the model that it has now. A calibration keeps the model.

    Detectors of other libraries do not tell whether they were fitted again.

    Parameters
    ----------
    detector : fitted detector
        Any detector with ``score_samples``.
    model : object
        Its model when the comparison began.
    remedy : str
        What to do if it was fitted again.
    """

    detector: Any
    model: object
    remedy: str

    @classmethod
    def of(cls, detector: Any, remedy: str) -> Self:
        """The detector with its model of this moment."""
        return cls(detector, getattr(detector, "_model", None), remedy)

    def scores(self, X: ArrayLike) -> FloatArray:
        """Score of each row. Refuse a detector that was fitted again."""
        if getattr(self.detector, "_model", None) is not self.model:
            raise ValueError(
                "The detector was fitted again, so new scores and earlier ones do not compare. "
                f"{self.remedy}"
            )
        scores: FloatArray = self.detector.score_samples(X)
        return scores
