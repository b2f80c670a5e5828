"""Why rows alarm: the fewest features to change, to values that nominal rows have."""

from rankad.explanations.explanation import Explanation
from rankad.explanations.reason import Change, Reason

__all__ = ["Change", "Explanation", "Reason"]
