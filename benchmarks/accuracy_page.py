"""Tables and pictures of docs/accuracy.md, from the records of benchmarks/accuracy.py.

    python benchmarks/accuracy_page.py

Each table of the page stands between two marks, ``<!-- name -->`` and ``<!-- /name -->``, and is
written anew; the words around it are the page's own.
"""

import re
from collections.abc import Callable, Sequence
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from accuracy import LEVELS, RECORDS, Record, read_lines
from one_class import set_names
from scipy.stats import rankdata, studentized_range
from study import N_CENTERS, Trial
from study import RECORDS as TRIALS

DOCS = Path(__file__).parents[1] / "docs"

DEFAULT = "RankAD, 400 centers"
TEACHER = "mean k-NN, k = 5"
OWN_SEARCH = "mean k-NN, k = 5, our search"
RANKAD = tuple(f"RankAD, {n} centers" for n in (25, 50, 100, 200, 400, 800, "all"))
DENSITIES = (
    *(f"density sum, {n} centers" for n in (25, 50, 100, 200, 400, 800)),
    "density sum, all rows",
)
OTHERS = (
    *("RankAD as published", TEACHER, "mean k-NN, k = 10", "DTE-NP", "LOF", "iForest", "OC-SVM"),
    *("ECOD", "COPOD", "INNE", "K-LPE", "BP-KNNG", "massAD"),
)
#: Methods of the ranking: those that differ in more than the number of centers.
RANKED = ("RankAD, 100 centers", DEFAULT, "RankAD, all centers", "density sum, all rows", *OTHERS)


class Results:
    """Records by method, set and seed; only what all methods have done."""

    def __init__(self, records: Sequence[Record]) -> None:
        self._by_key = {(r.method, r.set, r.seed): r for r in records}
        methods = (*RANKAD, *DENSITIES, *OTHERS, OWN_SEARCH)
        cells = {(r.set, r.seed) for r in records}
        whole = {cell for cell in cells if all((m, *cell) in self._by_key for m in methods)}
        self.seeds = sorted({seed for _, seed in whole})
        self.sets = sorted({name for name, _ in whole})
        if not whole or len(whole) != len(self.seeds) * len(self.sets):
            raise SystemExit(f"Not every set has the same seeds yet: {len(whole)} are whole.")

    def array(self, method: str, quantity: Callable[[Record], float]) -> np.ndarray:
        """A quantity of a method, shape ``(n_sets, n_seeds)``."""
        return np.array(
            [[quantity(self._by_key[method, s, seed]) for seed in self.seeds] for s in self.sets]
        )

    def aucs(self, method: str) -> np.ndarray:
        """AUC of a method, shape ``(n_sets, n_seeds)``."""
        return self.array(method, lambda record: record.auc)

    def mean_auc(self, method: str) -> float:
        """AUC of a method, over sets and seeds."""
        return float(self.aucs(method).mean())

    def microseconds(self, method: str) -> float:
        """Microseconds to score a point: the geometric mean over sets."""
        per_set = np.median(self.array(method, lambda record: record.score_microseconds), axis=1)
        return float(np.exp(np.log(per_set).mean()))

    def ranks(self, methods: Sequence[str]) -> np.ndarray:
        """Rank of each method on each set by mean AUC, 1 the best, shape ``(methods, sets)``."""
        return rankdata([-self.aucs(method).mean(axis=1).round(6) for method in methods], axis=0)


def summary(results: Results) -> str:
    """One line for each method, over all sets."""
    ranks = dict(zip(RANKED, results.ranks(RANKED).mean(axis=1), strict=True))
    lines = [
        "| method | AUC | average precision | power at 5% | mean rank | false alarms at "
        + " / ".join(f"{alpha:g}" for alpha in LEVELS)
        + " | fit, s | score, us |",
        "|---|---|---|---|---|---|---|---|",
    ]
    methods = (*RANKAD, *DENSITIES, *OTHERS, OWN_SEARCH)
    for method in sorted(methods, key=results.mean_auc, reverse=True):
        cells = [
            _mean_and_deviation(results.aucs(method)),
            _mean_and_deviation(results.array(method, lambda r: r.average_precision)),
            _mean_and_deviation(results.array(method, lambda r: r.power)),
            f"{ranks[method]:.1f}" if method in ranks else "",
            " / ".join(
                f"{results.array(method, lambda r, i=i: r.false_alarms[i]).mean():.3f}"
                for i in range(len(LEVELS))
            ),
            f"{np.median(results.array(method, lambda r: r.fit_seconds)):.2g}",
            f"{results.microseconds(method):.2g}",
        ]
        lines.append(f"| {method} | {' | '.join(cells)} |")
    return "\n".join(lines)


def by_set(results: Results, methods: Sequence[str]) -> str:
    """AUC on each set, with its standard deviation over the seeds."""
    heads = [method.removesuffix(" centers") for method in methods]
    lines = [f"| set | {' | '.join(heads)} |", "|---" * (len(methods) + 1) + "|"]
    for index, name in enumerate(results.sets):
        cells = []
        for method in methods:
            aucs = results.aucs(method)[index]
            cells.append(f"{aucs.mean():.3f} ± {_deviation(aucs):.3f}")
        lines.append(f"| {name} | {' | '.join(cells)} |")
    means = " | ".join(f"**{results.mean_auc(method):.4f}**" for method in methods)
    return "\n".join([*lines, f"| **mean** | {means} |"])


def losses(results: Results) -> str:
    """Where the default is further below its teacher than .005, the worst first."""
    heads = ("set", "RankAD", TEACHER, "difference", "RankAD, all centers", "density, 400 centers")
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    columns = (DEFAULT, TEACHER, RANKAD[-1], "density sum, 400 centers")
    ours, teacher, of_all, density = (results.aucs(method).mean(axis=1) for method in columns)
    for i in np.argsort(ours - teacher):
        if ours[i] - teacher[i] < -0.005:
            figures = (ours[i], teacher[i], ours[i] - teacher[i], of_all[i], density[i])
            lines.append(
                f"| {results.sets[i]} | " + " | ".join(f"{figure:.3f}" for figure in figures) + " |"
            )
    return "\n".join(lines)


def study(trials: Sequence[Trial]) -> str:
    """Mean AUC of each variant for each number of centers, and by how much it is more or less."""
    tables = []
    for group in dict.fromkeys(trial.group for trial in trials):
        of_group = [trial for trial in trials if trial.group == group]
        aucs: dict[tuple[str, int | None], list[float]] = {}
        for trial in of_group:
            aucs.setdefault((trial.variant, trial.n_centers), []).append(trial.auc)
        first = of_group[0].variant
        heads = " | ".join(f"{n or 'all'} centers" for n in N_CENTERS)
        lines = [f"| {group} | {heads} |", "|---" * (len(N_CENTERS) + 1) + "|"]
        for variant in dict.fromkeys(trial.variant for trial in of_group):
            cells = []
            for n in N_CENTERS:
                if (variant, n) not in aucs:
                    cells.append("")
                    continue
                mean = float(np.mean(aucs[variant, n]))
                gain = mean - float(np.mean(aucs[first, n]))
                cells.append(f"{mean:.4f}" + (f" ({gain:+.4f})" if variant != first else ""))
            lines.append(f"| {variant} | {' | '.join(cells)} |")
        tables.append("\n".join(lines))
    return "\n\n".join(tables)


def draw_ranks(results: Results, path: Path) -> None:
    """Mean ranks, and bars over those that the sets do not tell apart (Nemenyi's test, 5%)."""
    ranks = results.ranks(RANKED).mean(axis=1)
    n_methods, n_sets = len(RANKED), len(results.sets)
    quantile = float(studentized_range.ppf(0.95, n_methods, np.inf)) / np.sqrt(2.0)
    critical = quantile * np.sqrt(n_methods * (n_methods + 1) / (6.0 * n_sets))
    order = np.argsort(ranks)
    figure, axis = plt.subplots(figsize=(10, 6), layout="constrained")
    for place, index in enumerate(order):
        name = RANKED[index]
        is_ours = name.startswith("RankAD,")
        style = {"color": "#c1121f" if is_ours else "#333333"}
        axis.plot(ranks[index], -place, "o", **style)
        axis.text(ranks[index] + 0.15, -place, name, va="center", **style)
        axis.plot(
            [ranks[index] - critical / 2, ranks[index] + critical / 2],
            [-place] * 2,
            lw=1,
            alpha=0.35,
            **style,
        )
    axis.set(
        yticks=[],
        xlabel=f"mean rank by AUC over {n_sets} sets (1 = best)",
        title="Two methods differ at 5% where their bars do not overlap (Nemenyi)",
    )
    axis.spines[["left", "top", "right"]].set_visible(False)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def draw_costs(results: Results, path: Path) -> None:
    """Mean AUC against microseconds per point, and against the number of centers."""
    places = [25, 50, 100, 200, 400, 800, 1600]
    figure, (left, right) = plt.subplots(1, 2, figsize=(13, 5.5), layout="constrained")
    for methods, style in (
        (RANKAD, {"color": "#c1121f", "marker": "o", "lw": 2, "label": "RankAD"}),
        (DENSITIES, {"color": "#457b9d", "marker": "s", "ls": "--", "label": "density sum"}),
    ):
        aucs = [results.mean_auc(method) for method in methods]
        left.plot([results.microseconds(method) for method in methods], aucs, **style)
        right.plot(places, aucs, **style)
    for method in OTHERS:
        x, y = results.microseconds(method), results.mean_auc(method)
        left.plot(x, y, "o", ms=4, color="#333333")
        left.annotate(method, (x, y), xytext=(4, 3), textcoords="offset points", fontsize=8)
    for method, style in ((TEACHER, "-"), ("mean k-NN, k = 10", ":")):
        right.axhline(results.mean_auc(method), color="#333333", lw=1, ls=style, label=method)
    left.set(xscale="log", xlabel="microseconds per point, one thread", ylabel="mean AUC")
    right.set(xscale="log", xlabel="centers", ylabel="mean AUC")
    right.set_xticks(
        [25, 50, 100, 200, 400, 800, 1600], [*["25", "50", "100", "200", "400", "800", "all"]]
    )
    right.minorticks_off()
    for axis in (left, right):
        axis.grid(alpha=0.25, lw=0.4)
        axis.spines[["top", "right"]].set_visible(False)
        axis.legend(loc="lower right", frameon=False)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def with_table(page: str, name: str, table: str) -> str:
    """The page with the table of that name in place of the one that stood there."""
    between = re.compile(f"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
    if not between.search(page):
        raise SystemExit(f"The page has no place for the table {name!r}.")
    return between.sub(lambda match: f"{match[1]}\n{table}\n\n{match[2]}", page)


def _mean_and_deviation(values: np.ndarray) -> str:
    """Mean over the sets, and the standard deviation over the seeds of that mean."""
    per_seed = values.mean(axis=0)
    return f"{per_seed.mean():.4f} ± {_deviation(per_seed):.4f}"


def _deviation(values: np.ndarray) -> float:
    return float(values.std(ddof=1)) if len(values) > 1 else 0.0


def main() -> None:
    records = read_lines(RECORDS, Record)
    everywhere = Results(records)
    for_choosing = set(set_names("adbench"))
    page = (DOCS / "accuracy.md").read_text()
    for name, results in (
        ("all", everywhere),
        ("adbench", Results([r for r in records if r.set in for_choosing])),
        ("paper", Results([r for r in records if r.set not in for_choosing])),
    ):
        page = with_table(page, f"summary-{name}", summary(results))
    page = with_table(page, "sets-rankad", by_set(everywhere, RANKAD))
    page = with_table(page, "sets-densities", by_set(everywhere, DENSITIES))
    page = with_table(page, "sets-others-1", by_set(everywhere, OTHERS[:7]))
    page = with_table(page, "sets-others-2", by_set(everywhere, OTHERS[7:]))
    page = with_table(page, "losses", losses(everywhere))
    page = with_table(page, "study", study(read_lines(TRIALS, Trial)))
    (DOCS / "accuracy.md").write_text(page)
    draw_ranks(everywhere, DOCS / "images" / "accuracy_ranks.png")
    draw_costs(everywhere, DOCS / "images" / "accuracy_costs.png")


if __name__ == "__main__":
    main()
