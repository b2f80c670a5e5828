"""Targets and what was measured, printed when the page has been made."""

from dataclasses import dataclass

import numpy as np
from accuracy_tables import FEW_COLUMNS, ByExperiment, of_share, scatter_ratio
from law_experiments import TRUE_DENSITY
from methods import FOR_DIRT, IFOREST, KNN, OC_SVM, OUTWARD, RANKAD, TEACHER

from rankad.reproduce.markdown import table
from rankad.reproduce.results import Results

#: A set counts as lost at this difference in AUC to k-NN; and the most sets that may be lost.
LOSS, MAX_LOSSES = 0.02, 1


@dataclass(frozen=True)
class Check:
    """A measured figure and its target."""

    what: str
    measured: str
    target: str
    is_met: bool


def checks(of: ByExperiment) -> list[Check]:
    """All checks."""
    return [
        *on_laws(of["laws"]),
        *on_fig_2(of["fig2"]),
        *on_sets(of["sets"]),
        *on_dirt(of["dirt"]),
        on_stability(of["stability"]),
        on_costs(of["sets"]),
    ]


def on_laws(laws: Results) -> list[Check]:
    """RankAD against k-NN and the one-class SVM, on the laws that chose the defaults."""
    difference = laws.difference(RANKAD, KNN, "auc_blurred")
    by_law = laws.by_set(RANKAD, "auc_blurred") - laws.by_set(KNN, "auc_blurred")
    worst = int(np.argmin(by_law))
    few = laws.only(lambda record: record.n_features <= FEW_COLUMNS)
    in_few = few.mean(RANKAD, "spearman")
    ours, svm = (laws.mean(method, "spearman") for method in (RANKAD, OC_SVM))
    return [
        Check(
            f"laws: AUC on blurred anomalies, minus that of {KNN}",
            f"{laws.mean(RANKAD, 'auc_blurred'):.4f} ({difference})",
            ">= 0",
            difference.mean >= 0.0,
        ),
        Check(
            "the same on the worst law",
            f"{by_law[worst]:+.4f} ({laws.sets[worst]})",
            ">= -.006",
            bool(by_law[worst] >= -0.006),
        ),
        Check(
            f"laws of at most {FEW_COLUMNS} columns: Spearman with the density",
            f"{in_few:.3f}",
            ">= .95",
            in_few >= 0.95,
        ),
        Check(
            "laws: Spearman with the density", f"{ours:.3f}", f"> {OC_SVM}'s {svm:.3f}", ours > svm
        ),
    ]


def on_fig_2(results: Results) -> list[Check]:
    """RankAD on the paper's Fig. 2."""
    ours, svm, bayes = (results.mean(method, "auc") for method in (RANKAD, OC_SVM, TRUE_DENSITY))
    order = results.mean(RANKAD, "spearman")
    return [
        Check("Fig. 2: AUC", f"{ours:.4f}", f"> {OC_SVM}'s {svm:.4f}", ours > svm),
        Check("the same", f"{ours:.4f}", f">= Bayes' {bayes:.4f} - .004", ours >= bayes - 0.004),
        Check("Fig. 2: Spearman with the density", f"{order:.3f}", ">= .94", order >= 0.94),
    ]


def on_sets(sets: Results) -> list[Check]:
    """RankAD against k-NN on the real sets."""
    difference = sets.difference(RANKAD, KNN, "auc")
    outward = sets.difference(OUTWARD, KNN, "auc")
    return [
        Check(
            f"sets: AUC, minus that of {KNN}",
            f"{sets.mean(RANKAD, 'auc'):.4f} ({difference})",
            "not below by 2 standard errors",
            difference.mean >= -2.0 * difference.standard_error,
        ),
        Check(
            "the same with `outward=4`",
            f"{sets.mean(OUTWARD, 'auc'):.4f} ({outward})",
            ">= +.003",
            outward.mean >= 0.003,
        ),
        *(_losses(sets, teacher) for teacher in (KNN, TEACHER)),
    ]


def _losses(sets: Results, teacher: str) -> Check:
    """The number of sets on which RankAD is far below a neighbor statistic."""
    by_set = sets.by_set(RANKAD, "auc") - sets.by_set(teacher, "auc")
    losses = [f"{sets.sets[i]} {by_set[i]:+.3f}" for i in np.argsort(by_set) if by_set[i] < -LOSS]
    return Check(
        f"sets more than {LOSS:g} below {teacher}",
        f"{len(losses)}" + (f": {', '.join(losses)}" if losses else ""),
        f"<= {MAX_LOSSES}",
        len(losses) <= MAX_LOSSES,
    )


def on_dirt(dirt: Results) -> list[Check]:
    """RankAD with anomalies among the training rows."""
    clean, one, five = (of_share(dirt, share) for share in (0.0, 0.01, 0.05))
    by_default, at_one = (one.mean(method, "auc") for method in (RANKAD, FOR_DIRT))
    at_five, forest = (five.mean(method, "auc") for method in (FOR_DIRT, IFOREST))
    cost = clean.difference(FOR_DIRT, RANKAD, "auc")
    return [
        Check("1% dirt: AUC of the default", f"{by_default:.4f}", ">= .90", by_default >= 0.9),
        Check("1% dirt: AUC with `robust=True`", f"{at_one:.4f}", ">= .92", at_one >= 0.92),
        Check(
            "5% dirt: the same",
            f"{at_five:.4f}",
            f">= {IFOREST}'s {forest:.4f} - .02",
            at_five >= forest - 0.02,
        ),
        Check(
            "clean: the same, minus that of the default", f"{cost}", ">= -.004", cost.mean >= -0.004
        ),
    ]


def on_stability(stability: Results) -> Check:
    """Standard deviation of p-values over random states."""
    ratio = scatter_ratio(stability)
    return Check(
        "standard deviation of p-values, divided by that of K-LPE",
        f"{ratio:.2f}",
        "<= 1.3",
        ratio <= 1.3,
    )


def on_costs(sets: Results) -> Check:
    """Speed of scoring against k-NN."""
    theirs, ours = (sets.geometric_mean(m, "score_microseconds") for m in (KNN, RANKAD))
    what = f"sets: time of {KNN} to score, divided by that of RankAD"
    return Check(what, f"{theirs / ours:.1f}", ">= 5", theirs / ours >= 5.0)


def as_table(of: ByExperiment) -> str:
    """The checks as a table, one a line."""
    rows = [
        [one.what, one.measured, one.target, "yes" if one.is_met else "**no**"]
        for one in checks(of)
    ]
    return table(["what", "measured", "target", "met"], rows)
