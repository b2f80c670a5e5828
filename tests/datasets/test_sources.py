"""Small files in the original formats become rows and labels."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from rankad.datasets.registry import REAL_SETS
from rankad.datasets.sources import Classes

THYROID_TRAIN = b"""\
0.73 0 1 0 0 0 0 0 1 0 0 0 0 0 0 0 0.00060 0.015 0.120 0.082 0.146 3\x20
0.24 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0.00025 0.030 0.143 0.133 0.108 2\x20
"""
THYROID_TEST = b"0.47 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0.0019 0.024 0.102 0.131 0.078 1 \n"
THYROID = (THYROID_TRAIN, THYROID_TEST)
THYROID_ROWS = [
    [0.73, 0.0006, 0.015, 0.12, 0.082, 0.146],
    [0.24, 0.00025, 0.03, 0.143, 0.133, 0.108],
    [0.47, 0.0019, 0.024, 0.102, 0.131, 0.078],
]
MAGIC_ROW = [28.7967, 16.0021, 2.6449, 0.3918, 0.1982, 27.7004, 22.011, -8.2027, 40.092, 81.8828]
SATELLITE_ROW = [92 + column for column in range(36)]


def line(values, separator, label):
    return separator.join([*map(str, values), label]).encode() + b"\r\n"


TEXTS = {
    "annthyroid": (THYROID, THYROID_ROWS, [0, 1, 1]),
    "annthyroid_6832": (THYROID, [THYROID_ROWS[0], THYROID_ROWS[2]], [0, 1]),
    "banknote": (
        (b"3.6216,8.6661,-2.8073,-0.44699,0\r\n-2.5419,-0.65804,2.6842,1.1952,1",),
        [[3.6216, 8.6661, -2.8073, -0.44699], [-2.5419, -0.65804, 2.6842, 1.1952]],
        [0, 1],
    ),
    "magic": (
        (line(MAGIC_ROW, ",", "g") + line(MAGIC_ROW, ",", "h"),),
        [MAGIC_ROW, MAGIC_ROW],
        [0, 1],
    ),
    "satellite": (
        (
            b"".join(line(SATELLITE_ROW, " ", label) for label in "1234"),
            b"".join(line(SATELLITE_ROW, " ", label) for label in "57"),
        ),
        [SATELLITE_ROW] * 6,
        [0, 1, 0, 1, 1, 0],
    ),
}


@pytest.mark.parametrize("name", TEXTS)
def test_uci_text_becomes_rows(name):
    contents, X, y = TEXTS[name]
    rows = REAL_SETS[name].source.rows(contents)
    assert_array_equal(rows.X, X)
    assert_array_equal(rows.y, y)
    assert (rows.X.dtype, rows.y.dtype) == (np.float64, np.int8)


NUMBERS = np.arange(4 * 54.0).reshape(4, 54)
ARRAYS = {
    "cover": (NUMBERS, np.array([2, 4, 1, 2], dtype=np.int32), [0, 1, 3], [0, 1, 0]),
    "http": (
        NUMBERS[:3, :3].astype(object),
        np.array([b"normal.", b"back.", b"phf."], dtype=object),
        [0, 1, 2],
        [0, 1, 1],
    ),
    "smtp": (
        NUMBERS[:2, :3].astype(object),
        np.array([b"satan.", b"normal."], dtype=object),
        [0, 1],
        [1, 0],
    ),
    "mammography": (
        NUMBERS[:3, :6],
        np.array(["-1", "1", "'-1'"], dtype=object),
        [0, 1, 2],
        [0, 1, 0],
    ),
    "shuttle": (
        NUMBERS[:4, :9],
        np.array(["1", "4", "5", "7"], dtype=object),
        [0, 2, 3],
        [0, 1, 1],
    ),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_what_scikit_learn_fetches_becomes_rows(name, monkeypatch, tmp_path):
    X, labels, kept, y = ARRAYS[name]
    entry = REAL_SETS[name]
    calls = []

    def fetch(**arguments):
        calls.append(arguments)
        return X, labels

    monkeypatch.setattr(f"sklearn.datasets.{entry.source.fetcher}", fetch)
    rows = entry.source.fetch(tmp_path, "unused")
    assert_array_equal(rows.X, X[kept, : entry.n_features].astype(float))
    assert_array_equal(rows.y, y)
    assert (rows.X.dtype, rows.y.dtype) == (np.float64, np.int8)
    assert calls == [{"return_X_y": True, **entry.source.arguments}]


def test_rows_of_other_classes_are_dropped_and_none_means_all_others():
    X, labels = np.arange(3.0)[:, None], np.array(["a", "b", "c"])
    assert_array_equal(Classes(("a",), ("c",)).select(X, labels).X, [[0.0], [2.0]])
    assert_array_equal(Classes(("a",)).select(X, labels).y, [0, 1, 1])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"<html>moved</html>", "line 1 has 1 fields, not 5"),
        (b"1,2,3,4,0\n1,2,3\n", "line 2 has 3 fields, not 5"),
        (b"1,2,x,4,0\n", "could not convert string to float: .*x"),
        (b"\xff\xfe\x00binary", "line 1 has 1 fields, not 5"),
    ],
)
def test_text_of_another_format_is_refused(content, message):
    with pytest.raises(ValueError, match=message):
        REAL_SETS["banknote"].source.rows([content])
