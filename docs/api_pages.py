"""Pages of the API reference, made from the public names: those in ``__all__`` of each module.

Nothing here lists names, so a new or renamed one needs no edit. Every object has one page, under
the first module that exports it, the package before its modules; others link there.
"""

import inspect
import pkgutil
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import rankad

#: Names of other packages that docstrings mention.
FOREIGN_NAMES = ("GridSearchCV",)

#: Examples in the order of the gallery; others come after them.
_FIRST_EXAMPLES = ("table", "budget", "drift", "other_detector", "paper")


@dataclass(frozen=True)
class Name:
    """A public name: where it is documented, and what it is."""

    path: str
    object: Any

    @property
    def kind(self) -> str:
        """Directive of autodoc that documents it."""
        if inspect.isclass(self.object):
            return "exception" if issubclass(self.object, BaseException) else "class"
        return "function" if inspect.isroutine(self.object) else "data"

    @property
    def doc(self) -> str:
        """Its docstring, or, of a constant, the comment above it."""
        if self.kind == "data":
            return _comment_on(self.path)
        return inspect.getdoc(self.object) or ""


@cache
def public_modules() -> list[str]:
    """The package, the modules that it lists, and the other modules that have an ``__all__``."""
    listed = [f"rankad.{name}" for name in rankad.__all__ if inspect.ismodule(_get(name))]
    found = [
        f"rankad.{module.name}"
        for module in pkgutil.iter_modules(rankad.__path__)
        if not module.name.startswith("_")
        and hasattr(import_module(f"rankad.{module.name}"), "__all__")
    ]
    return ["rankad", *sorted(listed), *sorted(set(found) - set(listed))]


def _get(name: str) -> Any:
    return getattr(rankad, name)


@cache
def names_of(module: str) -> dict[str, Name]:
    """Public names of a module, with the one place where each is documented."""
    exported = import_module(module).__all__
    objects = {name: getattr(import_module(module), name) for name in exported}
    return {
        name: Name(_home(module, name, object_), object_)
        for name, object_ in sorted(objects.items(), key=lambda item: item[0].lower())
        if not inspect.ismodule(object_) and not name.startswith("__")
    }


def _home(module: str, name: str, object_: Any) -> str:
    """Path to an object by the first of the public modules that exports it."""
    for other in public_modules():
        found = import_module(other)
        if name in found.__all__ and getattr(found, name) is object_:
            return f"{other}.{name}"
    return f"{module}.{name}"


def all_names() -> dict[str, Name]:
    """Every documented path."""
    return {name.path: name for module in public_modules() for name in names_of(module).values()}


# -- Pages -------------------------------------------------------------------------------------


def write(folder: Path) -> None:
    """Write all pages, touch none that has not changed, remove those that are no longer."""
    folder.mkdir(exist_ok=True)
    pages = dict(_pages())
    for old in set(folder.glob("*.rst")) - {folder / page for page in pages}:
        old.unlink()
    for page, text in pages.items():
        path = folder / page
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def _pages() -> Iterator[tuple[str, str]]:
    modules = public_modules()
    yield "index.rst", _index(modules)
    for module in modules:
        yield f"{module}.rst", _module_page(module)
    for name in all_names().values():
        yield f"{name.path}.rst", _object_page(name)


def _index(modules: list[str]) -> str:
    rows = [(f":doc:`{module} <{module}>`", _summary(_doc_of(module))) for module in modules]
    return "\n".join(
        [
            _title("API reference"),
            "Every public name, by module. Start with :py:obj:`rankad.RankAD`.",
            "",
            _table(rows),
            _hidden_toctree(modules),
        ]
    )


def _module_page(module: str) -> str:
    names = names_of(module)
    rows = [
        (f":py:obj:`{label} <{name.path}>`", _summary(name.doc)) for label, name in names.items()
    ]
    own = [name.path for name in names.values() if name.path.rpartition(".")[0] == module]
    parts = [_title(module), f".. automodule:: {module}", ""]
    if rows:
        parts += [_table(rows), _hidden_toctree(own)]
    for stage in _stages(module):
        rows = [(f"``{label}``", _summary(doc)) for label, doc in _names_of_stage(stage)]
        parts += [f".. rubric:: {module}.{stage.__name__.rpartition('.')[2]}", ""]
        parts += [_summary(inspect.getdoc(stage) or ""), "", _table(rows)]
    return "\n".join(parts)


def _stages(module: str) -> list[ModuleType]:
    """Modules that a module exports and that have no page of their own."""
    exported = (getattr(import_module(module), name) for name in import_module(module).__all__)
    return [
        value
        for value in exported
        if inspect.ismodule(value) and value.__name__ not in public_modules()
    ]


def _names_of_stage(stage: ModuleType) -> list[tuple[str, str]]:
    """Classes and functions that a stage offers, with their docstrings."""
    offered = (
        (label, value)
        for label, value in sorted(vars(stage).items(), key=lambda item: item[0].lower())
        if not label.startswith("_") and (inspect.isclass(value) or inspect.isfunction(value))
    )
    room = stage.__name__
    return [
        (label, inspect.getdoc(value) or "")
        for label, value in offered
        if value.__module__ == room or value.__module__.startswith(f"{room}.")
    ]


def _object_page(name: Name) -> str:
    module, _, label = name.path.rpartition(".")
    lines = [_title(label), f".. currentmodule:: {module}", ""]
    if name.kind == "data":
        lines += [f".. py:data:: {label}", "", *_indented(name.doc.splitlines())]
    else:
        lines += [f".. auto{name.kind}:: {label}", *_members(name)]
    return "\n".join([*lines, "", f".. minigallery:: {name.path}", "   :add-heading: Examples", ""])


def _members(name: Name) -> list[str]:
    """Methods and properties that rankad wrote, as a table and in full; scikit-learn's by name."""
    if name.kind != "class":
        return []
    own, inherited = [], []
    for label, member in inspect.getmembers(name.object):
        function = member.fget if isinstance(member, property) else member
        if label.startswith("_") or not (inspect.isroutine(function) and inspect.getdoc(function)):
            continue
        is_own = str(getattr(function, "__module__", "")).startswith("rankad")
        (own if is_own else inherited).append((label, _summary(inspect.getdoc(function) or "")))
    lines = [f"   :members: {', '.join(label for label, _ in own)}"] if own else []
    lines.append("")
    if own:
        rows = [(_link(label, f"{name.path}.{label}"), text) for label, text in own]
        lines += [*_indented([".. rubric:: Methods", "", *_table(rows).splitlines()])]
    from_sklearn = [f"``{label}``" for label, _ in inherited if _is_of_sklearn(name.object, label)]
    if from_sklearn:
        lines += ["", f"   From scikit-learn: {', '.join(from_sklearn)}."]
    return lines


def _is_of_sklearn(class_: type, label: str) -> bool:
    bases = [base for base in class_.__mro__ if base.__module__.startswith("sklearn")]
    return any(label in vars(base) for base in bases)


def _link(label: str, path: str) -> str:
    return f":py:obj:`{label} <{path}>`"


def _title(text: str) -> str:
    return f"{text}\n{'=' * len(text)}\n"


def _indented(lines: list[str]) -> list[str]:
    return [f"   {line}".rstrip() for line in lines]


def _table(rows: list[tuple[str, str]]) -> str:
    lines = [".. list-table::", "   :class: names", "   :widths: auto", ""]
    for left, right in rows:
        lines += [f"   * - {left}", f"     - {right}"]
    return "\n".join([*lines, ""])


def _hidden_toctree(pages: list[str]) -> str:
    entries = [
        f"{page.rpartition('.')[2] if page != 'rankad' else page} <{page}>" for page in pages
    ]
    return "\n".join(["", ".. toctree::", "   :hidden:", "", *_indented(entries), ""])


def _summary(doc: str) -> str:
    """First sentence or paragraph of a docstring, on one line."""
    return " ".join(doc.strip().partition("\n\n")[0].split())


def _doc_of(module: str) -> str:
    return inspect.getdoc(import_module(module)) or ""


@cache
def _comment_on(path: str) -> str:
    """The ``#:`` comment above a constant, or above its group, wherever it is defined."""
    module, _, label = path.rpartition(".")
    value = getattr(import_module(module), label)
    for name in [module, *_all_modules()]:
        if getattr(import_module(name), label, None) is value:
            source = inspect.getsource(import_module(name))
            found = re.search(
                rf"((?:^#: ?.*\n)+)(?:^\w.*\n)*?^{label}\b", source, flags=re.MULTILINE
            )
            if found:
                return re.sub(r"^#: ?", "", found[1], flags=re.MULTILINE).strip()
    return ""


@cache
def _all_modules() -> list[str]:
    found = pkgutil.walk_packages(rankad.__path__, "rankad.")
    return [module.name for module in found if "__main__" not in module.name]


# -- Names in docstrings -----------------------------------------------------------------------


def find_name(app: Any, env: Any, node: Any, contnode: Any) -> Any:
    """Resolve a name in single backticks as a reader would; unknown ones stay errors.

    A public name is linked even without its module. A parameter, an attribute or an internal name
    has no page: it is set as code.
    """
    target = node.get("reftarget", "")
    if node.get("refdomain") != "py" or node.get("reftype") not in ("obj", "class", "exc"):
        return None
    domain = env.get_domain("py")
    matches = [path for path in domain.objects if path == target or path.endswith(f".{target}")]
    pages = [path for path in matches if path in all_names()] or matches
    if len(pages) == 1 or (
        pages and all(p.rpartition(".")[2] == target for p in pages) and "." in target
    ):
        path = pages[0]
        return domain.resolve_xref(env, node["refdoc"], app.builder, "obj", path, node, contnode)
    if target.rpartition(".")[2] in _plain_names():
        return contnode
    return None


@cache
def _plain_names() -> frozenset[str]:
    """Parameters, attributes, methods and internal classes, of which no page of its own exists."""
    known: set[str] = set()
    for name in _all_modules():
        for label, value in vars(import_module(name)).items():
            known.add(label)
            if callable(value) and str(getattr(value, "__module__", "")).startswith("rankad"):
                known |= set(dir(value)) | _documented(value)
    return frozenset(known)


def _documented(value: Any) -> set[str]:
    """Names that the sections of a docstring, and the signature, introduce."""
    found = set(getattr(value, "__annotations__", {}))
    with suppress(TypeError, ValueError):
        found |= set(inspect.signature(value).parameters)
    from numpydoc.docscrape import NumpyDocString

    doc = NumpyDocString(inspect.getdoc(value) or "")
    for section in ("Parameters", "Attributes", "Other Parameters", "Returns"):
        for parameter in doc[section]:
            found |= set(re.split(r",\s*", parameter.name))
    return found


def example_order(name: str) -> tuple[int, str]:
    """Sort key of an example's file."""
    label = Path(name).stem.removeprefix("plot_")
    place = _FIRST_EXAMPLES.index(label) if label in _FIRST_EXAMPLES else len(_FIRST_EXAMPLES)
    return place, label
