"""The one typed door to numba's untyped decorator."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Compile with numba: cached on disk, without the interpreter lock, strict IEEE arithmetic."""
    return cast("Function", numba.njit(cache=True, nogil=True)(function))


def inlined(function: Function) -> Function:
    """Compile into each caller, for the innermost loops."""
    return cast("Function", numba.njit(inline="always")(function))
