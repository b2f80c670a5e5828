"""Records survive whatever happens, and do not mix."""

import errno
import json
import warnings

import pytest
from made_records import make_record

from rankad.reproduce import RecordsError, read_records
from rankad.reproduce.experiment import Task
from rankad.reproduce.records import RecordFile
from rankad.reproduce.runner import run


def test_a_record_is_on_the_disk_when_it_was_added(tmp_path, key):
    file = RecordFile.open(tmp_path / "out" / "records.json", "full")
    assert key not in file
    for seed in range(3):
        file.add(make_record(key._replace(seed=seed)))
        assert len(read_records(file.path)) == seed + 1
    assert [path.name for path in file.path.parent.iterdir()] == ["records.json"]
    again = RecordFile.open(file.path, "full")
    assert key in again
    assert again.records([key]) == [make_record(key)]
    assert again.records([key._replace(method="LOF")]) == []


def test_the_file_is_json_with_one_line_for_each_record(tmp_path, key):
    file = RecordFile.open(tmp_path / "records.json", "full")
    file.add(make_record(key))
    file.add(make_record(key._replace(seed=1)))
    text = file.path.read_text()
    assert len(text.splitlines()) == 4
    content = json.loads(text)
    assert content["protocol"] == "full"
    assert [one["seed"] for one in content["records"]] == [0, 1]


@pytest.mark.parametrize("failure", [OSError(errno.ENOSPC, "full"), KeyboardInterrupt()])
def test_a_failed_write_leaves_the_records_before_it(tmp_path, monkeypatch, key, failure):
    file = RecordFile.open(tmp_path / "records.json", "full")
    file.add(make_record(key))

    def fail(descriptor):
        raise failure

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(type(failure)):
        file.add(make_record(key._replace(seed=1)))
    assert [path.name for path in tmp_path.iterdir()] == ["records.json"]
    assert [record.seed for record in read_records(file.path)] == [0]


def test_records_of_another_protocol_or_version_are_refused(tmp_path, monkeypatch, key):
    path = tmp_path / "records.json"
    RecordFile.open(path, "quick").add(make_record(key))
    with pytest.raises(RecordsError, match=r"protocol 'quick', not 'full'.*another output folder"):
        RecordFile.open(path, "full")
    monkeypatch.setattr("rankad.reproduce.records.__version__", "9.9")
    with pytest.raises(RecordsError, match=r"version '.*', not '9\.9'"):
        RecordFile.open(path, "quick")


RECORD = (
    '{"experiment": "", "set": "", "columns": "", "method": "", "seed": 0, "n_train": 1, '
    '"n_features": 1, "measures": %s}'
)


@pytest.mark.parametrize(
    "content",
    [
        *("", "[]", '{"format": 1, "records": []}', "half a fi", "\xff"),
        '{"format": 2, "records": [{"set": 3}]}',
        '{"format": 2, "records": [3]}',
        *(
            f'{{"format": 2, "records": [{RECORD % measures}]}}'
            for measures in ("3", '{"auc": "high"}')
        ),
    ],
)
def test_other_files_are_refused_and_left_alone(tmp_path, content):
    path = tmp_path / "records.json"
    path.write_text(content, encoding="latin-1")
    with pytest.raises(RecordsError, match=r"holds no records of a reproduction.*delete that file"):
        read_records(path)
    with pytest.raises(RecordsError):
        RecordFile.open(path, "full")
    assert path.read_text(encoding="latin-1") == content


def test_what_is_forgotten_is_measured_again(tmp_path, key):
    path, made = tmp_path / "records.json", []
    tasks = [
        Task(key._replace(seed=seed), lambda key: made.append(key) or make_record(key))
        for seed in range(3)
    ]
    run(tasks, RecordFile.open(path, "other"), 1)
    file = RecordFile.open(path, "other")
    file.forget([key, key._replace(method="LOF")])
    assert key not in file
    assert len(file) == 2
    assert [record.key for record in run(tasks, file, 1)] == [task.key for task in tasks]
    assert made == [*(task.key for task in tasks), key]
    assert len(read_records(path)) == 3


def test_warnings_of_a_run_are_kept_with_it(tmp_path, key):
    def measure(key):
        for message in ("b", "a", "b"):
            warnings.warn(message, UserWarning, stacklevel=1)
        return make_record(key)

    (record,) = run([Task(key, measure)], RecordFile(tmp_path / "records.json", "other"), 1)
    assert record.warnings == ["a", "b"]
    assert read_records(tmp_path / "records.json") == [record]
