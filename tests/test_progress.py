import logging
import subprocess
import sys

from rankad import _progress


def test_items_pass_through_and_long_work_is_reported(caplog, monkeypatch):
    monkeypatch.setattr(_progress, "_SECONDS_BETWEEN_REPORTS", 0.0)
    with caplog.at_level(logging.INFO, logger="rankad"):
        assert list(_progress.track([3, 1, 2], 3, "work")) == [3, 1, 2]
    assert [record.getMessage()[:12] for record in caplog.records] == [
        "work: 1 of 3",
        "work: 2 of 3",
        "work: 3 of 3",
    ]


def test_short_work_is_silent(caplog):
    with caplog.at_level(logging.INFO, logger="rankad"):
        list(_progress.track(range(5), 5, "work"))
    assert not caplog.records


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
