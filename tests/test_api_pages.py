"""The API reference has every public name, and each once."""

import inspect
from collections import Counter
from importlib import import_module

import api_pages
import pytest

import rankad


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("api")
    api_pages.write(folder)
    return {path.stem: path.read_text(encoding="utf-8") for path in folder.iterdir()}


def test_every_module_has_a_page(pages):
    modules = {f"rankad.{name}" for name in dir(rankad) if f"rankad.{name}" in pages}
    assert {"rankad.calibration", "rankad.monitoring", "rankad.plots"} < modules
    for module in api_pages.public_modules():
        assert f"<{module}>" in pages["index"]
        assert f"automodule:: {module}\n" in pages[module]


@pytest.mark.parametrize("module", api_pages.public_modules())
def test_every_public_name_is_listed_and_has_a_page(pages, module):
    exported = import_module(module).__all__
    names = api_pages.names_of(module)
    left_out = set(exported) - set(names)
    modules = {name for name in exported if inspect.ismodule(getattr(import_module(module), name))}
    assert left_out == modules | ({"__version__"} & left_out)
    for label, name in names.items():
        assert f"`{label} <{name.path}>`" in pages[module]
        home, _, last = name.path.rpartition(".")
        assert f"currentmodule:: {home}\n" in pages[name.path]
        assert f":: {last}\n" in pages[name.path]
        assert name.doc


def test_the_stages_are_listed_with_their_names(pages):
    page = pages["rankad.experimental"]
    for stage in ("kernels", "preferences", "ranker", "solvers", "tuning"):
        assert f"rubric:: rankad.experimental.{stage}" in page
    for name in ("KernelExpansion", "minimize", "fit_ranker", "rule_sigma"):
        assert f"``{name}``" in page


def test_no_object_has_two_pages_and_no_two_pages_one_file():
    names = api_pages.all_names()
    documented = Counter(id(name.object) for name in names.values() if name.kind != "data")
    assert set(documented.values()) == {1}
    assert len({path.lower() for path in names}) == len(names)  # as some file systems see them


def test_methods_are_those_that_rankad_wrote(pages):
    page = pages["rankad.RankAD"]
    for method in ("p_values", "predict", "select", "calibrate", "as_published"):
        assert f"`{method} <rankad.RankAD.{method}>`" in page
    assert "From scikit-learn: ``fit_predict``" in page
    assert "<rankad.RankAD.get_params>" not in page


def test_pages_that_are_no_longer_are_removed(tmp_path):
    (tmp_path / "rankad.Gone.rst").write_text("old")
    api_pages.write(tmp_path)
    assert not (tmp_path / "rankad.Gone.rst").exists()
