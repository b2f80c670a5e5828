"""The paper's own numbers: Tables 1 and 2, and those of the text on Fig. 3."""

from dataclasses import dataclass, field
from typing import Final

#: The sets of Tables 1 and 2, in the paper's order.
SETS: Final = (
    *("annthyroid", "cover", "http", "mammography"),
    *("mulcross", "satellite", "shuttle", "smtp"),
)

#: Methods of Table 2, in the paper's order.
RANKAD, OC_SVM, BP_KNNG, AK_LPE, IFOREST, MASSAD = METHODS = (
    *("rankAD", "oc-svm", "BP-KNNG", "aK-LPE", "iForest", "massAD"),
)


@dataclass(frozen=True)
class SetCharacteristics:
    """A line of Table 1."""

    n_rows: int
    n_features: int
    anomalies: str


TABLE_1: Final[dict[str, SetCharacteristics]] = dict(
    zip(
        SETS,
        (
            SetCharacteristics(6_832, 6, "classes 1, 2 (7%)"),
            SetCharacteristics(286_048, 10, "class 4 (0.9%) vs. class 2"),
            SetCharacteristics(567_497, 3, "attack (0.4%)"),
            SetCharacteristics(11_183, 6, "class 1 (2%)"),
            SetCharacteristics(262_144, 4, "2 clusters (10%)"),
            SetCharacteristics(6_435, 36, "3 smallest classes (32%)"),
            SetCharacteristics(49_097, 9, "classes 2, 3, 5, 6, 7 (7%)"),
            SetCharacteristics(95_156, 3, "attack (0.03%)"),
        ),
        strict=True,
    )
)

_AUC = (
    (0.844, 0.681, 0.823, 0.753, 0.856, 0.789),
    (0.932, 0.869, 0.859, 0.876, 0.853, 0.895),
    (0.999, 0.998, 0.995, 0.999, 0.986, 0.995),
    (0.909, 0.863, 0.868, 0.879, 0.891, 0.701),
    (0.998, 0.970, 0.994, 0.998, 0.971, 0.998),
    (0.885, 0.774, 0.872, 0.884, 0.812, 0.692),
    (0.996, 0.975, 0.985, 0.995, 0.992, 0.992),
    (0.934, 0.751, 0.892, 0.900, 0.869, 0.859),
)

_TEST_SECONDS = (
    (0.338, 0.281, 2.171, 0.917, 1.384, 0.030),
    (1.748, 1.638, 2.185, 13.41, 7.239, 0.483),
    (0.187, 0.376, 2.391, 11.04, 5.657, 0.384),
    (0.237, 0.223, 0.281, 1.443, 1.721, 0.044),
    (2.732, 2.272, 3.772, 13.75, 7.864, 0.559),
    (0.393, 0.355, 0.776, 1.199, 1.435, 0.030),
    (1.317, 1.318, 2.404, 7.169, 4.301, 0.186),
    (1.116, 1.105, 1.912, 11.76, 5.924, 0.411),
)


def _by_set_and_method(rows: tuple[tuple[float, ...], ...]) -> dict[tuple[str, str], float]:
    return {
        (name, method): figure
        for name, row in zip(SETS, rows, strict=True)
        for method, figure in zip(METHODS, row, strict=True)
    }


#: Table 2 by set and method.
AUC: Final = _by_set_and_method(_AUC)
TEST_SECONDS: Final = _by_set_and_method(_TEST_SECONDS)


@dataclass(frozen=True)
class TestCost:
    """Numbers of the paper's text on Fig. 3.

    They are the seconds for all test points, the number of support vectors of the ranker, and the
    false-alarm rate at which every anomaly is caught.
    """

    __test__ = False

    seconds: dict[str, float]
    n_support: int
    full_power: dict[str, float] = field(default_factory=dict)


FIG_3: Final[dict[str, TestCost]] = {
    "banknote": TestCost(
        {AK_LPE: 0.078, OC_SVM: 0.02, RANKAD: 0.031},
        n_support=162,
        full_power={RANKAD: 0.2, OC_SVM: 0.7},
    ),
    "magic": TestCost({AK_LPE: 0.42, OC_SVM: 0.01, RANKAD: 0.01}, n_support=41),
}
