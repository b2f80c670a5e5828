import numpy as np
import pytest
from numpy.testing import assert_array_equal

from rankad.datasets import CorruptDatasetError
from rankad.datasets.dataset import LabeledRows
from rankad.datasets.files import read_rows, write_rows

ROWS = LabeledRows(np.arange(12.0).reshape(6, 2), np.array([0, 0, 1, 0, 1, 0], dtype=np.int8))


def test_what_is_written_is_read(tmp_path):
    path = tmp_path / "new" / "toy.npz"
    write_rows(path, ROWS)
    X, y = read_rows(path)
    assert_array_equal(X, ROWS.X)
    assert_array_equal(y, ROWS.y)
    assert (X.dtype, y.dtype) == (np.float64, np.int8)
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("failure", [OSError("disk full"), KeyboardInterrupt()])
def test_a_failed_write_leaves_what_was_there(tmp_path, monkeypatch, failure):
    path = tmp_path / "toy.npz"
    write_rows(path, ROWS)
    before = path.read_bytes()

    def break_off(file, **arrays):
        file.write(b"half a file")
        raise failure

    monkeypatch.setattr("numpy.savez_compressed", break_off)
    with pytest.raises(type(failure)):
        write_rows(path, ROWS)
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_bytes() == before


def saved(path, **arrays):
    np.savez(path, **arrays)


def truncated(path):
    saved(path, X=ROWS.X, y=ROWS.y)
    path.write_bytes(path.read_bytes()[:-100])


def with_a_flipped_byte(path):
    saved(path, X=ROWS.X, y=ROWS.y)
    content = bytearray(path.read_bytes())
    content[200] ^= 0xFF
    path.write_bytes(content)


def encrypted(path):
    """One bit in the directory of the archive is the flag for it."""
    saved(path, X=ROWS.X, y=ROWS.y)
    content = bytearray(path.read_bytes())
    content[content.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(content)


def a_plain_array(path):
    with path.open("wb") as file:
        np.save(file, ROWS.X)


BAD_FILES = {
    "empty": lambda path: path.write_bytes(b""),
    "web page": lambda path: path.write_text("<html>Not found</html>"),
    "truncated": truncated,
    "flipped byte": with_a_flipped_byte,
    "encrypted": encrypted,
    "folder": lambda path: path.mkdir(),
    "plain array": a_plain_array,
    "no y": lambda path: saved(path, X=ROWS.X),
    "pickled objects": lambda path: saved(path, X=np.array([{}]), y=ROWS.y),
    "text": lambda path: saved(path, X=np.array([["a"]]), y=np.zeros(1)),
    "one dimension": lambda path: saved(path, X=ROWS.X[:, 0], y=ROWS.y),
    "too few labels": lambda path: saved(path, X=ROWS.X, y=ROWS.y[1:]),
}


@pytest.mark.parametrize("make", BAD_FILES.values(), ids=BAD_FILES)
def test_a_bad_file_is_named_with_what_to_do(tmp_path, make):
    path = tmp_path / "toy.npz"
    make(path)
    with pytest.raises(CorruptDatasetError) as caught:
        read_rows(path)
    message = str(caught.value)
    assert f"The data file {path} is not usable" in message
    assert "Replace it with a good copy, or delete it" in message
