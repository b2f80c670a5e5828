"""Products with a symmetric matrix, by the BLAS routine that reads only half of the matrix.

If a kernel matrix is too large for the caches, a product takes as long as reading the matrix. So
this routine halves the time. SciPy's own function for it holds the interpreter lock. Called through
``ctypes``, at the address that SciPy gives to compiled code, the routine does not.
"""

from __future__ import annotations

import ctypes
from typing import Final

import numpy as np

from rankad._compiled import CAN_COMPILE
from rankad._typing import FloatArray

if CAN_COMPILE:
    from numba.extending import get_cython_function_address

#: ``?symv(uplo, n, alpha, A, lda, x, incx, beta, y, incy)``; all arguments are addresses.
_SYMV = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 10)

_ROUTINES: Final = {
    np.dtype(dtype): (
        _SYMV(get_cython_function_address("scipy.linalg.cython_blas", name)),
        np.array([0.0, 1.0], dtype=dtype),
    )
    for dtype, name in ((np.float64, "dsymv"), (np.float32, "ssymv"))
    if CAN_COMPILE  # numba finds the address
}


def symmetric_product(matrix: FloatArray, vector: FloatArray) -> FloatArray:
    """``matrix @ vector`` for a symmetric matrix, computed in its precision, as float64.

    >>> symmetric_product(np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([1.0, -1.0]))
    array([ 1., -2.])
    """
    if not CAN_COMPILE:
        return np.asarray(matrix @ vector.astype(matrix.dtype), dtype=np.float64)
    n = len(matrix)
    matrix = np.ascontiguousarray(matrix)
    routine, zero_and_one = _ROUTINES[matrix.dtype]
    vector = np.ascontiguousarray(vector, dtype=matrix.dtype)
    if matrix.shape != (n, n) or vector.shape != (n,):
        raise ValueError(f"Cannot multiply shapes {matrix.shape} and {vector.shape}.")
    product = np.empty_like(vector)
    size, stride, triangle = ctypes.c_int(n), ctypes.c_int(1), ctypes.c_char(b"U")
    zero = zero_and_one.ctypes.data
    routine(
        ctypes.addressof(triangle),
        ctypes.addressof(size),
        zero + zero_and_one.itemsize,
        matrix.ctypes.data,
        ctypes.addressof(size),
        vector.ctypes.data,
        ctypes.addressof(stride),
        zero,
        product.ctypes.data,
        ctypes.addressof(stride),
    )
    return product.astype(np.float64, copy=False)
