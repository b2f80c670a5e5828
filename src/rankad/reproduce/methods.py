"""The methods that are compared.

All get the same rows. `rankad.reproduce.fitting` says how each of them scales its columns.
"""

from collections.abc import Callable, Iterable
from importlib.util import find_spec
from typing import Final

from rankad.baselines import BPKNNG, AveragedKLPE
from rankad.detector import RankAD
from rankad.reproduce import paper
from rankad.reproduce.fitting import (
    Method,
    by_density,
    by_ecod,
    by_forest,
    by_local_outlier_factor,
    by_mass,
    by_neighbors,
    by_one_class_svm,
    by_rankad,
    without_far_field,
)
from rankad.reproduce.protocol import Split

DEFAULT, PUBLISHED, BAYES = "RankAD", "RankAD as published", "Bayes"
OC_SVM, BP_KNNG, AK_LPE, IFOREST, MASSAD = "OC-SVM", "BP-KNNG", "aK-LPE", "iForest", "massAD"
ALL_ROWS = "RankAD, all rows"
ANCHORED, NO_ANCHOR, NO_FAR_FIELD = (
    "RankAD as published, anchored",
    "RankAD, no anchor",
    "RankAD, no far field",
)
TRAINING_RANKS = "RankAD, training ranks"
KNN, LOF, ECOD, HALVED = "mean k-NN, k = 5", "LOF", "ECOD", "aK-LPE, halved"

#: Values of nu. The first is the default of libsvm, and the column "OC-SVM" of the tables.
NUS: Final = (0.5, 0.2, 0.1, 0.05, 0.03, 0.01)
SWEEP: Final = tuple(OC_SVM if nu == NUS[0] else f"{OC_SVM}, nu = {nu:g}" for nu in NUS)

#: Methods of the paper's Table 2.
OF_PAPER: Final = (DEFAULT, PUBLISHED, OC_SVM, BP_KNNG, AK_LPE, IFOREST, MASSAD)

#: Strong methods of today, and another reading of aK-LPE.
OF_TODAY: Final = (KNN, LOF, ECOD, HALVED)

#: RankAD without one of its remedies, and RankAD with all rows to train and to calibrate.
REMEDIES: Final = (NO_ANCHOR, NO_FAR_FIELD, TRAINING_RANKS, ALL_ROWS)

_WIDTH = "kernel width by quantiles of the squared distances (Caputo et al., 2002)"

_METHODS = (
    Method(
        DEFAULT,
        "`RankAD()`: three quarters of the rows train, a quarter calibrates; at most 800 centers",
        by_rankad(RankAD),
        paper.RANKAD,
    ),
    Method(
        PUBLISHED,
        "`RankAD.as_published()`: k = 10, m = 3, 13 x 21 cells of (C, sigma), 4 folds, training "
        "ranks",
        by_rankad(RankAD.as_published),
        paper.RANKAD,
    ),
    *(
        Method(
            name,
            f"scikit-learn, nu = {nu:g}, {_WIDTH}",
            by_one_class_svm(nu),
            paper.OC_SVM if name == OC_SVM else None,
        )
        for name, nu in zip(SWEEP, NUS, strict=True)
    ),
    Method(
        BP_KNNG,
        "k = 10, sum of the ten distances; half of the rows calibrate",
        by_neighbors(BPKNNG),
        paper.BP_KNNG,
    ),
    Method(
        AK_LPE,
        "mean distance to the 10 nearest rows, eq. (7); training ranks",
        by_neighbors(
            lambda **given: AveragedKLPE(n_halvings=0, nearest=True, calibration="train", **given)
        ),
        paper.AK_LPE,
    ),
    Method(
        IFOREST,
        "scikit-learn, 100 trees of 256 rows",
        by_forest,
        paper.IFOREST,
    ),
    Method(
        MASSAD,
        "100 columns of 256 rows, level 1, ties counted; training ranks; scaling changes nothing",
        by_mass,
        paper.MASSAD,
    ),
    Method(
        KNN,
        "mean distance to the 5 nearest rows; training ranks",
        by_neighbors(
            lambda **given: AveragedKLPE(
                n_neighbors=5, n_halvings=0, nearest=True, calibration="train", **given
            )
        ),
    ),
    Method(
        LOF,
        "scikit-learn, k = 20",
        by_local_outlier_factor,
    ),
    Method(
        HALVED,
        "Qian and Saligrama (2012): neighbors 6 to 15 in random halves, 10 times",
        by_neighbors(lambda **given: AveragedKLPE(calibration="train", **given)),
    ),
    Method(
        ANCHORED,
        "`RankAD.as_published(anchor=(1, 1))`: with the anchor and its far field",
        # The margin is the step between two levels, as in the paper's loss; the default is 8.
        by_rankad(lambda **given: RankAD.as_published(anchor=(1.0, 1.0), **given)),
    ),
    Method(
        NO_ANCHOR,
        "`RankAD(anchor=0)`: no anchor and no far field",
        by_rankad(lambda **given: RankAD(anchor=0.0, **given)),
    ),
    Method(
        NO_FAR_FIELD,
        "`RankAD()` with its kernel sum alone",
        without_far_field,
    ),
    Method(
        TRAINING_RANKS,
        "`RankAD(calibration='train')`",
        by_rankad(lambda **given: RankAD(calibration="train", **given)),
    ),
    Method(
        ALL_ROWS,
        "`RankAD(calibration='cross')`: all rows train and calibrate; no guarantee",
        by_rankad(lambda **given: RankAD(calibration="cross", **given)),
    ),
    *(
        (
            Method(
                ECOD,
                "PyOD; ranks a row among the training rows and its batch (here all test rows)",
                by_ecod,
            ),
        )
        if find_spec("pyod") is not None
        else ()
    ),
)


def by_name(methods: Iterable[Method]) -> dict[str, Method]:
    """Methods in a dict, by name."""
    return {method.name: method for method in methods}


#: Every method by name; ECOD only where PyOD is installed.
METHODS: Final[dict[str, Method]] = by_name(_METHODS)


def bayes(split: Split) -> Method:
    """The detector that scores by the true density; with uniform anomalies it is the best."""
    if split.law is None:
        raise ValueError(
            "The Bayes detector needs the law of the nominal rows, and this split has none."
        )
    return Method(BAYES, "the true nominal density", by_density(split.law))


#: Methods that use the law of the test rows, which a detector cannot know.
ORACLES: Final[dict[str, Callable[[Split], Method]]] = {BAYES: bayes}
