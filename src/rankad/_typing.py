"""Array types, and the one typed door to numba's untyped decorator."""

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar, cast

import numba
import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.floating[Any]]
IntArray: TypeAlias = NDArray[np.integer[Any]]

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Compile with numba: cached on disk, without the interpreter lock, strict IEEE arithmetic."""
    return cast("Function", numba.njit(cache=True, nogil=True)(function))
