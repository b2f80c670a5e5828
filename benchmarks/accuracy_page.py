"""Tables and pictures of docs/accuracy.md, from the records of benchmarks/accuracy.py.

    python benchmarks/accuracy_page.py

Each table of the page stands between two marks, ``<!-- name -->`` and ``<!-- /name -->``, and is
written anew; the words around it are the page's own.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from accuracy import COSTS, LEFT_OUT, LEVELS, RECORDS, Cost, Record
from methods import N_CENTERS as ALL_N_CENTERS
from one_class import set_names
from pages import with_table
from records import read_records
from scipy.stats import friedmanchisquare, rankdata, studentized_range
from study import N_CENTERS, Trial
from study import RECORDS as TRIALS

DOCS = Path(__file__).parents[1] / "docs"

DEFAULT = "RankAD, 400 centers"
TEACHER = "mean k-NN, k = 5"
OWN_SEARCH = "mean k-NN, k = 5, our search"
RANKAD = tuple(f"RankAD, {n or 'all'} centers" for n in ALL_N_CENTERS)
DENSITIES = tuple(f"density sum, {f'{n} centers' if n else 'all rows'}" for n in ALL_N_CENTERS)
OTHERS = (
    *("RankAD as published", TEACHER, "mean k-NN, k = 10", "DTE-NP", "LOF", "iForest", "OC-SVM"),
    *("ECOD", "COPOD", "INNE", "K-LPE", "BP-KNNG", "massAD"),
)
METHODS = (*RANKAD, *DENSITIES, *OTHERS, OWN_SEARCH)

#: Methods whose ranks are compared: of RankAD the default, and with every row a center.
RANKED = (DEFAULT, "RankAD, all centers", "density sum, all rows", *OTHERS)

#: Whose labels would else lie over those of their neighbors.
_LABELED_BELOW = ("DTE-NP", "K-LPE", "ECOD")

#: From so many training rows on, the quarter that RankAD holds out resolves alpha = .01.
LEAST_ROWS_FOR_LEVELS = 400


class Results:
    """Records and costs of some sets, for all methods and seeds."""

    def __init__(
        self, records: Sequence[Record], costs: Sequence[Cost], sets: Sequence[str]
    ) -> None:
        self.sets = [name for name in sorted(sets) if name not in LEFT_OUT]
        self.seeds = sorted({r.seed for r in records})
        self._by_key = {(r.method, r.set, r.seed): r for r in records}
        self._costs = {(c.method, c.set): c for c in costs}
        missing = [
            (method, name)
            for method in METHODS
            for name in self.sets
            if (method, name) not in self._costs
            or any((method, name, seed) not in self._by_key for seed in self.seeds)
        ]
        if missing:
            raise SystemExit(f"Not all is measured yet: {len(missing)} are missing: {missing[:3]}")

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
        each = [self._costs[method, name].score_microseconds for name in self.sets]
        return float(np.exp(np.log(each).mean()))

    def seconds(self, method: str) -> float:
        """Seconds to fit: the median over sets."""
        return float(np.median([self._costs[method, name].fit_seconds for name in self.sets]))

    def false_alarms(self, method: str) -> list[float]:
        """Mean false alarms at each level, over the sets with rows enough to resolve it."""
        n_train = self.array(method, lambda record: record.n_train)
        is_large = n_train[:, 0] >= LEAST_ROWS_FOR_LEVELS
        return [
            float(self.array(method, lambda r, i=i: r.false_alarms[i])[is_large].mean())
            for i in range(len(LEVELS))
        ]

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
    for method in sorted(METHODS, key=results.mean_auc, reverse=True):
        cells = [
            _mean_and_deviation(results.aucs(method)),
            _mean_and_deviation(results.array(method, lambda r: r.average_precision)),
            _mean_and_deviation(results.array(method, lambda r: r.power)),
            f"{ranks[method]:.1f}" if method in ranks else "",
            " / ".join(f"{rate:.3f}" for rate in results.false_alarms(method)),
            f"{results.seconds(method):.2g}",
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
    """Mean AUC of each variant for each number of centers, and by how much it is more or less.

    Only of sets for which all variants of a group were tried, and seeds with all sets.
    """
    tables = []
    for group in dict.fromkeys(trial.group for trial in trials):
        of_group = _tried_alike([trial for trial in trials if trial.group == group])
        aucs: dict[tuple[str, int | None], list[float]] = {}
        for trial in of_group:
            aucs.setdefault((trial.variant, trial.n_centers), []).append(trial.auc)
        first = of_group[0].variant
        heads = " | ".join(f"{n or 'all'} centers" for n in N_CENTERS)
        n_seeds = len({trial.seed for trial in of_group})
        of_seeds = f"{group} ({n_seeds} seed{'s' * (n_seeds > 1)})"
        lines = [f"| {of_seeds} | {heads} |", "|---" * (len(N_CENTERS) + 1) + "|"]
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


def _tried_alike(trials: Sequence[Trial]) -> list[Trial]:
    """Trials of the sets with all variants, and of the seeds with most sets; the latest of each."""
    cells: dict[int, dict[str, dict[tuple[str, int | None], Trial]]] = {}
    for trial in trials:
        of_set = cells.setdefault(trial.seed, {}).setdefault(trial.set, {})
        of_set[trial.variant, trial.n_centers] = trial
    n_variants = max(len(of_set) for of_seed in cells.values() for of_set in of_seed.values())
    whole = {
        seed: [of_set for of_set in of_seed.values() if len(of_set) == n_variants]
        for seed, of_seed in cells.items()
    }
    n_sets = max(map(len, whole.values()))
    alike = [of_set for of_seed in whole.values() if len(of_seed) == n_sets for of_set in of_seed]
    return [trial for of_set in alike for trial in of_set.values()]


def draw_ranks(by_title: dict[str, Results], path: Path) -> None:
    """Mean ranks, each with half of Nemenyi's critical difference (5%) to both sides."""
    figure, axes = plt.subplots(1, len(by_title), figsize=(15, 6), layout="constrained")
    for axis, (title, results) in zip(axes, by_title.items(), strict=True):
        ranks = results.ranks(RANKED)
        n_methods, n_sets = ranks.shape
        quantile = float(studentized_range.ppf(0.95, n_methods, np.inf)) / np.sqrt(2.0)
        half = 0.5 * quantile * np.sqrt(n_methods * (n_methods + 1) / (6.0 * n_sets))
        means = ranks.mean(axis=1)
        for place, index in enumerate(np.argsort(means)):
            is_ours = RANKED[index].startswith("RankAD,")
            color = "#c1121f" if is_ours else "#333333"
            axis.plot(means[index], -place, "o", color=color)
            ends = (means[index] - half, means[index] + half)
            axis.plot(ends, (-place, -place), lw=1, alpha=0.35, color=color)
            axis.text(ends[1] + 0.2, -place, RANKED[index], va="center", color=color)
        chance = friedmanchisquare(*ranks).pvalue
        axis.set(yticks=[], xlim=(None, n_methods + 8), title=f"{title}; Friedman p = {chance:.1g}")
        axis.set_xlabel(f"mean rank by AUC over {n_sets} sets (1 = best)")
        axis.spines[["left", "top", "right"]].set_visible(False)
    figure.suptitle("Methods differ at 5% where their bars do not overlap (Nemenyi)")
    figure.savefig(path, dpi=130)
    plt.close(figure)


def draw_costs(results: Results, path: Path) -> None:
    """Mean AUC against microseconds per point, and against the number of centers."""
    places = [n or 1600 for n in ALL_N_CENTERS]
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
        offset = (4, -9) if method in _LABELED_BELOW else (4, 3)
        left.annotate(method, (x, y), xytext=offset, textcoords="offset points", fontsize=8)
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


def _mean_and_deviation(values: np.ndarray) -> str:
    """Mean over the sets, and the standard deviation over the seeds of that mean."""
    per_seed = values.mean(axis=0)
    return f"{per_seed.mean():.4f} ± {_deviation(per_seed):.4f}"


def _deviation(values: np.ndarray) -> float:
    return float(values.std(ddof=1)) if len(values) > 1 else 0.0


def main() -> None:
    records, costs = read_records(RECORDS, Record), read_records(COSTS, Cost)
    everywhere, chosen_on, others = (
        Results(records, costs, set_names(collection)) for collection in ("*", "adbench", "paper")
    )
    tables = {
        "summary-all": summary(everywhere),
        "summary-adbench": summary(chosen_on),
        "summary-paper": summary(others),
        "losses": losses(everywhere),
        "study": study(read_records(TRIALS, Trial)),
        "sets-rankad": by_set(everywhere, RANKAD),
        "sets-densities": by_set(everywhere, DENSITIES),
        "sets-others-1": by_set(everywhere, OTHERS[:7]),
        "sets-others-2": by_set(everywhere, OTHERS[7:]),
    }
    page = (DOCS / "accuracy.md").read_text()
    for name, table in tables.items():
        page = with_table(page, name, table)
    (DOCS / "accuracy.md").write_text(page)
    titles = {"The paper's sets": others, "ADBench's sets, on which choices were made": chosen_on}
    draw_ranks(titles, DOCS / "images" / "accuracy_ranks.png")
    draw_costs(everywhere, DOCS / "images" / "accuracy_costs.png")


if __name__ == "__main__":
    main()
