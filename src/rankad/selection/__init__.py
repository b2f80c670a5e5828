"""How C and sigma are chosen: by a rule, or by cross-validation."""

from rankad.selection.cross_validation import CV_TOL, CenterChoice, CrossValidation, cross_validate
from rankad.selection.rules import (
    PAPER_CS,
    PAPER_RELATIVE_SIGMAS,
    candidates,
    paper_sigmas,
    rule_C,
    rule_n_centers,
    rule_n_neighbors,
    rule_sigma,
)

__all__ = [
    "CV_TOL",
    "PAPER_CS",
    "PAPER_RELATIVE_SIGMAS",
    "CenterChoice",
    "CrossValidation",
    "candidates",
    "cross_validate",
    "paper_sigmas",
    "rule_C",
    "rule_n_centers",
    "rule_n_neighbors",
    "rule_sigma",
]
