"""The parts of a release have one version, and its check finds what is wrong."""

import subprocess
import tomllib
from pathlib import Path

import pytest
import release_check
import yaml

ROOT = Path(__file__).parents[1]
#: Not in a source distribution.
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

MODULES = ["rankad/__init__.py", "rankad/detector.py"]
WHEEL = [
    *MODULES,
    "rankad/py.typed",
    "rankad-0.1.0.dist-info/METADATA",
    "rankad-0.1.0.dist-info/WHEEL",
    "rankad-0.1.0.dist-info/RECORD",
    "rankad-0.1.0.dist-info/licenses/LICENSE",
]
SDIST = [*release_check._SDIST_NEEDS, "docs/images/readme.png", "examples/plot_table.py"]


def read_workflow(path):
    return yaml.safe_load(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_are_read_and_their_actions_pinned(path):
    jobs = read_workflow(path)["jobs"]
    assert jobs
    steps = [step for job in jobs.values() for step in job.get("steps", ())]
    for step in steps:
        assert ("uses" in step) != ("run" in step)
        if "uses" in step:
            assert step["uses"].partition("@")[2].removeprefix("release/").startswith("v")


@pytest.mark.skipif(not WORKFLOWS, reason="these are sources without their workflows")
def test_python_versions_are_those_that_are_tested():
    workflow = read_workflow(ROOT / ".github/workflows/tests.yml")
    tested = workflow["jobs"]["tests"]["strategy"]["matrix"]["python"]
    prefix = "Programming Language :: Python :: 3."
    listed = [text for text in PROJECT["classifiers"] if text.startswith(prefix)]
    assert [text.rpartition(" ")[2] for text in listed] == tested
    assert PROJECT["requires-python"] == f">={tested[0]}"


@pytest.mark.skipif(not WORKFLOWS, reason="these are sources without their workflows")
def test_only_the_job_that_publishes_may_and_it_runs_no_code_of_ours():
    jobs = read_workflow(ROOT / ".github/workflows/release.yml")["jobs"]
    may_publish = [name for name, job in jobs.items() if "id-token" in job.get("permissions", {})]
    assert may_publish == ["publish"]
    assert jobs["publish"]["environment"]
    assert jobs["publish"]["needs"] == ["tests", "build"]
    assert not any("run" in step for step in jobs["publish"]["steps"])


def test_the_version_is_the_same_everywhere():
    release_check.checked_version(ROOT)


@pytest.fixture
def repository(tmp_path):
    (tmp_path / "src/rankad").mkdir(parents=True)
    (tmp_path / "src/rankad/__init__.py").write_text('__version__ = "0.2.0"\n')
    (tmp_path / "CITATION.cff").write_text("version: 0.2.0\n")
    (tmp_path / "CHANGELOG.md").write_text("## [0.2.0] - 2030-01-01\n")
    return tmp_path


def test_a_tag_must_be_the_version(repository):
    assert release_check.checked_version(repository, "v0.2.0") == "0.2.0"
    with pytest.raises(release_check.ReleaseError, match=r"tag is v0\.3\.0, the version 0\.2\.0"):
        release_check.checked_version(repository, "v0.3.0")


def test_a_citation_of_another_version_is_refused(repository):
    (repository / "CITATION.cff").write_text("version: 0.1.0\n")
    with pytest.raises(release_check.ReleaseError, match=r"has version 0\.1\.0"):
        release_check.checked_version(repository)


def test_unreleased_is_enough_until_there_is_a_tag(repository):
    (repository / "CHANGELOG.md").write_text("## [Unreleased]\n")
    release_check.checked_version(repository)
    with pytest.raises(release_check.ReleaseError, match="no heading"):
        release_check.checked_version(repository, "v0.2.0")


def test_good_packages_have_no_problems():
    assert list(release_check.wheel_problems(WHEEL, MODULES)) == []
    assert list(release_check.sdist_problems(SDIST)) == []


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="these are sources without git")
def test_the_files_of_the_repository_may_be_in_a_source_distribution():
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    packed = [name for name in listed if not name.startswith((".ci/", ".github/"))]
    made = ["PKG-INFO"]
    assert list(release_check.sdist_problems([*packed, *made])) == []


@pytest.mark.parametrize(
    "name",
    [
        "rankad/data.npz",
        "rankad/__pycache__/detector.cpython-311.pyc",
        "rankad/notes.txt",
        "tests/test_detector.py",
        ".github/workflows/tests.yml",
    ],
)
def test_what_a_wheel_must_not_hold_is_found(name):
    assert list(release_check.wheel_problems([*WHEEL, name], MODULES)) == [f"holds {name}"]


@pytest.mark.parametrize(
    "name",
    ["docs/_build/html/index.md", "docs/api/index.rst", "shared/a.md", "tests/data.npz", ".ci/run"],
)
def test_what_a_source_distribution_must_not_hold_is_found(name):
    assert list(release_check.sdist_problems([*SDIST, name])) == [f"holds {name}"]


@pytest.mark.parametrize("name", [*MODULES, "rankad/py.typed"])
def test_what_a_wheel_lacks_is_found(name):
    names = [other for other in WHEEL if other != name]
    assert list(release_check.wheel_problems(names, MODULES)) == [f"lacks {name}"]
