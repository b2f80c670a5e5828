"""Making and keeping the runs of a benchmark."""

import signal
from collections.abc import Sequence
from pathlib import Path

from rankad._files import sole_writer
from rankad._progress import progress_shown
from rankad.reproduce.errors import ReproductionError
from rankad.reproduce.experiment import Task
from rankad.reproduce.records import Record, RecordFile
from rankad.reproduce.runner import run

FOLDER = Path(__file__).parent / "records"


def kept_runs(
    tasks: Sequence[Task], path: Path, protocol: str, n_jobs: int, *, again: bool = False
) -> list[Record]:
    """Records of the runs. The file keeps each one, so a stopped command continues.

    ``again`` makes all runs again. Records of different protocols do not mix.
    """
    # SIGTERM ends the processes too.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with sole_writer(path, wait=False), progress_shown(True):
            file = RecordFile.open(path, protocol)
            if again:
                file.forget(task.key for task in tasks)
            return run(tasks, file, n_jobs)
    except BlockingIOError:
        raise SystemExit(f"Another run writes {path}. Wait until it ends.") from None
    except ReproductionError as error:
        raise SystemExit(str(error)) from error
