"""Parts of tables in Markdown."""

from collections.abc import Iterable, Sequence
from math import floor, log10

from rankad._typing import FloatArray
from rankad.reproduce.records import ALPHAS


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table, one line for each row.

    >>> print(table(["set", "AUC"], [["cover", "0.94"]]))
    | set | AUC |
    |---|---|
    | cover | 0.94 |

    Raises
    ------
    ValueError
        If a row has more or fewer cells than the head.
    """
    lines = [_line(heads), "|" + "---|" * len(heads)]
    for cells in rows:
        if len(cells) != len(heads):
            raise ValueError(f"The row {list(cells)} needs one cell for each of {list(heads)}.")
        lines.append(_line(cells))
    return "\n".join(lines)


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def mean_and_deviation(values: FloatArray) -> str:
    """Mean ± standard deviation; only the mean for one run.

    >>> import numpy as np
    >>> mean_and_deviation(np.array([0.8, 0.9])), mean_and_deviation(np.array([0.8]))
    ('0.850 ± 0.071', '0.800')
    """
    mean = f"{values.mean():.3f}"
    return f"{mean} ± {values.std(ddof=1):.3f}" if len(values) > 1 else mean


def format_rates(rates: FloatArray) -> str:
    """False-alarm rates with three decimals.

    >>> import numpy as np
    >>> format_rates(np.array([0.01, 0.05, 0.1]))
    '0.010 / 0.050 / 0.100'
    """
    return " / ".join(f"{rate:.3f}" for rate in rates)


def format_levels() -> str:
    """The alphas at which false alarms are counted."""
    return " / ".join(f"{alpha:g}" for alpha in ALPHAS)


def two_digits(value: float) -> str:
    """A positive number with at least two significant digits, without an exponent.

    >>> two_digits(0.0012345), two_digits(1.26), two_digits(421.3)
    ('0.0012', '1.3', '421')
    """
    decimals = max(1 - floor(log10(value)), 0) if value > 0.0 else 0
    return f"{value:.{decimals}f}"


def format_runs(n_runs: int) -> str:
    """A number of runs in words.

    >>> format_runs(1), format_runs(5)
    ('1 run', '5 runs')
    """
    return f"{n_runs} run{'s' * (n_runs != 1)}"
