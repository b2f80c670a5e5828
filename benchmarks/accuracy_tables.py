"""The tables of docs/accuracy.md, each made from the results of some experiments.

A mean has its difference to a baseline: ``~+0.0012 ± 0.0009 / 0.0003`` is the mean difference with
its standard errors, over the sets and over the seeds. "~" marks a difference below two standard
errors over the sets.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from experiments import (
    DIRTY_SHARES,
    GROWTH_COLUMNS,
    GROWTH_SIZES,
    SMALL_SIZES,
    STABLE_LAWS,
)
from law_experiments import BEST_K, KINDS, ORACLES, SIZES, TRUE_DENSITY
from level_sets import SHARES
from methods import (
    ANCHOR_ALONE,
    BASE,
    DENSITY,
    ECOD,
    FOR_DIRT,
    IFOREST,
    K_LPE,
    KNN,
    LOF,
    OC_SVM,
    OF_GROWTH,
    OF_SETS,
    OUTWARD,
    OWN_DENSITY,
    RANKAD,
    ROBUST_OFF,
    TEACHER,
)
from scipy.stats import rankdata

from rankad.reproduce.markdown import format_levels, table, two_digits
from rankad.reproduce.records import FALSE_ALARMS
from rankad.reproduce.results import Results

#: Results by the experiment's name.
ByExperiment = Mapping[str, Results]

ALL_CENTERS = "RankAD, all centers"

#: With this many training rows the quarter that RankAD holds out resolves alpha = .01.
MIN_ROWS_FOR_LEVELS = 400

RANKED = (*BASE, LOF, ECOD)
OF_SUMMARY = (OUTWARD, ROBUST_OFF, FOR_DIRT, "RankAD, 400 centers", ALL_CENTERS, TEACHER)
OF_SETS_TABLE = (
    *(RANKAD, OUTWARD, "RankAD, 400 centers", ALL_CENTERS, TEACHER, KNN, DENSITY, OC_SVM),
    *(IFOREST, LOF),
)
OF_RANKING = (
    *(RANKAD, ANCHOR_ALONE, "RankAD, tail", "RankAD, 3 levels"),
    *("RankAD, margin 1", "RankAD, margin 4", "RankAD, margin 16", "RankAD, K = 5"),
    *("RankAD, bagged teacher", TEACHER, OWN_DENSITY),
)
OF_CENTERS = ("RankAD, 100 centers", "RankAD, 200 centers", "RankAD, 400 centers", RANKAD)
FEW_COLUMNS = 5


def _formatted(results: Results, method: str, baseline: str, measure: str) -> str:
    """A mean, and its difference to the mean of the baseline."""
    mean = f"{results.mean(method, measure):.4f}"
    if method == baseline:
        return mean
    return f"{mean} ({results.difference(method, baseline, measure)})"


def sets_summary(of: ByExperiment) -> str:
    """One line for each method, over all sets."""
    sets = of["sets"]
    aucs = [-sets.by_set(method, "auc").round(6) for method in RANKED]
    ranks = dict(zip(RANKED, rankdata(aucs, axis=0).mean(axis=1), strict=True))
    is_large = dict(zip(sets.sets, sets.n_train() >= MIN_ROWS_FOR_LEVELS, strict=True))
    large = sets.only(lambda record: is_large[record.set])
    methods = [*BASE, *OF_SETS, *OF_SUMMARY]
    rows = [
        [
            method,
            f"{sets.mean(method, 'auc'):.4f}",
            "" if method == KNN else str(sets.difference(method, KNN, "auc")),
            f"{sets.mean(method, 'average_precision'):.3f}",
            f"{sets.mean(method, 'power'):.3f}",
            f"{ranks[method]:.1f}" if method in ranks else "",
            " / ".join(f"{large.mean(method, measure):.3f}" for measure in FALSE_ALARMS),
            two_digits(sets.median(method, "fit_seconds")),
            two_digits(sets.geometric_mean(method, "score_microseconds")),
        ]
        for method in sorted(methods, key=lambda method: -sets.mean(method, "auc"))
    ]
    heads = (
        "method",
        "AUC",
        f"difference to {KNN}",
        "average precision",
        "power at 5%",
        "mean rank",
    )
    return table([*heads, f"false alarms at {format_levels()}", "fit, s", "score, us"], rows)


def sets_by_set(of: ByExperiment) -> str:
    """AUC on each set, mean over seeds."""
    sets = of["sets"]
    columns = [sets.by_set(method, "auc") for method in OF_SETS_TABLE]
    rows = [
        [name, str(n), str(d), *(f"{column[i]:.3f}" for column in columns)]
        for i, (name, n, d) in enumerate(
            zip(sets.sets, sets.n_train(), sets.n_features(), strict=True)
        )
    ]
    means = ["**mean**", "", "", *(f"**{column.mean():.4f}**" for column in columns)]
    return table(["set", "n", "d", *OF_SETS_TABLE], [*rows, means])


def laws_summary(of: ByExperiment) -> str:
    """One line for each method, over the laws that the defaults were chosen on."""
    others = (OUTWARD, ROBUST_OFF, ALL_CENTERS, TEACHER, OWN_DENSITY)
    return _of_laws(of["laws"], [*BASE, *ORACLES, *others])


def further_summary(of: ByExperiment) -> str:
    """The same for the laws set aside first, by the number of training rows."""
    return _by_size(of["further"])


def last_summary(of: ByExperiment) -> str:
    """The same for the laws set aside last."""
    return _by_size(of["last"])


def _by_size(laws: Results) -> str:
    tables = []
    for n in SIZES:
        part = laws.only(lambda record, n=n: record.n_train == n)
        tables.append(f"n = {n:,}:\n\n{_of_laws(part, [*BASE, *ORACLES])}")
    return "\n\n".join(tables)


def _of_laws(laws: Results, methods: Sequence[str]) -> str:
    few = laws.only(lambda record: record.n_features <= FEW_COLUMNS)
    shares = [f"{100 * share:.0f}" for share in SHARES]
    rows = [
        [
            method,
            _formatted(laws, method, KNN, "auc_blurred"),
            *(f"{laws.mean(method, f'auc_{kind}'):.4f}" for kind in KINDS if kind != "blurred"),
            f"{laws.mean(method, 'power_blurred'):.3f}",
            _formatted(laws, method, KNN, "spearman"),
            f"{few.mean(method, 'spearman'):.3f}",
            " / ".join(f"{laws.mean(method, f'mass_{share}'):.3f}" for share in shares),
            " / ".join(f"{laws.median(method, f'volume_{share}'):.2f}" for share in shares),
        ]
        for method in sorted(methods, key=lambda method: -laws.mean(method, "auc_blurred"))
    ]
    levels = " / ".join(f"{share}%" for share in shares)
    heads = (
        *("method", f"AUC, blurred (difference to {KNN})", "AUC, uniform", "AUC, cluster"),
        *(
            "power at 5%, blurred",
            f"Spearman (difference to {KNN})",
            f"Spearman, at most {FEW_COLUMNS} columns",
            f"mass error, {levels}",
        ),
    )
    return table([*heads, f"volume error (median), {levels}"], rows)


def laws_by_law(of: ByExperiment) -> str:
    """AUC on blurred anomalies, and Spearman, law by law."""
    laws = of["laws"]
    by_auc, by_order = (RANKAD, KNN, BEST_K, OC_SVM, TRUE_DENSITY), (RANKAD, KNN, OC_SVM)
    columns = [
        *(laws.by_set(method, "auc_blurred") for method in by_auc),
        *(laws.by_set(method, "spearman") for method in by_order),
    ]
    rows = [[name, *(f"{column[i]:.3f}" for column in columns)] for i, name in enumerate(laws.sets)]
    means = ["**mean**", *(f"**{column.mean():.4f}**" for column in columns)]
    heads = [*(f"AUC, {method}" for method in by_auc), *(f"Spearman, {m}" for m in by_order)]
    return table(["law", *heads], [*rows, means])


def of_share(dirt: Results, share: float) -> Results:
    """The results on sets with this share of dirt."""
    return dirt.only(lambda record: record.set.endswith(f", {share:.0%}"))


def ranking_adds(of: ByExperiment) -> str:
    """The default with one thing changed: pairs, levels, margin, statistic."""
    columns = {
        "AUC, sets": (of["sets"], "auc"),
        "AUC, laws": (of["laws"], "auc_blurred"),
        "Spearman, laws": (of["laws"], "spearman"),
        "AUC, clean": (of_share(of["dirt"], 0.0), "auc"),
        "AUC, 1% dirt": (of_share(of["dirt"], 0.01), "auc"),
    }
    rows = [
        [method, *(_formatted(part, method, RANKAD, measure) for part, measure in columns.values())]
        for method in OF_RANKING
    ]
    return table(["variant", *columns], rows)


def centers(of: ByExperiment) -> str:
    """Accuracy and cost by the number of centers."""
    sets, laws = of["sets"], of["laws"]
    rows = [
        [
            f"{method} (at most 800 centers)" if method == RANKAD else method,
            _formatted(sets, method, RANKAD, "auc"),
            _formatted(laws, method, RANKAD, "auc_blurred"),
            _formatted(laws, method, RANKAD, "spearman"),
            f"{sets.mean(method, 'n_centers'):.0f}",
            two_digits(sets.geometric_mean(method, "score_microseconds")),
        ]
        for method in (*OF_CENTERS, ALL_CENTERS)
    ]
    heads = ("variant", "AUC, sets", "AUC, laws", "Spearman, laws", "centers, mean", "score, us")
    return table(heads, rows)


def growth(of: ByExperiment) -> str:
    """Accuracy by the number of centers, for growing rows and columns."""
    results = of["growth"]
    rows = []
    for n in GROWTH_SIZES:
        for d in GROWTH_COLUMNS:
            part = results.only(
                lambda record, n=n, d=d: (
                    ", n = " in record.set and (record.n_train, record.n_features) == (n, d)
                )
            )
            cells = [
                f"{part.mean(m, 'auc_blurred'):.4f} / {part.mean(m, 'spearman'):.3f}"
                for m in OF_GROWTH
            ]
            rows.append([f"laws, d = {d}", f"{n:,}", *cells])
    for name in (name for name in results.sets if name.endswith(" rows")):
        part = results.only(lambda record, name=name: record.set == name)
        set_name, n = name.removesuffix(" rows").split(", ")
        cells = [f"{part.mean(m, 'auc'):.4f}" for m in OF_GROWTH]
        rows.append([set_name, f"{int(n):,}", *cells])
    heads = [method.removeprefix("RankAD, ") for method in OF_GROWTH]
    return table(["data (laws: AUC / Spearman; sets: AUC)", "rows", *heads], rows)


def dirt(of: ByExperiment) -> str:
    """AUC by the share of anomalies among the training rows."""
    parts = [of_share(of["dirt"], share) for share in DIRTY_SHARES]
    rows = [
        [method, *(_formatted(part, method, RANKAD, "auc") for part in parts)]
        for method in (RANKAD, FOR_DIRT, ROBUST_OFF, *(m for m in BASE if m != RANKAD))
    ]
    heads = ["clean" if share == 0.0 else f"{share:.0%} dirt" for share in DIRTY_SHARES]
    return table(["method", *heads], rows)


def small(of: ByExperiment) -> str:
    """AUC by the number of training rows."""
    methods = (RANKAD, KNN, IFOREST, OC_SVM)
    rows = []
    for n in SMALL_SIZES:
        part = of["small"].only(lambda record, n=n: record.n_train == n)
        rows.append([str(n), *(_formatted(part, method, RANKAD, "auc") for method in methods)])
    return table(["rows", *methods], rows)


def scatter_ratio(stability: Results) -> float:
    """Standard deviation of RankAD's p-values divided by that of K-LPE's."""
    return stability.mean(RANKAD, "scatter") / stability.mean(K_LPE, "scatter")


def stability(of: ByExperiment) -> str:
    """Standard deviation of p-values over random states, on each set and in the mean."""
    results = of["stability"]
    ours, theirs = (results.by_set(method, "scatter") for method in (RANKAD, K_LPE))
    rows = [
        [name, f"{a:.4f}", f"{b:.4f}", f"{a / b:.2f}"]
        for name, a, b in zip(results.sets, ours, theirs, strict=True)
    ]
    is_law = np.isin(results.sets, STABLE_LAWS)
    for name, part in (("laws", is_law), ("sets", ~is_law), ("all", is_law | ~is_law)):
        a, b = ours[part].mean(), theirs[part].mean()
        rows.append([f"**{name}, mean**", f"{a:.4f}", f"{b:.4f}", f"{a / b:.2f}"])
    return table(["set", RANKAD, K_LPE, "ratio"], rows)


def fig_2(of: ByExperiment) -> str:
    """The paper's Fig. 2 in numbers."""
    results = of["fig2"]
    rows = [
        [
            method,
            _formatted(results, method, TRUE_DENSITY, "auc"),
            _formatted(results, method, OC_SVM, "spearman"),
        ]
        for method in sorted(results.methods, key=lambda method: -results.mean(method, "auc"))
    ]
    heads = (
        "method",
        f"AUC (difference to the {TRUE_DENSITY})",
        f"Spearman (difference to {OC_SVM})",
    )
    return table(heads, rows)
