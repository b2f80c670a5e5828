"""The typed way to numba's decorators, which have no types."""

import logging
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Compile with numba: cached on disk, without the interpreter lock, strict IEEE arithmetic.

    A process compiles on its own if no folder for the cache can be written, for example in a
    read-only install without a home directory.
    """
    try:
        return cast("Function", numba.njit(cache=True, nogil=True)(function))
    except RuntimeError as error:  # numba's "no locator available"
        if "cannot cache" not in str(error):
            raise
    logging.getLogger("rankad").info(
        "Compiled code of %s cannot be cached, so each process compiles it again. Set "
        "NUMBA_CACHE_DIR to a folder that can be written.",
        function.__module__,
    )
    return cast("Function", numba.njit(nogil=True)(function))


def inlined(function: Function) -> Function:
    """Compile into each caller, for the innermost loops."""
    return cast("Function", numba.njit(inline="always")(function))
