"""Downloads from a server on this machine."""

import hashlib
import logging
from concurrent.futures import ThreadPoolExecutor

import pytest

from rankad.datasets import DownloadError
from rankad.datasets.download import Patience, RemoteFile, download

CONTENT = bytes(range(256)) * 1200  # 300 kB, five chunks
SHA256 = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def remote(server):
    server.files["/file"] = CONTENT
    return RemoteFile(f"{server.url}/file", len(CONTENT), SHA256)


@pytest.fixture
def target(tmp_path):
    return tmp_path / "folder" / "file"


def part_of(target):
    return target.with_name("file.part")


def leave_part(target, content):
    target.parent.mkdir()
    part_of(target).write_bytes(content)


def assert_complete(target):
    assert target.read_bytes() == CONTENT
    assert list(target.parent.iterdir()) == [target]


def test_a_plain_download(server, remote, target):
    assert download(remote, target) == target
    assert_complete(target)
    assert server.ranges_asked == [None]


def test_several_at_once_download_the_file_once(server, remote, target):
    with ThreadPoolExecutor(4) as pool:
        targets = list(pool.map(lambda _: download(remote, target), range(4)))
    assert targets == [target] * 4
    assert_complete(target)
    assert server.ranges_asked == [None]


def test_an_unknown_length_and_checksum_are_taken_as_they_come(server, remote, target):
    server.states_length = False
    download(RemoteFile(remote.url), target)
    assert_complete(target)


def test_a_dropped_connection_is_resumed_where_it_broke(server, remote, target):
    server.n_answers_to_cut = 2
    download(remote, target)
    assert_complete(target)
    assert server.ranges_asked == [None, "bytes=100000-", "bytes=200000-"]


@pytest.mark.parametrize(
    "behavior", [{"honors_ranges": False}, {"shifts_ranges": True}], ids=["ignored", "shifted"]
)
@pytest.mark.parametrize("start", [b"wrong", CONTENT[:5000]], ids=["stale", "good"])
def test_a_server_that_resumes_elsewhere_makes_us_start_over(
    server, remote, target, behavior, start
):
    vars(server).update(behavior)
    leave_part(target, start)
    download(remote, target)
    assert_complete(target)


PARTS = {
    "first bytes": (CONTENT[:7], ["bytes=7-"]),
    "all bytes": (CONTENT, [f"bytes={len(CONTENT)}-"]),
    "no bytes": (b"", [None]),
    "too many bytes": (CONTENT + b"more", [f"bytes={len(CONTENT) + 4}-", None]),
}


@pytest.mark.parametrize(("part", "ranges"), PARTS.values(), ids=PARTS)
def test_an_earlier_part_is_used_where_it_can_be(server, remote, target, part, ranges):
    leave_part(target, part)
    download(remote, target)
    assert_complete(target)
    assert server.ranges_asked == ranges


FAILURES = {
    # What the server does, what we expect, the message, and the length of the part that stays.
    "not found": ({"files": {}}, {}, r"downloaded \(attempt 1 of 4\): .*404", None),
    "forbidden": ({"status": 403}, {}, r"\(attempt 1 of 4\): .*403", None),
    "server error": ({"status": 503}, {}, r"\(attempt 4 of 4\): .*503", None),
    "always cut": (
        {"n_answers_to_cut": 99, "n_bytes_before_cut": 10},
        {},
        r"\(attempt 4 of 4\): the connection broke off after 10 of 307170 bytes",
        40,
    ),
    "checksum": ({}, {"sha256": "0" * 64}, f"has SHA-256 {SHA256}, not 000", None),
    "size": ({}, {"size": 12}, "has 307200 bytes, not 12. It was deleted", None),
}


@pytest.mark.parametrize(
    ("behavior", "expected", "message", "n_kept"), FAILURES.values(), ids=FAILURES
)
def test_a_failure_is_clear_and_leaves_no_half_file(
    server, remote, target, behavior, expected, message, n_kept
):
    vars(server).update(behavior)
    with pytest.raises(DownloadError, match=message) as caught:
        download(RemoteFile(remote.url, **expected), target)
    assert remote.url in str(caught.value)
    left = {file.name: file.read_bytes() for file in target.parent.iterdir()}
    assert left == ({} if n_kept is None else {"file.part": CONTENT[:n_kept]})


def test_nobody_listening_is_a_clear_failure(refused_url, target):
    with pytest.raises(DownloadError, match=r"\(attempt 2 of 2\): .*refused"):
        download(RemoteFile(f"{refused_url}/file"), target, Patience(n_attempts=2))
    assert not list(target.parent.iterdir())


def test_a_silent_server_is_not_waited_for(server, remote, target, monkeypatch):
    monkeypatch.setattr(server, "answer", lambda request: request.rfile.read(1))
    with pytest.raises(DownloadError, match=r"\(attempt 1 of 1\): .*timed out"):
        download(remote, target, Patience(n_attempts=1, timeout_s=0.1))


def test_the_next_call_resumes_a_failed_one(server, remote, target):
    server.n_answers_to_cut = 1
    with pytest.raises(DownloadError):
        download(remote, target, Patience(n_attempts=1))
    download(remote, target)
    assert_complete(target)
    assert server.ranges_asked == [None, "bytes=100000-"]


def test_the_next_call_resumes_an_interrupted_one(server, remote, target, monkeypatch):
    def interrupted(response):
        yield response.read(1000)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("rankad.datasets.download._chunks", interrupted)
        with pytest.raises(KeyboardInterrupt):
            download(remote, target)
    assert [file.name for file in target.parent.iterdir()] == ["file.part"]
    download(remote, target)
    assert_complete(target)
    assert server.ranges_asked == [None, "bytes=1000-"]


def test_slow_downloads_and_new_attempts_are_reported(server, remote, target, caplog, monkeypatch):
    monkeypatch.setattr("rankad._progress._SECONDS_BETWEEN_REPORTS", 0.0)
    server.n_answers_to_cut = 1
    with caplog.at_level(logging.INFO, logger="rankad"):
        download(remote, target)
    assert "broke off after 100000 of 307200 bytes. Trying again" in caplog.text
    assert "in chunks of 64 kB: 1 of 4" in caplog.text


def test_waits_double_between_attempts(refused_url, target, monkeypatch):
    waits = []
    monkeypatch.setattr("rankad.datasets.download.time.sleep", waits.append)
    with pytest.raises(DownloadError):
        download(RemoteFile(refused_url), target, Patience(n_attempts=4, wait_s=0.5))
    assert waits == [0.5, 1.0, 2.0]
