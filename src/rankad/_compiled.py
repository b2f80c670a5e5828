"""The typed way to numba's decorators, and plain NumPy where numba cannot compile."""

import logging
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any, Final, TypeVar, cast

Function = TypeVar("Function", bound=Callable[..., Any])


def _compiled_by_numba(function: Function) -> Function:
    """Compile with numba: cached on disk, without the interpreter lock, strict IEEE arithmetic.

    A process compiles on its own if no folder for the cache can be written, for example in a
    read-only install without a home directory.
    """
    import numba

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


def _one_more(number: int) -> int:
    return number + 1


@cache  # kept, because numba does not clean up all of a function that is dropped
def _probe() -> Callable[[int], int]:
    return _compiled_by_numba(_one_more)


def _obstacle() -> str:
    """Why nothing can be compiled here; empty if a function was compiled and gave its result."""
    try:
        import numba

        if numba.config.DISABLE_JIT:
            return "NUMBA_DISABLE_JIT is set"
        return "" if _probe()(1) == 2 else "a compiled function is wrong"
    # numba and LLVM fail in many ways: not installed, another NumPy, no memory for code.
    except Exception as error:
        return f"{type(error).__name__}: {error}".splitlines()[0]


def _can_compile() -> bool:
    obstacle = _obstacle()
    if obstacle:
        warnings.warn(
            "rankad runs without compiled code, so more slowly, because numba cannot compile "
            f"here ({obstacle}). Results are the same up to rounding. Install a numba that fits "
            "this NumPy, and unset NUMBA_DISABLE_JIT.",
            stacklevel=2,
        )
    return not obstacle


#: Whether numba compiles here. It is tried once for each process.
CAN_COMPILE: Final = _can_compile()


def compiled(function: Function) -> Function:
    """Compile with numba. Where that is not possible, the function runs as it is written."""
    return _compiled_by_numba(function) if CAN_COMPILE else function


def compiled_or(plain: Function) -> Callable[[Function], Function]:
    """Compile with numba. Where that is not possible, take ``plain``, the same in NumPy."""
    return _compiled_by_numba if CAN_COMPILE else lambda _: plain


def inlined(function: Function) -> Function:
    """Compile into each caller, for the innermost loops."""
    import numba

    return cast("Function", numba.njit(inline="always")(function))
