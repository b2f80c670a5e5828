"""Files that are written whole or not at all, and by one process at a time."""

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
except ImportError:  # not on this system
    fcntl = None  # type: ignore[assignment]

#: Errors of a full disk, an exhausted quota, or a file at its largest allowed size.
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A file that takes the place of `path` at the end, and leaves no trace after a failure.

    Folders above it are made where they are missing. Whatever happens, a full disk or an
    interruption, `path` is either absent, old, or complete. An `OSError` names `path`.
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
        # A failing write does not say of which file, and this one nobody knows.
        if error.errno is None:
            raise
        advice = ": the disk is full; free some space" if error.errno in _FULL else ""
        raise OSError(error.errno, f"{os.strerror(error.errno)}{advice}", str(path)) from error
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def sole_writer(path: Path, *, wait: bool = True) -> Iterator[None]:
    """Be the only process of this machine that works on a file, where it has locks.

    Raises
    ------
    BlockingIOError
        Where another does, and this one is not to wait for it.
    """
    if fcntl is None:
        yield
        return
    key = hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:16]
    # Beside the file a lock could not be removed without a race; in the temporary folder it may
    # stay.
    with Path(tempfile.gettempdir(), f"rankad-{key}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        yield
