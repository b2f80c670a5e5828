import io
import logging
import os
import re
import signal
import subprocess
import sys

import pytest

from rankad import _progress
from rankad.statistics import neighbor_distances


def test_items_pass_through_and_long_work_is_reported(caplog, monkeypatch):
    monkeypatch.setattr(_progress, "_SECONDS_BETWEEN_REPORTS", 0.0)
    with caplog.at_level(logging.INFO, logger="rankad"):
        assert list(_progress.track([3, 1, 2], 3, "work")) == [3, 1, 2]
    assert [record.getMessage() for record in caplog.records] == [
        "work: 1 of 3 [######--------------] 33%, 0:00 so far, about 0:00 left",
        "work: 2 of 3 [#############-------] 67%, 0:00 so far, about 0:00 left",
        "work: 3 of 3 [####################] 100%, 0:00 so far, about 0:00 left",
    ]


def test_short_work_is_silent(caplog):
    with caplog.at_level(logging.INFO, logger="rankad"):
        list(_progress.track(range(5), 5, "work"))
    assert not caplog.records


def test_a_step_of_what_is_shown_is_quiet(caplog, monkeypatch):
    monkeypatch.setattr(_progress, "_SECONDS_BETWEEN_REPORTS", 0.0)

    def steps():
        for _ in range(2):
            with _progress.quiet():
                list(_progress.track(range(5), 5, "within"))
                _progress.logger.info("also within")
                _progress.logger.warning("beware")
            yield

    with caplog.at_level(logging.INFO, logger="rankad"):
        list(_progress.track(steps(), 2, "work"))
        assert _progress.logger.level == logging.INFO
    messages = [record.getMessage().split(":")[0] for record in caplog.records]
    assert messages == ["beware", "work", "beware", "work"]


FITS = """
import numpy as np
from rankad import RankAD
rows = np.random.default_rng(0).normal(size=(100, 2))
for verbose in {verbosities}:
    RankAD(verbose=verbose, random_state=0).fit(rows)
"""


def run(*verbosities):
    command = [sys.executable, "-c", FITS.format(verbosities=verbosities)]
    return subprocess.run(command, capture_output=True, text=True, check=True)


def test_nothing_is_printed_unless_asked():
    output = run(False, False)
    assert output.stdout == output.stderr == ""


def test_verbose_reports_on_standard_error_and_only_while_asked():
    output = run(True, False)
    assert output.stdout == ""
    assert output.stderr.count("[rankad] ranking 75 rows of 2 columns") == 1
    assert "\r" not in output.stderr


TRACKED = """
import signal, sys, time
from rankad import _progress, _threads
signal.signal(signal.SIGINT, signal.default_int_handler)
_progress._SECONDS_BETWEEN_REPORTS = {seconds}
_progress._SECONDS_BETWEEN_DRAWINGS = 0.0
with _progress.progress_shown({verbose}):
    for item in _progress.track(range(4), 4, "work"):
        {body}
print("after", file=sys.stderr)
"""


def on_terminal(body="pass", *, verbose=True, seconds=0.0, interrupt=False):
    """What a script writes to standard error if that is a terminal."""
    ours, theirs = pytest.importorskip("pty").openpty()
    code = TRACKED.format(body=body, verbose=verbose, seconds=seconds)
    process = subprocess.Popen([sys.executable, "-c", code], stderr=theirs)
    os.close(theirs)
    output = b""
    while True:
        try:
            part = os.read(ours, 4096)
        except OSError:  # on Linux this means that the other end is closed
            break
        if not part:
            break
        output += part
        if interrupt and b"2 of 4" in output:
            process.send_signal(signal.SIGINT)
            interrupt = False
    process.wait()
    os.close(ours)
    return output.decode().replace("\r\n", "\n")


def test_a_terminal_has_one_line_drawn_again_and_again():
    lines = on_terminal().split("\n")
    assert lines[1:] == ["after", ""]
    drawings = lines[0].split("\r\x1b[K")
    assert [re.search(r"(\d)+ of 4", drawing)[0] for drawing in drawings[1:]] == [
        f"{done} of 4" for done in (1, 2, 3, 4)
    ]
    assert drawings[2].startswith("[rankad] work: 2 of 4 [##########----------] 50%, 0:00 so far")
    assert all(len(drawing) <= 79 for drawing in drawings)


@pytest.mark.parametrize("options", [{"verbose": False}, {"seconds": 60.0}])
def test_a_terminal_shows_nothing_unasked_or_of_short_work(options):
    assert on_terminal(**options) == "after\n"


def test_log_lines_take_the_place_of_the_bar():
    output = on_terminal("_progress.logger.info('news %d', item)")
    assert "\x1b[K[rankad] news 2\n" in output
    assert output.endswith("after\n")


def test_an_error_starts_on_a_line_of_its_own():
    output = on_terminal("assert item < 2")
    assert "2 of 4" in output
    assert "\nTraceback" in output


def test_an_interruption_starts_on_a_line_of_its_own():
    output = on_terminal("time.sleep(0.0 if item < 2 else 60.0)", interrupt=True)
    assert "2 of 4" in output
    assert "\nTraceback" in output
    assert "KeyboardInterrupt" in output


def test_work_within_work_draws_no_bar_of_its_own():
    output = on_terminal("list(_progress.track(range(9), 9, 'inner'))")
    assert "inner" not in output
    assert "4 of 4" in output


def test_work_within_work_draws_nothing_in_threads_either():
    inner = "lambda n: _progress.track(range(n), n, 'inner')"
    output = on_terminal(f"list(_threads.in_threads({inner}, [9, 9, 9], 2))")
    assert "inner" not in output
    assert "4 of 4" in output


def test_items_may_be_left_early(monkeypatch):
    monkeypatch.setattr(_progress, "_SECONDS_BETWEEN_REPORTS", 0.0)
    stream = io.StringIO()
    terminal = _progress._Terminal(stream)
    tracked = _progress._drawn(range(9), 9, "work", terminal)
    assert [next(tracked), next(tracked)] == [0, 1]
    assert terminal.is_taken
    tracked.close()
    assert not terminal.is_taken
    assert re.fullmatch(r"\r\x1b\[K\[rankad\] work: 1 of 9 .* left\n", stream.getvalue())


def test_a_long_neighbor_search_is_tracked(caplog, monkeypatch, rng):
    monkeypatch.setattr(_progress, "_SECONDS_BETWEEN_REPORTS", 0.0)
    monkeypatch.setattr("rankad.statistics.search._CHUNK_QUERIES", 30)
    with caplog.at_level(logging.INFO, logger="rankad"):
        neighbor_distances(rng.normal(size=(100, 5)), 3)
    assert [record.getMessage()[:20] for record in caplog.records] == ["ranking by neighbors"] * 4
