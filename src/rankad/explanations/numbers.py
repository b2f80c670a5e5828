"""Numbers as texts that people read."""

from __future__ import annotations

#: Digits that are enough where no two numbers must differ.
_N_DIGITS = 4

#: Digits of a float64.
_MAX_DIGITS = 17


def told_apart(first: float, second: float) -> tuple[str, str]:
    """Both numbers, with as many digits as it takes to tell them apart.

    >>> told_apart(20240131.0, 0.123456), told_apart(0.123456, 0.123462)
    (('20240131', '0.1235'), ('0.123456', '0.123462'))
    """
    for n_digits in range(_N_DIGITS, _MAX_DIGITS + 1):
        texts = number(first, n_digits), number(second, n_digits)
        if texts[0] != texts[1]:
            break
    return texts


def number(value: float, n_digits: int = _N_DIGITS) -> str:
    """The number with so many digits, or with all digits before its point: codes stay codes."""
    n_whole = len(f"{abs(value):.0f}") if abs(value) < 1e9 else 0
    return f"{value:.{max(n_digits, n_whole)}g}"
