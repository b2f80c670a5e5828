"""Errors and warnings of rankad. Each is also of the class that scikit-learn would use."""

from sklearn.exceptions import ConvergenceWarning

__all__ = ["CalibrationWarning", "ConvergenceWarning", "NoPairsError", "UnresolvableAlphaError"]


class NoPairsError(ValueError):
    """No two training points form a pair for the ranker, so there is nothing to learn."""


class UnresolvableAlphaError(ValueError):
    """The false-alarm rate alpha is too small for the number of reference scores."""


class CalibrationWarning(UserWarning):
    """The reference is too small, or has too little weight, for what is asked of it."""
