"""The picture at the top of docs/benchmarks.md, from the numbers of the page's tables."""

import re
from pathlib import Path

import numpy as np
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rankad.plots._style import BLUE, DEFAULT, PICTURE, save_png

_BATCH, _ROW = "Scoring a batch, one thread", "Scoring one row"
_FITS = ("Fitting 2,000 rows", "Fitting more rows", "Fitting a million rows")


def draw(page: Path, path: Path) -> None:
    """Draw microseconds a row, in a batch and one by one, and seconds to fit."""
    sections = _sections(page.read_text())
    style.use(("default", PICTURE))
    figure = Figure(figsize=(9.0, 7.4), layout="constrained")
    parts = figure.subplot_mosaic([["batch", "batch"], ["row", "fit"]], height_ratios=(5, 4))
    batch = _batch(sections[_BATCH])
    _draw_times(parts["batch"], batch, "Microseconds a row")
    parts["batch"].set_title("(a) A large batch: 10 columns, one thread", loc="left")
    _draw_times(parts["row"], _single_row(sections[_ROW]), "Microseconds")
    parts["row"].set_title("(b) One row at a time, one thread", loc="left")
    _draw_fits(parts["fit"], [sections[name] for name in _FITS])
    save_png(figure, path)


def _sections(page: str) -> dict[str, str]:
    """The sections of the page that are drawn, by title."""
    texts = page.split("\n## ")[1:]
    titles = (_BATCH, _ROW, *_FITS)
    return {name: text for name in titles for text in texts if text.startswith(name)}


def _table(section: str) -> dict[str, list[float]]:
    """The numbers of a section's table, by the first cell of the line."""
    rows = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("| ")]
    return {name: [_number(cell) for cell in cells] for name, *cells in rows if _is_number(cells)}


def _is_number(cells: list[str]) -> bool:
    return all(re.match(r"[\d,.]+", cell) for cell in cells) and bool(cells)


def _number(text: str) -> float:
    """The first number of a text.

    >>> _number("1,120x")
    1120.0
    """
    return float(re.match(r"[\d,.]+", text)[0].replace(",", ""))


def _batch(section: str) -> dict[str, float]:
    """Microseconds a row of each detector: RankAD's own times, and multiples of them."""
    speeds = re.findall(r"([\d.]+) million", section)
    ours, ours_32 = (1.0 / float(speed) for speed in speeds)
    times = _table(section)
    few = np.median([ours * by[0] / by[2] for by in times.values()])
    return {
        "RankAD, 200 centers": float(few),
        "RankAD, float32": ours_32,
        "RankAD (default)": ours,
        **dict(sorted(((name, ours * by[0]) for name, by in times.items()), key=lambda x: x[1])),
    }


def _single_row(section: str) -> dict[str, float]:
    times = _table(section)
    peers = re.findall(r"`(\w+)\.\w+`\s+\(([\d,.]+) us\)", section)
    return {
        "RankAD: scorer_.score": times["score"][0],
        "RankAD: scorer_.p_value": times["p-value"][0],
        "RankAD: p_values": times["p-value with all checks, `det.p_values`"][0],
        **{name: _number(microseconds) for name, microseconds in peers},
    }


def _draw_times(ax: Axes, times: dict[str, float], x_label: str) -> None:
    """Draw one mark for each name, with its number. RankAD is blue, its default in bold."""
    for place, (name, time) in enumerate(times.items()):
        is_ours = name.startswith("RankAD")
        color, marker = (BLUE, "o") if is_ours else ("0.35", "s")
        ax.axhline(place, color="0.9", linewidth=1.0, zorder=1)
        ax.plot([time], [place], marker, color=color, markersize=9 if is_ours else 7)
        text = f"{time:,.0f}" if time >= 100 else f"{time:.3g}"
        ax.annotate(
            *(text, (time, place)),
            xytext=(9, 0),
            textcoords="offset points",
            va="center",
            fontweight="bold" if "default" in name else "normal",
        )
    ax.set_yticks(range(len(times)), list(times))
    ax.set(xscale="log", xlabel=x_label, xlim=(0.6 * min(times.values()), 4 * max(times.values())))
    ax.set_ylim(len(times) - 0.4, -0.6)
    ax.xaxis.set_major_formatter(_plain)
    ax.grid(visible=False, axis="y")
    ax.tick_params(axis="y", length=0)
    for label in ax.get_yticklabels():
        label.set_fontweight("bold" if "default" in label.get_text() else "normal")


def _draw_fits(ax: Axes, sections: list[str]) -> None:
    """Draw seconds of default fits against the number of rows, at ten columns."""
    first, growing, million = map(_table, sections)
    seconds = {2_000: first["default `RankAD().fit`"][0], 1_000_000: million["10 columns"][0]}
    seconds |= {int(_number(n)): by[0] for n, by in growing.items() if n.endswith(" rows")}
    sizes = sorted(seconds)
    ax.plot(sizes, [seconds[n] for n in sizes], **DEFAULT.line(linewidth=2.4, markersize=8))
    for n in sizes:
        ax.annotate(
            *(f"{seconds[n]:.3g} s", (n, seconds[n])),
            xytext=(9, -12),
            textcoords="offset points",
        )
    ax.set(xscale="log", yscale="log", xlabel="Rows to train on", ylabel="Seconds")
    ax.margins(x=0.3, y=0.2)
    ax.xaxis.set_major_formatter(lambda n, _: f"{n / 1e6:g}M" if n >= 1e6 else f"{n / 1e3:g}k")
    ax.yaxis.set_major_formatter(_plain)
    ax.set_title("(c) Default fits: 10 columns", loc="left")


def _plain(value: float, _: int) -> str:
    return f"{value:,.0f}" if value >= 1.0 else f"{value:g}"
