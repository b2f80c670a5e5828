"""The form in which kernel sums are computed: units, vectors, and an expansion in arrays."""

from math import log, sqrt
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from rankad._typing import FloatArray

#: Size of a vector of numbers: 16 in float64, 32 in float32.
VECTOR_BYTES: Final = 128

#: Exponents are in powers of 2: exp(-x) = 2^-(x LOG2_E).
LOG2_E: Final = 1.0 / log(2.0)


def unit_factor(sigma: float) -> float:
    """Factor to coordinates in which the kernel ``exp(-|x - c|^2 / sigma^2)`` is 2^-|x - c|^2.

    >>> round(unit_factor(2.0) ** 2 * 4.0 / LOG2_E, 12)
    1.0
    """
    return sqrt(LOG2_E) / sigma


def lanes_of(dtype: DTypeLike) -> int:
    """Numbers in a vector.

    >>> lanes_of("float64"), lanes_of("float32")
    (16, 32)
    """
    return VECTOR_BYTES // np.dtype(dtype).itemsize


#: Number of terms that make the power exact to rounding.
N_TERMS: Final = {"float64": 11, "float32": 6}


def zero_exponent(dtype: DTypeLike) -> float:
    """The exponent x at which 2^-x is set to 0, the largest that `power_parts` takes.

    >>> zero_exponent("float64")
    1023.0
    """
    return float(1 - np.finfo(dtype).minexp)


def power_constants(dtype: DTypeLike) -> FloatArray:
    """Constants for `power_parts`: a number for rounding, 1, and coefficients c of a polynomial.

    The number for rounding is 1.5 times 2^mantissa bits. A small number added to it is rounded to
    an integer, which is in the lowest bits of the sum. The polynomial ``c_0 + c_1 r + ...`` equals
    ``(2^r - 1) / r`` at Chebyshev's points. So ``2^r - 1 = r (c_0 + c_1 r + ...)`` holds to
    rounding for ``|r| <= 1/2``.
    """
    layout = np.finfo(dtype)
    n_terms = N_TERMS[layout.dtype.name]
    points = 0.5 * np.cos(np.pi * (np.arange(n_terms) + 0.5) / n_terms)
    values = np.expm1(np.log(2.0) * points) / points
    series = np.polynomial.Chebyshev.fit(points, values, n_terms - 1, domain=[-0.5, 0.5])
    coefficients = series.convert(kind=np.polynomial.Polynomial).coef
    return np.array([1.5 * 2.0**layout.nmant, 1.0, *coefficients], dtype=dtype)


class Model(NamedTuple):
    """An expansion as the compiled functions take it, in the arithmetic of ``weights``.

    The coordinates of a row are ``(row - offset) * factor``, cut off at ``limit``. ``centers``,
    ``weights``, ``lower`` and ``upper`` are those of `CenterTiles`, and ``powers`` the
    `power_constants`. An exponent above ``cutoff`` is replaced by ``zero_exponent``, whose kernel
    is 0. ``shift`` (1, or None for nothing) is subtracted from each kernel. If the exponent of the
    nearest center is above ``far``, the score is ``floor - slope * exponent``. Else it is the sum,
    after an outward step unless ``outward`` is None.
    """

    offset: FloatArray
    factor: FloatArray
    centers: FloatArray
    weights: FloatArray
    lower: FloatArray
    upper: FloatArray
    powers: FloatArray
    shift: Any
    limit: Any
    cutoff: Any
    zero_exponent: Any
    far: Any
    floor: Any
    slope: Any
    outward: Any
