"""Speed against the peers, all in one run: `make bench` writes docs/benchmarks.md.

python benchmarks/speed [--quick]
python benchmarks/speed --draw          # only redraw the pictures from the numbers on file
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import figures
import fitting
import machine
import page_figure
import scoring
import startup
from report import Section, missed, page, write

DOCS = Path(__file__).parents[2] / "docs"
PAGE, IMAGES = DOCS / "benchmarks.md", DOCS / "images"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--quick", action="store_true", help="a smaller run, only printed, in under three minutes"
    )
    parser.add_argument("--draw", action="store_true", help="redraw the pictures; measure nothing")
    parser.add_argument("--curves", action="store_true", help="measure and draw the curves only")
    asked = parser.parse_args()
    quick = asked.quick
    if asked.curves:
        figures.draw_all(IMAGES, repeats=3)
        return
    if asked.draw:
        page_figure.draw(PAGE, IMAGES / "speed.png")
        if (IMAGES / figures.NUMBERS).exists():
            figures.draw(IMAGES)
        return
    repeats, n_points = 5, 20_000 if quick else scoring.N_POINTS
    sections: dict[str, Callable[[], Section]] = {
        "batches": lambda: scoring.batches(repeats, n_points, n_threads=2),
        "batches, one thread": lambda: scoring.batches(repeats, n_points, n_threads=1),
        "single rows": lambda: scoring.single_rows(repeats),
        "limit": lambda: scoring.share_of_limit(repeats, 4 * n_points),
        "solve": lambda: fitting.one_solve(*((1, 200) if quick else (5,))),
        "grid": lambda: fitting.grid_and_default(1 if quick else 5),
        "growth": lambda: fitting.growth(1 if quick else 3, (10_000, 100_000)),
        **({} if quick else {"a million": lambda: fitting.a_million_rows(3)}),
        "waiting": lambda: startup.waiting(3 if quick else 5),
    }
    facts = "; ".join(f"{name} {value}" for name, value in machine.description().items())
    done = []
    for name, measure in sections.items():
        started = time.perf_counter()
        done.append(measure())
        print(f"{name}: {time.perf_counter() - started:.0f} s", flush=True)
        if not quick:  # after each section, so that a later failure loses nothing
            write(PAGE, page(_HEAD.format(facts=facts), done))
    if quick:
        print(page(f"Quick figures: {facts}.", done))
    else:
        page_figure.draw(PAGE, IMAGES / "speed.png")
        figures.draw_all(IMAGES, repeats=3)
        print(f"wrote {PAGE}")
    print("\n".join(f"missed: {line}" for line in missed(done)))


_HEAD = """
# Speed

`make bench` makes all figures in one run. This run: {facts}. A ratio is the median of ratios that
are measured side by side, because machines are noisy. `make bench-quick` prints a smaller version
in three minutes.

![Microseconds to score a row, seconds to fit](images/speed.png)

The picture shows numbers of the tables below. Further to the left is faster. The next picture shows
how times grow, with one thread each. `python benchmarks/speed --curves` measures and draws only
this picture, so it names its processor:

![Scoring and fitting time against size](images/speed_growth.png)
"""

if __name__ == "__main__":
    main()
