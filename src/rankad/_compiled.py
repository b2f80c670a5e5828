"""The one typed door to numba's untyped decorator."""

import logging
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Compile with numba: cached on disk, without the interpreter lock, strict IEEE arithmetic.

    Where no folder for the cache can be written (a read-only install without a home directory) each
    process compiles anew.
    """
    try:
        return cast("Function", numba.njit(cache=True, nogil=True)(function))
    except RuntimeError as error:  # numba's "no locator available"
        if "cannot cache" not in str(error):
            raise
    logging.getLogger("rankad").info(
        "compiled code of %s cannot be cached, so that each process compiles it anew; set "
        "NUMBA_CACHE_DIR to a folder that can be written",
        function.__module__,
    )
    return cast("Function", numba.njit(nogil=True)(function))


def inlined(function: Function) -> Function:
    """Compile into each caller, for the innermost loops."""
    return cast("Function", numba.njit(inline="always")(function))
