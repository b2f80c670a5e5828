"""Records survive whatever happens, and do not mix."""

import errno
import json
from dataclasses import dataclass, replace

import pytest
from made_records import make_record

from rankad.reproduce import RecordsError, read_records
from rankad.reproduce.records import Key, RecordFile
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


@pytest.mark.parametrize(
    "content",
    [
        *("", "[]", '{"format": 2}', "half a fi", "\xff"),
        '{"format": 1, "records": [{"set": 3}]}',
        '{"format": 1, "records": [3]}',
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


@dataclass(frozen=True)
class Other:
    """Records of another kind."""

    key: Key
    figures: dict[str, float]

    def __post_init__(self):
        object.__setattr__(self, "key", Key(*self.key))  # of a file it is a list


def test_records_may_be_of_another_kind(tmp_path, key):
    path = tmp_path / "records.json"
    records = [Other(key._replace(seed=seed), {"auc": 0.5}) for seed in range(2)]
    for record in records:
        RecordFile.open(path, "other", Other).add(record)
    assert read_records(path, Other) == records
    assert RecordFile.open(path, "other", Other).records([key]) == records[:1]
    with pytest.raises(RecordsError, match="unexpected keyword"):
        read_records(path)


def test_runs_may_be_measured_in_another_way(tmp_path, key):
    file = RecordFile.open(tmp_path / "records.json", "other", Other)
    tasks = [Other(key._replace(seed=seed), {}) for seed in range(3)]
    file.add(tasks[1])
    records = run(tasks, file, 1, lambda task: replace(task, figures={"seed": task.key.seed}))
    assert [record.figures for record in records] == [{"seed": 0}, {}, {"seed": 2}]
