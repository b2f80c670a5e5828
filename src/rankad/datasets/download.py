"""Downloads that resume where they broke off, and never leave half a file under its name."""

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

#: Answers after which another attempt may succeed: time-out, too many requests, server's fault.
_PASSING_STATUSES = {408, 425, 429, *range(500, 600)}


@dataclass(frozen=True)
class RemoteFile:
    """The address of a file and, where known, its size in bytes and its SHA-256."""

    url: str
    size: int | None = None
    sha256: str | None = None


@dataclass(frozen=True)
class Patience:
    """How often to try, how long to wait between attempts (doubling), and for an answer."""

    n_attempts: int = 4
    wait_s: float = 0.5
    timeout_s: float = 30.0


class _BrokenOffError(OSError):
    """The connection ended before the file did."""


def download(remote: RemoteFile, target: Path, patience: Patience | None = None) -> Path:
    """Fetch the file to `target`, resuming from ``<target>.part`` where there is one.

    The bytes go to ``<target>.part``, which takes the name `target` only when complete and right.
    A failure leaves the part, for the next call to resume; one of the wrong size or checksum is
    deleted.

    Parameters
    ----------
    remote : RemoteFile
        What to fetch.
    target : Path
        Where to put it.
    patience : Patience, optional
        How often to try.

    Raises
    ------
    DownloadError
        If the download fails, with the address and the reason.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    with sole_writer(target):
        if not target.exists():  # another process may have brought it meanwhile
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
                    f"{remote.url} could not be downloaded in {attempt} attempts: {error}."
                ) from error
            logger.info("%s: %s; trying again", remote.url, error)
            time.sleep(patience.wait_s * 2 ** (attempt - 1))
    _verify(remote, part)
    part.replace(target)


def _may_pass(error: Exception) -> bool:
    """Whether another attempt may end better: not where the server has answered with a no."""
    return not isinstance(error, HTTPError) or error.code in _PASSING_STATUSES


def _fetch_rest(url: str, part: Path, timeout_s: float) -> None:
    """Append to the part what it lacks; raise `_BrokenOffError` where the server sends less."""
    n_have = part.stat().st_size if part.exists() else 0
    request = Request(url, headers={"Range": f"bytes={n_have}-"} if n_have else {})
    try:
        response = cast("HTTPResponse", urlopen(request, timeout=timeout_s))
    except HTTPError as error:
        with error:  # it holds the connection
            if error.code != _RANGE_NOT_SATISFIABLE or not n_have:
                raise
            if _total_size(error.headers) == n_have:  # the part was complete already
                return
            part.unlink(missing_ok=True)
            raise _BrokenOffError("the part is longer than the file, so start over") from error
    with response:
        start = _start(response) if response.status == _PARTIAL_CONTENT else 0
        if start not in (0, n_have):
            part.unlink(missing_ok=True)
            raise _BrokenOffError(f"asked from byte {n_have}, got from {start}, so start over")
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
    """First byte of a partial response, by its header ``Content-Range: bytes 5-99/100``."""
    match = re.match(r"bytes (\d+)-", response.headers.get("Content-Range", ""))
    return int(match[1]) if match else -1


def _total_size(headers: Message) -> int | None:
    """Size of the whole file, by the header ``Content-Range: bytes */100``."""
    match = re.search(r"/(\d+)$", headers.get("Content-Range", ""))
    return int(match[1]) if match else None


def _verify(remote: RemoteFile, part: Path) -> None:
    """Delete the part and raise where its size or checksum is not the known one."""
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
        raise DownloadError(f"What came from {remote.url} {fault}; it was thrown away.")
