"""``rankad reproduce``: the paper's tables and figures."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.markdown import Markdown

from rankad.cli import console

#: The targets. They are repeated here so that rankad.reproduce is imported only when it is used.
_NAMES = ("table1", "table2", "fig1", "fig2", "fig3", "all")
Target = StrEnum("Target", _NAMES)  # type: ignore[misc]


def reproduce(
    targets: Annotated[
        list[Target] | None, typer.Argument(help="Tables and figures; by default all of them.")
    ] = None,
    runs: Annotated[
        int | None,
        typer.Option(min=1, help="Number of random splits; by default 5, with --quick 1."),
    ] = None,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick", help="A rehearsal of a few minutes: one run, fewer training and test rows."
        ),
    ] = False,
    jobs: Annotated[
        int, typer.Option(help="Number of processes, each with one thread; -1: one for each core.")
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
    """Make the paper's tables and figures by its protocol. All take half an hour to an hour.

    Each run is kept in records.json as soon as it ends. An interrupted reproduction continues where
    it stopped when the same command is given again.
    """
    from rankad import datasets
    from rankad.reproduce import ReproductionError, output_folder
    from rankad.reproduce import reproduce as remake

    def kept() -> str:
        folder = output_folder(out, quick)
        if not (folder / "records.json").exists():
            return "No run is finished yet."
        return f"The finished runs are kept in {folder}. The same command continues from there."

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
