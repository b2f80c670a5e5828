"""Loading a set: folders, download from a local server, checks, and the cache."""

import dataclasses
import logging
from http.client import IncompleteRead
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import ProxyHandler, build_opener

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from rankad import datasets
from rankad.datasets import (
    CorruptDatasetError,
    DownloadError,
    MissingDatasetError,
    UnknownDatasetError,
    load,
)
from rankad.datasets.dataset import LabeledRows
from rankad.datasets.digest import content_digest
from rankad.datasets.files import write_rows
from rankad.datasets.registry import REAL_SETS, RealSet
from rankad.datasets.sources import Classes, SklearnFetch, UciFiles

TOY_TEXTS = {"/toy/a.data": b"1.5,2,n\n2.5,0,x\n", "/toy/b.data": b"0.1,7,n\n9,9,other\n"}
TOY = LabeledRows(np.array([[1.5, 2.0], [2.5, 0.0], [0.1, 7.0]]), np.array([0, 1, 0], np.int8))


@pytest.fixture
def toy(monkeypatch):
    """A small set in the registry, in two UCI files."""
    entry = RealSet(
        name="toy",
        n_rows=3,
        n_features=2,
        n_anomalies=1,
        digest=content_digest(*TOY),
        source=UciFiles(("toy/a.data", "toy/b.data"), 3, Classes(("n",), ("x",))),
        origin="made up",
        page="https://example.org/toy",
        license="none",
        difference="not in the paper",
    )
    monkeypatch.setitem(REAL_SETS, "toy", entry)
    return entry


@pytest.fixture
def fetched_toy(toy, monkeypatch):
    """The same set from one of scikit-learn's fetchers."""
    source = SklearnFetch("fetch_covtype", {}, Classes(("0",), ("1",)))
    monkeypatch.setitem(REAL_SETS, "toy", dataclasses.replace(toy, source=source))


def assert_is_toy(data):
    assert_array_equal(data.X, TOY.X)
    assert_array_equal(data.y, TOY.y)
    assert data.source == "made up, https://example.org/toy"


def files_in(folder):
    return sorted(str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file())


def test_the_names_are_the_papers():
    assert " ".join(datasets.names()) == (
        "annthyroid annthyroid_6832 banknote cover http magic mammography satellite shuttle smtp"
    )


@pytest.mark.parametrize(
    ("name", "hint"),
    [("Magic", "did you mean 'magic'?"), ("shutle", "'shuttle'"), ("zzz", "'zzz'. The names are")],
)
def test_an_unknown_name_gets_the_nearest_one(name, hint):
    with pytest.raises(UnknownDatasetError) as caught:
        load(name)
    assert hint in str(caught.value)
    assert "annthyroid, annthyroid_6832, banknote" in str(caught.value)


@pytest.mark.parametrize("subfolder", ["", "paper"])
@pytest.mark.parametrize("how", ["argument", "RANKAD_DATA", "RANKAD_CACHE"])
def test_a_file_is_found_in_each_folder_and_one_level_below(
    toy, tmp_path, monkeypatch, how, subfolder
):
    folder = tmp_path / "here"
    write_rows(folder / subfolder / "toy.npz", TOY)
    if how != "argument":
        monkeypatch.setenv(how, str(folder))
    assert_is_toy(load("toy", folder if how == "argument" else None, download=False))


def test_the_argument_goes_before_the_variable_and_the_cache(toy, tmp_path, monkeypatch, cache):
    """Only the first folder has a good file, so any other order fails."""
    for folder in (tmp_path / "data", cache):
        folder.mkdir()
        (folder / "toy.npz").write_bytes(b"bad")
    write_rows(tmp_path / "first" / "toy.npz", TOY)
    monkeypatch.setenv("RANKAD_DATA", str(tmp_path / "data"))
    assert_is_toy(load("toy", str(tmp_path / "first")))
    with pytest.raises(CorruptDatasetError, match=str(tmp_path / "data" / "toy.npz")):
        load("toy")


@pytest.mark.parametrize("how", ["folder", "RANKAD_DATA"])
def test_a_named_folder_must_exist(toy, tmp_path, monkeypatch, how):
    missing = tmp_path / "nowhere"
    if how == "RANKAD_DATA":
        monkeypatch.setenv(how, str(missing))
    with pytest.raises(MissingDatasetError, match=f"{how}='{missing}' is not a folder"):
        load("toy", missing if how == "folder" else None)


def test_a_missing_file_without_download_says_where_to_put_it(toy, cache):
    with pytest.raises(MissingDatasetError) as caught:
        load("toy", download=False)
    message = str(caught.value)
    assert f"No toy.npz in {cache}" in message
    assert f"save it as {cache / 'toy.npz'}" in message
    assert "set RANKAD_DATA" in message
    assert not cache.exists()


BAD_ROWS = {
    "shape (2, 2), but those of toy have (3, 2)": LabeledRows(TOY.X[:2], TOY.y[:2]),
    "0 anomalies, but toy has 1": LabeledRows(TOY.X, np.zeros(3, np.int8)),
    "the rows have digest": LabeledRows(TOY.X + 0.001, TOY.y),
}


@pytest.mark.parametrize(("message", "rows"), BAD_ROWS.items())
def test_a_file_with_other_rows_is_corrupt(toy, tmp_path, message, rows):
    write_rows(tmp_path / "toy.npz", rows)
    with pytest.raises(CorruptDatasetError) as caught:
        load("toy", tmp_path)
    assert message in str(caught.value)
    assert str(tmp_path / "toy.npz") in str(caught.value)


def test_a_download_is_kept_and_not_repeated(toy, server, cache, caplog):
    server.files = TOY_TEXTS
    with caplog.at_level(logging.INFO, logger="rankad"):
        assert_is_toy(load("toy", uci_url=server.url))
    assert f"toy: saved in {cache}" in caplog.text
    assert files_in(cache) == ["downloads/a.data", "downloads/b.data", "toy.npz"]
    server.files = {}
    assert_is_toy(load("toy", uci_url=server.url))
    assert len(server.ranges_asked) == 2


def test_a_download_that_broke_off_is_resumed_by_the_next_load(toy, server, cache):
    server.files = TOY_TEXTS
    server.n_answers_to_cut, server.n_bytes_before_cut = 4, 1
    with pytest.raises(DownloadError, match="the connection broke off"):
        load("toy", uci_url=server.url)
    assert files_in(cache) == ["downloads/a.data.part"]
    assert_is_toy(load("toy", uci_url=server.url))
    assert server.ranges_asked[4] == "bytes=4-"


def test_original_files_put_by_hand_are_used(toy, refused_url, cache):
    (cache / "downloads").mkdir(parents=True)
    for path, content in TOY_TEXTS.items():
        (cache / "downloads" / Path(path).name).write_bytes(content)
    assert_is_toy(load("toy", uci_url=refused_url))


def test_offline_the_message_says_what_to_do(toy, refused_url, cache):
    with pytest.raises(DownloadError) as caught:
        load("toy", uci_url=refused_url)
    message = str(caught.value)
    for part in (
        "'toy'",
        f"{refused_url}/toy/a.data and {refused_url}/toy/b.data",
        "refused",
        "get the set from https://example.org/toy",
        f"{cache / 'toy.npz'}",
        f"{cache / 'downloads' / 'a.data'}",
        "set RANKAD_DATA to a folder that holds toy.npz",
    ):
        assert part in message
    assert files_in(cache) == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"<html>\n", "line 1 has 1 fields"),
        (b"1,2,n\n", r"the rows have shape \(2, 2\)"),
        (b"1,2,n\n1,2,x\n", "digest"),
    ],
    ids=["web page", "too few rows", "other rows"],
)
def test_wrong_contents_are_not_kept(toy, server, cache, content, message):
    server.files = {**TOY_TEXTS, "/toy/a.data": content}
    with pytest.raises(DownloadError, match=message):
        load("toy", uci_url=server.url)
    assert files_in(cache) == []


def test_wrong_contents_put_by_hand_are_named_and_left_to_the_user(toy, server, cache):
    server.files = TOY_TEXTS
    (cache / "downloads").mkdir(parents=True)
    (cache / "downloads" / "a.data").write_bytes(b"1,2,n\n")
    with pytest.raises(DownloadError, match=r"Delete or replace .*a\.data"):
        load("toy", uci_url=server.url)
    assert files_in(cache) == ["downloads/a.data"]


def test_an_interrupted_conversion_leaves_no_set(toy, server, cache, monkeypatch):
    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    server.files = TOY_TEXTS
    monkeypatch.setattr("numpy.savez_compressed", interrupt)
    with pytest.raises(KeyboardInterrupt):
        load("toy", uci_url=server.url)
    assert files_in(cache) == ["downloads/a.data", "downloads/b.data"]


def test_a_cache_that_cannot_be_written_is_a_clear_error(toy, server, tmp_path, monkeypatch):
    server.files = TOY_TEXTS
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv("RANKAD_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(DownloadError, match="Not a directory"):
        load("toy", uci_url=server.url)


FETCH_FAILURES = [
    URLError("name resolution failed"),
    HTTPError("https://example.org", 503, "unavailable", None, None),
    TimeoutError("timed out"),
    IncompleteRead(b""),
    EOFError(),
    MemoryError(),
    ValueError("md5 checksum does not match"),
]


@pytest.mark.parametrize("failure", FETCH_FAILURES, ids=lambda failure: type(failure).__name__)
def test_what_scikit_learn_raises_becomes_one_clear_error(fetched_toy, cache, monkeypatch, failure):
    def fetch(**arguments):
        raise failure

    monkeypatch.setattr("sklearn.datasets.fetch_covtype", fetch)
    with pytest.raises(DownloadError) as caught:
        load("toy")
    message = str(caught.value)
    assert "could not be downloaded from sklearn.datasets.fetch_covtype()" in message
    assert (str(failure) or type(failure).__name__) in message
    assert f"save it as {cache / 'toy.npz'}" in message
    assert files_in(cache) == []


FETCHED_SETS = [name for name, entry in REAL_SETS.items() if isinstance(entry.source, SklearnFetch)]


@pytest.mark.parametrize("name", FETCHED_SETS)
def test_the_true_fetchers_fail_clearly_offline(name, cache, tmp_path, monkeypatch, refused_url):
    """A proxy refuses every connection, so only this machine is reached."""
    proxy = ProxyHandler({"http": refused_url, "https": refused_url})
    monkeypatch.setattr("urllib.request._opener", build_opener(proxy))
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / "scikit-learn"))
    with pytest.raises(DownloadError, match=f"{REAL_SETS[name].source.fetcher}.*refused") as caught:
        load(name)
    assert f"save it as {cache / name}.npz" in str(caught.value)
    assert files_in(cache) == files_in(tmp_path / "scikit-learn") == []


def test_what_scikit_learn_fetches_is_checked_and_kept(fetched_toy, cache, monkeypatch):
    monkeypatch.setattr("sklearn.datasets.fetch_covtype", lambda **arguments: tuple(TOY))
    assert_is_toy(load("toy"))
    assert files_in(cache) == ["toy.npz"]


def test_the_cache_folder_follows_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert datasets.cache_folder() == tmp_path / "cache"
    monkeypatch.delenv("RANKAD_CACHE")
    assert datasets.cache_folder() == tmp_path / "xdg" / "rankad"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert datasets.cache_folder() == tmp_path / ".cache" / "rankad"


def test_a_namesake_does_not_hide_the_set(toy, tmp_path):
    write_rows(tmp_path / "a_foreign" / "toy.npz", LabeledRows(TOY.X + 1.0, TOY.y))
    write_rows(tmp_path / "b_right" / "toy.npz", TOY)
    assert_is_toy(load("toy", tmp_path, download=False))


def test_a_name_that_is_no_name_is_unknown():
    with pytest.raises(UnknownDatasetError, match="No data set has the name"):
        load([])
