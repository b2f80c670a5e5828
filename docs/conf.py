"""Sphinx configuration of the site. ``make docs`` builds it, without the network.

The Markdown pages are written for GitHub as well. So what only the site needs stands here: which
page belongs to which section (`SECTIONS`), and where links to files of the repository's root lead
(`ROOT_PAGES`).
"""

import re
import sys
from pathlib import Path

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS))

import api_pages  # noqa: E402  the folder must be on the path first

import rankad  # noqa: E402

project = "rankad"
author = "The rankad developers"
copyright = author  # noqa: A001  Sphinx's name
release = version = rankad.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "_static"]

# -- Pages -------------------------------------------------------------------------------------

#: The pages below each page. A page that is missing here is an error, as no menu would list it.
SECTIONS = {
    "index": [
        "guide",
        "api/index",
        "gallery/index",
        "theory",
        "results/README",
        "contributing",
        "changelog",
        "security",
    ],
    "guide": ["guarantees", "reasons", "dirty_rows", "options", "accuracy", "benchmarks"],
    "results/README": [
        "results/summary",
        "results/table1",
        "results/table2",
        "results/fig2",
        "results/fig3",
    ],
}

#: Short names of pages in the menus; others have their titles.
MENU_NAMES = {"api/index": "API", "results/README": "Results", "theory": "Theory"}

#: Files of the repository's root that are pages of the site.
ROOT_PAGES = {
    "README.md": "/index.md",
    "CONTRIBUTING.md": "/contributing.md",
    "CHANGELOG.md": "/changelog.md",
    "SECURITY.md": "/security.md",
}

myst_heading_anchors = 4
myst_links_external_new_tab = False


def _adapt_page(app, docname, source):
    """Menu entries, and links to root files, that the same page on GitHub does not need."""
    text = source[0].replace("\n\n```\n", "\n```\n")  # the blank line ends a doctest's output
    for name, page in ROOT_PAGES.items():
        text = re.sub(rf"\]\((?:\.\./)+{re.escape(name)}(#[^)]*)?\)", rf"]({page}\1)", text)
    if docname in SECTIONS:
        entries = [
            f"{MENU_NAMES[page]} </{page}>" if page in MENU_NAMES else f"/{page}"
            for page in SECTIONS[docname]
        ]
        text += "\n\n```{toctree}\n:hidden:\n\n" + "\n".join(entries) + "\n```\n"
    source[0] = text


# -- API reference -----------------------------------------------------------------------------

autodoc_typehints = "none"  # numpydoc's sections name the types, in words
autodoc_preserve_defaults = True
numpydoc_show_class_members = False  # api_pages lists them
python_use_unqualified_type_names = True
toc_object_entries_show_parents = "hide"

#: In docstrings a name in single backticks is a name of Python: it must exist.
default_role = "py:obj"
nitpicky = True

#: What docstrings name of other packages, in single backticks.
nitpick_ignore_regex = [("py:obj", name) for name in api_pages.FOREIGN_NAMES]

# -- Gallery -----------------------------------------------------------------------------------

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"[\\/]plot_",
    "ignore_pattern": r"(^|[\\/])(?!plot_)[^\\/]*\.py$",  # demo.py and displays.py
    "within_subsection_order": "api_pages.example_order",
    "backreferences_dir": "gallery/backreferences",
    "doc_module": ("rankad",),
    "abort_on_example_error": True,
    "capture_repr": ("_repr_html_", "__repr__"),
    "download_all_examples": False,
    "min_reported_time": 1e9,
    "show_memory": False,
    "thumbnail_size": (440, 300),
    "show_signature": False,
    "remove_config_comments": True,
    "write_computation_times": False,
    "plot_gallery": True,
}
suppress_warnings = ["config.cache"]  # the name of a function in the configuration above

# -- Looks -------------------------------------------------------------------------------------

html_theme = "pydata_sphinx_theme"
html_title = "rankad"
html_static_path = ["_static"]
html_css_files = ["custom.css"]
html_copy_source = False
html_context = {"default_mode": "auto"}
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "rankad"},
    "header_links_before_dropdown": 5,
    "show_nav_level": 1,
    "show_toc_level": 1,
    "navigation_with_keys": False,
    "back_to_top_button": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "github-dark",
}
html_sidebars = {
    page: [] for page in ("theory", "contributing", "changelog", "security", "gallery/index")
}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True


def setup(app):
    """Write the API pages first, adapt pages as they are read, find names in docstrings."""
    api_pages.write(DOCS / "api")
    app.connect("source-read", _adapt_page)
    app.connect("missing-reference", api_pages.find_name)
