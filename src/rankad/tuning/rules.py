"""The rules for neighbors, centers, C and sigma, and the paper's grid of C and sigma."""

import math

import numpy as np

from rankad._typing import FloatArray

#: The paper's grid: 13 values of C, and 21 widths in units of the mean neighbor distance D_K.
PAPER_CS = (*(float(f"{digit}e{power}") for power in range(-3, 3) for digit in (1, 3)), 1000.0)
PAPER_RELATIVE_SIGMAS = tuple(2.0**power for power in range(-10, 11))

#: Smallest sigma of the rule, in units of the mean neighbor distance D_K.
NARROWEST_SIGMA = 0.6

#: Number of centers for each column, and the largest number of centers.
_CENTERS_PER_COLUMN = 200
_MAX_CENTERS = 800


def n_varying_columns(rows: FloatArray) -> int:
    """Number d of columns for the rules: those that are not constant, at least 1.

    >>> n_varying_columns(np.array([[1.0, 7.0], [2.0, 7.0]]))
    1
    """
    return max(1, int((rows != rows[:1]).any(axis=0).sum()))


def rule_n_neighbors(n: int, n_features: int) -> int:
    """``K = n^(4 / (d + 4))``, at least 5: the rate at which neighbor distances rank best.

    The error of a density estimated from K of n neighbors has two parts. The noise falls with K.
    The bias grows with the distance of the neighbors, as ``(K / n)^(2 / d)``. They balance at this
    rate. Then D_K shrinks like ``n^(-1 / (d + 4))``, which is the best rate of a kernel's width,
    and sigma is a multiple of D_K. For 1,500 rows K is 5 from 14 columns on. More rows need more
    columns for that.

    >>> [rule_n_neighbors(1500, d) for d in (1, 2, 3, 5, 10, 30)]
    [347, 131, 65, 26, 8, 5]
    """
    return max(5, round(math.pow(n, 4.0 / (n_features + 4))))


def rule_n_centers(n_features: int) -> int:
    """``min(800, 200 d)``: fewer in few columns, which few centers cover.

    Accuracy grows slowly with the number of centers, and the cost of a score in proportion. The
    number does not grow with the number of rows.

    >>> [rule_n_centers(d) for d in (1, 2, 3, 4, 30)]
    [200, 400, 600, 800, 800]
    """
    return min(_MAX_CENTERS, _CENTERS_PER_COLUMN * n_features)


def rule_C(n: int) -> float:
    """``C = 32 / n``: for any n, 32 is well above the values of C n at which the anchor fails.

    >>> rule_C(800)
    0.04
    """
    return 32.0 / n


def rule_sigma(
    mean_neighbor_distance: float, n_features: int, mean_center_distance: float = 0.0
) -> float:
    """``sigma = max(.6, 3 / d) D_K``: narrow enough to find gaps, but wide in few columns.

    In few columns the rule for K takes many neighbors. So the ranks are smooth, and a wide kernel
    follows them best. In many columns a wide kernel would fill the gaps between the rows.

    If .85 of the mean distance of a row to its nearest center is larger, that is sigma, so that few
    centers still cover the rows. It is no rule by itself, because it is nearly 0 if most rows are
    centers.

    >>> rule_sigma(2.0, n_features=2), rule_sigma(2.0, n_features=10), rule_sigma(2.0, 10, 2.0)
    (3.0, 1.2, 1.7)
    """
    width = max(NARROWEST_SIGMA, 3.0 / n_features)
    sigma = max(width * mean_neighbor_distance, 0.85 * mean_center_distance)
    if sigma == 0.0:
        raise ValueError(
            "The mean neighbor distance is 0, so the rule gives sigma = 0. Every row has "
            "n_neighbors or more copies: raise n_neighbors, or give sigma as a number."
        )
    return sigma


def paper_sigmas(mean_neighbor_distance: float) -> FloatArray:
    """The paper's values of sigma, ``2^i D_K`` for i = -10..10."""
    if mean_neighbor_distance == 0.0:
        raise ValueError(
            "The mean neighbor distance is 0, and so are the paper's values of sigma, its "
            "multiples. Every row has n_neighbors or more copies: raise n_neighbors, or give sigma "
            "as a number or a grid of numbers."
        )
    return np.array(PAPER_RELATIVE_SIGMAS) * mean_neighbor_distance
