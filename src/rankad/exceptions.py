"""Errors and warnings of rankad; each is also the standard class that scikit-learn would use."""

from sklearn.exceptions import ConvergenceWarning

__all__ = ["CalibrationWarning", "ConvergenceWarning", "NoPairsError", "UnresolvableAlphaError"]


class NoPairsError(ValueError):
    """The statistic orders no two training points, so there is nothing to learn from."""


class UnresolvableAlphaError(ValueError):
    """The level alpha is finer than the reference scores can resolve."""


class CalibrationWarning(UserWarning):
    """The reference scores are too few for the level asked in the constructor."""
