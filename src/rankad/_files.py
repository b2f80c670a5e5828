"""Files that are written completely or not at all, by one process at a time."""

import errno
import hashlib
import os
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

#: Errors of a full disk, a full quota, or a file at its largest allowed size.
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Context with a new file that replaces ``path`` at the end, or is deleted after a failure.

    Missing folders above it are made. Even after a full disk or an interruption, ``path`` is
    absent, old or complete, but never partly written. An `OSError` names ``path``.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        with temporary.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        # The error of a write does not name the file, and the user does not know this one.
        if error.errno is None:
            raise
        advice = ": the disk is full; free some space" if error.errno in _FULL else ""
        raise OSError(error.errno, f"{os.strerror(error.errno)}{advice}", str(path)) from error
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def sole_writer(path: Path, *, wait: bool = True) -> Iterator[None]:
    """Context in which no other process on this machine is in this context for the same file.

    Systems without ``fcntl`` have no such locks: there the context does nothing.

    Raises
    ------
    BlockingIOError
        If another process is in this context and ``wait`` is False.
    """
    if fcntl is None:
        yield
        return
    key = hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:16]
    # In the temporary folder, because the lock file stays: removing it could race with another
    # process.
    with Path(tempfile.gettempdir(), f"rankad-{key}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        yield
