"""The command ``rankad reproduce``, as it is typed."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from rankad import __version__, datasets
from rankad.cli.app import app
from rankad.cli.reproduce import Target
from rankad.reproduce import TARGETS, protocol, read_records

COMMAND = [sys.executable, "-m", "rankad.cli"]


def run(*arguments, **options):
    return CliRunner().invoke(app, [*arguments], env={"COLUMNS": "200"}, **options)


def test_help_and_version():
    assert run("--version").output == f"rankad {__version__}\n"
    text = run("reproduce", "--help").output
    for option in ("--runs", "--quick", "--jobs", "--out", "--data", "[table1|table2"):
        assert option in text
    assert "reproduce" in run("--help").output


def test_a_figure_is_made_and_reported(tmp_path):
    outcome = run("reproduce", "fig1", "--out", str(tmp_path / "out"))
    assert outcome.exit_code == 0
    files = [tmp_path / "out" / name for name in ("fig1.png", "fig1.svg")]
    assert outcome.stdout.split() == [str(path) for path in files]
    assert all(path.stat().st_size > 10_000 for path in files)


@pytest.mark.parametrize("arguments", [("fig9",), ("fig1", "--runs", "0"), ("--rans", "3")])
def test_what_makes_no_sense_is_refused(arguments, tmp_path):
    outcome = run("reproduce", *arguments, "--out", str(tmp_path / "out"))
    assert outcome.exit_code == 2
    assert not (tmp_path / "out").exists()


def test_a_missing_data_folder_is_a_message(tmp_path):
    outcome = run("reproduce", "fig3", "--out", str(tmp_path), "--data", str(tmp_path / "none"))
    assert outcome.exit_code == 2
    assert "--data" in outcome.stderr
    assert "does not exist" in outcome.stderr
    assert list(tmp_path.iterdir()) == []


def test_missing_data_files_are_reported_all_at_once(tmp_path, monkeypatch):
    def not_to_be_had(name, folder, **options):
        raise datasets.DownloadError(f"The data set {name!r} could not be downloaded.")

    monkeypatch.setattr(datasets, "load", not_to_be_had)
    protocol.load.cache_clear()
    out = tmp_path / "out"
    outcome = run("reproduce", "fig3", "--out", str(out))
    assert outcome.exit_code == 1
    assert "2 data sets are missing: banknote, magic. Put each as <name>.npz" in outcome.stderr
    assert "--data or RANKAD_DATA" in outcome.stderr
    assert "The data set 'banknote' could not be downloaded." in outcome.stderr
    assert not out.exists()


def test_a_damaged_data_file_is_a_message(tmp_path):
    (tmp_path / "banknote.npz").write_bytes(b"not an archive")
    out = tmp_path / "out"
    outcome = run("reproduce", "fig3", "--out", str(out), "--data", str(tmp_path))
    assert outcome.exit_code == 1
    assert "banknote.npz is not usable" in outcome.stderr
    assert not out.exists()


def test_a_file_in_place_of_the_folder_is_a_message(tmp_path):
    (tmp_path / "out").write_text("a file")
    outcome = run("reproduce", "fig1", "--out", str(tmp_path / "out"))
    assert outcome.exit_code == 2
    assert "is a file" in outcome.output


def with_limit(n_bytes, *arguments):
    """Run the command while the system refuses to write larger files: as good as a full disk."""
    import resource

    def no_large_files():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, n_bytes))

    return subprocess.run(
        [*COMMAND, "reproduce", *arguments],
        preexec_fn=no_large_files,
        capture_output=True,
        text=True,
    )


@pytest.mark.posix
def test_a_full_disk_is_a_message_and_leaves_nothing_half_written(tmp_path):
    run("reproduce", "fig1", "--out", str(tmp_path / "whole"))  # what compiles is then kept already
    out = tmp_path / "out"
    outcome = with_limit(20_000, "fig1", "--out", out)
    assert outcome.returncode == 1
    assert "[rankad] writing fig1" in outcome.stderr
    message = outcome.stderr.split("Error: ")[1]
    assert message.startswith(f"{out / 'fig1.png'}: File too large: the disk is full; free some")
    assert "No run is finished yet." in message
    assert not out.exists()


@pytest.mark.posix
@pytest.mark.slow
def test_a_disk_that_fills_up_leaves_the_records_that_fit(tmp_path):
    arguments = ("fig2", "--quick", "--jobs", "1", "--out", str(tmp_path))
    outcome = with_limit(5_000, *arguments)
    assert outcome.returncode == 1
    assert "records.json: File too large" in outcome.stderr
    assert "The same command continues from there" in outcome.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["records.json"]
    n_kept = len(read_records(tmp_path / "records.json"))
    assert 0 < n_kept < 10
    assert run("reproduce", *arguments).exit_code == 0
    assert len(read_records(tmp_path / "records.json")) == 10


@pytest.mark.posix
@pytest.mark.parametrize("where", ["/proc/nowhere", "/dev/null/out"])
def test_a_folder_that_cannot_be_written_is_reported_first(where):
    outcome = run("reproduce", "fig2", "--out", where)
    assert outcome.exit_code == 1
    assert outcome.stderr.startswith("Error: /")
    assert "No run is finished yet." in outcome.stderr
    assert "reading" not in outcome.stderr


def test_no_processes_is_a_message(tmp_path):
    outcome = run("reproduce", "fig2", "--jobs", "0", "--out", str(tmp_path / "out"))
    assert outcome.exit_code == 1
    assert "n_jobs=0 is no process" in outcome.stderr


def test_the_names_are_those_of_the_tables_and_figures():
    assert [*Target] == [*TARGETS, "all"]


@pytest.mark.posix
@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_says_so_and_goes_on_when_called_again(tmp_path, number):
    command = [*COMMAND, "reproduce", "fig2", "--quick", "--jobs", "2", "--out", str(tmp_path)]
    records = tmp_path / "records.json"
    started = subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, start_new_session=True, preexec_fn=may_stop
    )
    wait_for(records)
    os.killpg(started.pid, number)  # as a terminal does
    _, errors = started.communicate(timeout=60)
    assert started.returncode == 130
    assert "Interrupted. The finished runs are kept in" in errors
    assert "Traceback" not in errors
    assert [path.name for path in tmp_path.iterdir()] == ["records.json"]
    kept = json.loads(records.read_text())["records"]
    assert 0 < len(kept) < 10
    subprocess.run(command, check=True, capture_output=True)
    whole = json.loads(records.read_text())["records"]
    assert whole[: len(kept)] == kept
    assert len(whole) == 10
    assert (tmp_path / "fig2.png").exists()


def may_stop():
    """A shell starts background processes so that they ignore the interrupt: undo that."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def wait_for(path: Path) -> None:
    deadline = time.monotonic() + 120
    while not path.exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_without_typer_the_command_says_what_to_install(monkeypatch):
    from rankad import cli

    monkeypatch.setitem(sys.modules, "typer", None)
    for name in [name for name in sys.modules if name.startswith("rankad.cli.")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(SystemExit, match=r"needs typer. Install it: pip install 'rankad\[cli\]'"):
        cli.main()
