"""The real sets, as they are in the data folder and through their original formats."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from rankad.datasets import load, names
from rankad.datasets.registry import REAL_SETS
from rankad.datasets.sources import SklearnFetch, UciFiles

pytestmark = pytest.mark.data

TEXT_SETS = [name for name, entry in REAL_SETS.items() if isinstance(entry.source, UciFiles)]
FETCHED_SETS = [name for name, entry in REAL_SETS.items() if isinstance(entry.source, SklearnFetch)]
OTHER_CLASS = {"annthyroid_6832": "2", "cover": "7", "shuttle": "4"}


@pytest.mark.parametrize("name", names())
def test_each_set_loads_with_its_story(name, real_set):
    data, entry = real_set(name), REAL_SETS[name]
    assert data.X.shape == (entry.n_rows, entry.n_features)
    assert data.anomalies.shape == (entry.n_anomalies, entry.n_features)
    assert data.nominal.shape == (entry.n_rows - entry.n_anomalies, entry.n_features)
    assert (data.X.dtype, data.y.dtype) == (np.float64, np.int8)
    assert data.X.flags.c_contiguous
    assert data.source.endswith(entry.page)
    assert data.license
    assert data.difference


def class_labels(name, y):
    """Classes with these labels, in turn, and at the end a class that must be dropped."""
    classes = REAL_SETS[name].source.classes
    nominal, anomalous = np.array(classes.nominal), np.array(classes.anomalous or ("back.",))
    turn = np.arange(len(y))
    labels = np.where(y, anomalous[turn % len(anomalous)], nominal[turn % len(nominal)])
    return np.append(labels, OTHER_CLASS.get(name, [])).astype(str)


def original_rows(name, data):
    """The rows, and a last row of the class that must be dropped, if there is such a class."""
    return np.concatenate([data.X, data.X[:1]]) if name in OTHER_CLASS else data.X


def original_files(name, data):
    """The set as the text files of its UCI source: the features, other columns 0, the class."""
    source = REAL_SETS[name].source
    labels, X = class_labels(name, data.y), original_rows(name, data)
    fields = np.zeros((len(X), source.n_fields - 1), dtype=object)
    fields[:, list(source.columns or range(source.n_fields - 1))] = X
    lines = [
        ",".join([*map(repr, map(float, row)), label])
        for row, label in zip(fields, labels, strict=True)
    ]
    cuts = np.linspace(0, len(lines), len(source.paths) + 1).astype(int)
    return {
        f"/{path}": "\n".join(lines[start:stop]).encode()
        for path, start, stop in zip(source.paths, cuts[:-1], cuts[1:], strict=True)
    }


@pytest.mark.parametrize("name", TEXT_SETS)
def test_a_set_comes_back_through_its_uci_files_and_a_server(name, real_set, server, cache):
    data = real_set(name)
    server.files = original_files(name, data)
    server.n_answers_to_cut, server.n_bytes_before_cut = 1, 1000
    again = load(name, uci_url=server.url)
    assert_array_equal(again.X, data.X)
    assert_array_equal(again.y, data.y)
    assert (cache / f"{name}.npz").exists()
    assert_array_equal(load(name, download=False).X, data.X)


@pytest.mark.parametrize("name", FETCHED_SETS)
def test_a_set_comes_back_through_scikit_learns_fetcher(name, real_set, monkeypatch):
    data = real_set(name)
    labels, X = class_labels(name, data.y), original_rows(name, data)
    if REAL_SETS[name].source.fetcher == "fetch_kddcup99":
        # The logarithm of another library differs in the last bits. The digest must not differ.
        X = np.log(np.round(np.exp(X) - 0.1) + 0.1)
        assert not np.array_equal(X, data.X)
        labels = labels.astype(bytes)
    if name == "cover":
        X = np.c_[X, np.zeros((len(X), 44))]  # its qualitative columns
    fetcher = f"sklearn.datasets.{REAL_SETS[name].source.fetcher}"
    monkeypatch.setattr(fetcher, lambda **arguments: (X, labels))
    monkeypatch.setattr("numpy.savez_compressed", np.savez)  # compressing takes seconds
    again = load(name)
    assert_allclose(again.X, data.X, rtol=0, atol=1e-13)
    assert_array_equal(again.y, data.y)
