"""The check of the built site finds what it is for."""

import check_site
import pytest


@pytest.fixture
def site(tmp_path):
    (tmp_path / "_static").mkdir()
    (tmp_path / "_static" / "style.css").write_text("a { color: red }")
    (tmp_path / "other.html").write_text('<h1 id="here">Other</h1>')
    return tmp_path


def found(site, body):
    head = '<link rel="stylesheet" href="_static/style.css">'
    (site / "index.html").write_text(f"{head}<p id='top'>{body}</p>")
    return list(check_site.failures(site))


@pytest.mark.parametrize(
    "body",
    [
        '<a href="other.html#here">inside</a> <a href="#top">up</a> <a href="#">up</a>',
        '<a href="https://example.org/#x">elsewhere</a>',
        '<img src="data:image/png;base64,AA==">',
    ],
)
def test_good_links_pass(site, body):
    assert found(site, body) == []


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ('<a href="gone.html">', "link to gone.html, which is missing"),
        ('<a href="other.html#there">', "link to other.html#there, where there is no such place"),
        ('<a href="#nowhere">', "link to #nowhere, where there is no such place"),
        ('<img src="gone.png">', "gone.png is missing"),
        ('<script src="https://example.org/a.js">', "loads https://example.org/a.js"),
        ('<link rel="stylesheet" href="//example.org/a.css">', "loads //example.org/a.css"),
    ],
)
def test_bad_ones_are_reported(site, body, problem):
    assert found(site, body) == [f"index.html: {problem}"]


def test_fonts_from_elsewhere_are_reported(site):
    (site / "_static" / "style.css").write_text('@import url("https://example.org/font.css");')
    (problem,) = found(site, "")
    assert problem.startswith("_static/style.css: loads from elsewhere")
