"""A file is complete, or as it was before."""

import signal
import subprocess
import sys

import pytest

from rankad._files import replacing


def test_what_is_written_takes_the_place_of_what_was_there(tmp_path):
    path = tmp_path / "folder" / "file"
    for content in (b"old", b"new"):
        with replacing(path) as file:
            file.write(content)
        assert path.read_bytes() == content
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("failure", [OSError, KeyboardInterrupt])
def test_after_a_failure_all_is_as_before(tmp_path, failure):
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def write_half() -> None:
        with replacing(path) as file:
            file.write(b"half")
            raise failure

    with pytest.raises(failure):
        write_half()
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_bytes() == b"old"


@pytest.mark.posix
def test_what_the_system_will_not_write_leaves_no_trace(tmp_path):
    """The operating system refuses to write, as on a full disk."""
    import resource

    path = tmp_path / "file"
    path.write_bytes(b"old")
    code = (
        "import sys; from pathlib import Path; from rankad._files import replacing\n"
        "with replacing(Path(sys.argv[1])) as file: file.write(bytes(100_000))"
    )

    def no_large_files():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))

    outcome = subprocess.run(
        [sys.executable, "-B", "-c", code, path],
        preexec_fn=no_large_files,
        capture_output=True,
        text=True,
    )
    assert "File too large" in outcome.stderr
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_bytes() == b"old"
