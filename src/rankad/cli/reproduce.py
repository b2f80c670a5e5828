"""``rankad reproduce``: the paper's tables and figures."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.markdown import Markdown

from rankad.cli import console

#: What can be asked for; the room that makes it is only imported when it is.
_NAMES = ("table1", "table2", "fig1", "fig2", "fig3", "all")
Target = StrEnum("Target", _NAMES)  # type: ignore[misc]


def reproduce(
    targets: Annotated[
        list[Target] | None, typer.Argument(help="Tables and figures; all of them by default.")
    ] = None,
    runs: Annotated[
        int | None, typer.Option(min=1, help="Random splits; by default 5, with --quick 1.")
    ] = None,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick", help="A rehearsal of some minutes: one run, fewer rows to train and test on."
        ),
    ] = False,
    jobs: Annotated[
        int, typer.Option(help="Processes, each with one thread; -1: one for each core.")
    ] = -1,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder for records, tables and figures; by default reproduction, with --quick "
            "reproduction-quick.",
            file_okay=False,
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            help="Folder of the data sets; by default RANKAD_DATA, or a download.",
            exists=True,
            file_okay=False,
        ),
    ] = None,
) -> None:
    """Remake the paper's tables and figures, by its protocol: all of them in about an hour.

    Every run is kept in records.json as soon as it is made: an interrupted reproduction goes on
    where it stopped when the same command is given again.
    """
    from rankad import datasets
    from rankad.reproduce import ReproductionError, output_folder
    from rankad.reproduce import reproduce as remake

    def kept() -> str:
        folder = output_folder(out, quick)
        if not (folder / "records.json").exists():
            return "Nothing was measured yet."
        return f"What was measured is kept in {folder}: the same command goes on from there."

    data_errors = (
        datasets.MissingDatasetError,
        datasets.CorruptDatasetError,
        datasets.DownloadError,
    )
    try:
        with console.interruptible(kept):
            made = remake(
                [str(target) for target in targets or [Target("all")]],
                runs=runs,
                quick=quick,
                n_jobs=jobs,
                out=out,
                data=data,
                verbose=True,
            )
    except (ReproductionError, *data_errors) as error:
        raise console.fail(str(error)) from None
    except OSError as error:
        named = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        raise console.fail(f"{named}. {kept()}") from error
    for path in made.files:
        if path.name == "summary.md" and console.out.is_terminal:
            console.out.print(Markdown(path.read_text(encoding="utf-8")))
    console.out.print(*made.files, sep="\n", soft_wrap=True, highlight=False)
