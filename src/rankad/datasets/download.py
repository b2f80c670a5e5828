"""Downloads that resume after a broken connection. A file has its name only when complete."""

import hashlib
import os
import re
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from email.message import Message
from http.client import HTTPException, HTTPResponse
from math import ceil
from pathlib import Path
from typing import cast
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from rankad._files import sole_writer
from rankad._progress import logger, track
from rankad.datasets.errors import DownloadError

_CHUNK_BYTES = 2**16

_PARTIAL_CONTENT = 206
_RANGE_NOT_SATISFIABLE = 416

#: HTTP statuses after which another attempt may succeed: time-outs, too many requests, and errors
#: of the server.
_PASSING_STATUSES = {408, 425, 429, *range(500, 600)}


@dataclass(frozen=True)
class RemoteFile:
    """The address of a file and, if known, its size in bytes and its SHA-256."""

    url: str
    size: int | None = None
    sha256: str | None = None


@dataclass(frozen=True)
class Patience:
    """Number of attempts, first wait between two attempts (it doubles), and time-out, in s."""

    n_attempts: int = 4
    wait_s: float = 0.5
    timeout_s: float = 30.0


class _BrokenOffError(OSError):
    """The connection ended before the file did."""


def download(remote: RemoteFile, target: Path, patience: Patience | None = None) -> Path:
    """Fetch the file to ``target``, resuming from ``<target>.part`` if it exists.

    The bytes go to ``<target>.part``. It is renamed to ``target`` when it is complete and verified.
    After a failure the part stays, and the next call resumes from it. A part of the wrong size or
    checksum is deleted. If ``target`` exists, nothing is fetched.

    Parameters
    ----------
    remote : RemoteFile
        What to fetch.
    target : Path
        Where to put it.
    patience : Patience, optional
        How often to try, and how long to wait.

    Raises
    ------
    DownloadError
        If the download fails, with the address and the reason.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    with sole_writer(target):
        if not target.exists():  # another process may have fetched it meanwhile
            _download(remote, target, patience or Patience())
    return target


def _download(remote: RemoteFile, target: Path, patience: Patience) -> None:
    part = target.with_name(target.name + ".part")
    for attempt in range(1, patience.n_attempts + 1):
        try:
            _fetch_rest(remote.url, part, patience.timeout_s)
            break
        except (OSError, HTTPException) as error:
            if attempt == patience.n_attempts or not _may_pass(error):
                raise DownloadError(
                    f"{remote.url} could not be downloaded (attempt {attempt} of "
                    f"{patience.n_attempts}): {error}."
                ) from error
            logger.info("%s: %s. Trying again", remote.url, error)
            time.sleep(patience.wait_s * 2 ** (attempt - 1))
    _verify(remote, part)
    part.replace(target)


def _may_pass(error: Exception) -> bool:
    """Whether another attempt may succeed. It cannot if the server has refused the request."""
    return not isinstance(error, HTTPError) or error.code in _PASSING_STATUSES


def _fetch_rest(url: str, part: Path, timeout_s: float) -> None:
    """Append the missing bytes to the part; raise `_BrokenOffError` if the server sends too few."""
    n_have = part.stat().st_size if part.exists() else 0
    request = Request(url, headers={"Range": f"bytes={n_have}-"} if n_have else {})
    try:
        response = cast("HTTPResponse", urlopen(request, timeout=timeout_s))
    except HTTPError as error:
        with error:  # closes the connection
            if error.code != _RANGE_NOT_SATISFIABLE or not n_have:
                raise
            if _total_size(error.headers) == n_have:  # the part was complete already
                return
            part.unlink(missing_ok=True)
            raise _BrokenOffError("the part was longer than the file and was deleted") from error
    with response:
        start = _start(response) if response.status == _PARTIAL_CONTENT else 0
        if start not in (0, n_have):
            part.unlink(missing_ok=True)
            raise _BrokenOffError(f"the server sent from byte {start} instead of byte {n_have}")
        _append(response, part, start)


def _append(response: HTTPResponse, part: Path, start: int) -> None:
    """Write the body of the response to the part, from byte `start` on."""
    length = response.headers.get("Content-Length")
    n_left = None if length is None else int(length)
    chunks: Iterable[bytes] = _chunks(response)
    if n_left is not None:
        label = f"downloading {response.url} in chunks of {_CHUNK_BYTES // 1024} kB"
        chunks = track(chunks, ceil(n_left / _CHUNK_BYTES), label)
    with part.open("r+b" if start else "wb") as file:
        file.seek(start)
        n_written = sum(file.write(chunk) for chunk in chunks)
        file.flush()
        os.fsync(file.fileno())
    if n_left is not None and n_written < n_left:
        raise _BrokenOffError(f"the connection broke off after {n_written} of {n_left} bytes")


def _chunks(response: HTTPResponse) -> Iterator[bytes]:
    while chunk := response.read(_CHUNK_BYTES):
        yield chunk


def _start(response: HTTPResponse) -> int:
    """First byte of a partial response, from its header ``Content-Range: bytes 5-99/100``."""
    match = re.match(r"bytes (\d+)-", response.headers.get("Content-Range", ""))
    return int(match[1]) if match else -1


def _total_size(headers: Message) -> int | None:
    """Size of the whole file, from the header ``Content-Range: bytes */100``."""
    match = re.search(r"/(\d+)$", headers.get("Content-Range", ""))
    return int(match[1]) if match else None


def _verify(remote: RemoteFile, part: Path) -> None:
    """Delete the part and raise `DownloadError` if its size or checksum is wrong."""
    size = part.stat().st_size
    fault = None
    if remote.size is not None and size != remote.size:
        fault = f"has {size} bytes, not {remote.size}"
    elif remote.sha256 is not None:
        with part.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        fault = None if found == remote.sha256 else f"has SHA-256 {found}, not {remote.sha256}"
    if fault:
        part.unlink()
        raise DownloadError(
            f"The file from {remote.url} {fault}. It was deleted. Try again later, or use another "
            "address."
        )
