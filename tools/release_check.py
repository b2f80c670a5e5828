"""Build what a release uploads, and check it: contents, metadata, versions, and both installed.

    python tools/release_check.py [--tag v0.1.0]

The tag is that of the release: it must be the version, and the CHANGELOG must have its heading.
Leaves the source distribution and the wheel in dist/.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import yaml

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"

#: What a package must hold beside its modules.
_WHEEL_NEEDS = ("rankad/py.typed", "licenses/LICENSE", "METADATA", "RECORD", "WHEEL")
_SDIST_NEEDS = (
    "CHANGELOG.md",
    "CITATION.cff",
    "LICENSE",
    "Makefile",
    "PKG-INFO",
    "README.md",
    "docs/conf.py",
    "docs/index.md",
    "examples/demo.py",
    "pyproject.toml",
    "src/rankad/py.typed",
    "tests/conftest.py",
)

#: Files that a source distribution may hold.
_SDIST_FOLDERS = ("benchmarks", "docs", "examples", "src", "tests", "tools")
_SDIST_TYPES = (
    *(".cff", ".css", ".json", ".md", ".png", ".py", ".rst", ".svg", ".toml", ".txt", ".typed"),
)

#: What is made, fetched or private, and in no package.
_UNWANTED = re.compile(
    r"(^|/)(__pycache__|\.venv|\.git|\.github|\.ci|_build|node_modules|shared)(/|$)"
    r"|^docs/(api|gallery)/|\.(pyc|so|npz|npy|nbi|nbc|csv|parquet|ipynb)$"
)

_SDIST_BYTES = 6_000_000
_WHEEL_BYTES = 1_000_000


class ReleaseError(Exception):
    """What must be mended before a release."""


def main() -> None:
    """Build, check one thing after the other, and say what stands."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tag", help="the release's, such as v0.1.0")
    tag = parser.parse_args().tag
    try:
        version = checked_version(ROOT, tag)
        sdist, wheel = build(version)
        check_names("wheel", list(wheel_problems(wheel_names(wheel), module_names())))
        check_names("sdist", list(sdist_problems(sdist_names(sdist))))
        check_sizes({sdist: _SDIST_BYTES, wheel: _WHEEL_BYTES})
        run(sys.executable, "-m", "twine", "check", "--strict", str(sdist), str(wheel))
        for package in (wheel, sdist):
            check_installed(package, version)
    except (ReleaseError, subprocess.CalledProcessError) as error:
        sys.exit(f"release-check: {error}")
    print(f"release-check: {sdist.name} and {wheel.name} are good")


# -- Versions ----------------------------------------------------------------------------------


def checked_version(root: Path, tag: str | None = None) -> str:
    """The version, if the package, CITATION.cff, the CHANGELOG and the tag agree on it."""
    source = (root / "src/rankad/__init__.py").read_text(encoding="utf-8")
    version = re.search(r'^__version__ = "(.+)"$', source, flags=re.MULTILINE)[1]
    cited = str(yaml.safe_load((root / "CITATION.cff").read_text(encoding="utf-8"))["version"])
    if cited != version:
        raise ReleaseError(f"CITATION.cff has version {cited}, the package {version}.")
    changelog = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## \[(.+?)\]", changelog, flags=re.MULTILINE)
    if version not in headings and (tag or "Unreleased" not in headings):
        raise ReleaseError(f"CHANGELOG.md has no heading for {version}, only {headings}.")
    if tag and tag != f"v{version}":
        raise ReleaseError(f"The tag is {tag}, the version {version}.")
    return version


# -- Contents ----------------------------------------------------------------------------------


def build(version: str) -> tuple[Path, Path]:
    """Make both packages; the wheel from the source distribution, as `build` does."""
    shutil.rmtree(DIST, ignore_errors=True)
    run(sys.executable, "-m", "build", "--outdir", str(DIST), str(ROOT), quiet=True)
    found = sorted(path.name for path in DIST.iterdir() if path.name != ".gitignore")
    expected = [f"rankad-{version}-py3-none-any.whl", f"rankad-{version}.tar.gz"]
    if found != expected:
        raise ReleaseError(f"dist/ holds {found}, not {expected}.")
    return DIST / expected[1], DIST / expected[0]


def wheel_names(wheel: Path) -> list[str]:
    """Names of the files in a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


def sdist_names(sdist: Path) -> list[str]:
    """Names of the files in a source distribution, without its folder."""
    with tarfile.open(sdist) as archive:
        names = [member.name for member in archive.getmembers() if not member.isdir()]
    return [name.partition("/")[2] for name in names]


def module_names() -> list[str]:
    """The package's modules, as a wheel names them."""
    source = ROOT / "src"
    return [path.relative_to(source).as_posix() for path in source.rglob("*.py")]


def wheel_problems(names: list[str], modules: list[str]) -> Iterator[str]:
    """What a wheel holds that it should not, and what it lacks."""
    yield from (f"lacks {name}" for name in sorted(set(modules) - set(names)))
    for needed in _WHEEL_NEEDS:
        if not any(name == needed or name.endswith(f".dist-info/{needed}") for name in names):
            yield f"lacks {needed}"
    for name in names:
        is_wanted = name in modules or name == "rankad/py.typed" or ".dist-info/" in name
        if _UNWANTED.search(name) or not is_wanted:
            yield f"holds {name}"


def sdist_problems(names: list[str]) -> Iterator[str]:
    """What a source distribution holds that it should not, and what it lacks."""
    yield from (f"lacks {name}" for name in _SDIST_NEEDS if name not in names)
    for name in names:
        path = PurePosixPath(name)
        is_in_place = len(path.parts) == 1 or path.parts[0] in _SDIST_FOLDERS
        is_of_type = path.suffix in _SDIST_TYPES or len(path.parts) == 1
        if _UNWANTED.search(name) or not is_in_place or not is_of_type:
            yield f"holds {name}"


def check_names(package: str, problems: list[str]) -> None:
    """Refuse a package with problems."""
    if problems:
        raise ReleaseError("\n  ".join([f"the {package}", *problems]))


def check_sizes(limits: dict[Path, int]) -> None:
    """Refuse packages that are larger than they can honestly be."""
    for package, limit in limits.items():
        size = package.stat().st_size
        print(f"{package.name}: {size:,} bytes")
        if size > limit:
            raise ReleaseError(f"{package.name} has {size:,} bytes, more than {limit:,}.")


# -- Installed ---------------------------------------------------------------------------------


def check_installed(package: Path, version: str) -> None:
    """Install into an empty environment, away from the repository, and run the example there."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run(sys.executable, "-m", "venv", str(folder / "venv"))
        python = folder / "venv" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
        run(str(python), "-m", "pip", "install", "--quiet", str(package))
        run(str(python), "-m", "pip", "check", cwd=folder)
        code = (
            "import rankad, pathlib, sys; folder = pathlib.Path(rankad.__file__).parent; "
            f"assert rankad.__version__ == {version!r}, rankad.__version__; "
            "assert folder.is_relative_to(sys.prefix), folder; "
            "assert (folder / 'py.typed').exists()"
        )
        run(str(python), "-c", code, cwd=folder)
        shutil.copy(ROOT / "examples/demo.py", folder)
        run(str(python), "demo.py", "--check", cwd=folder, quiet=True)
    print(f"{package.name}: installs, and passes the check of examples/demo.py")


def run(*command: str, cwd: Path = ROOT, quiet: bool = False) -> None:
    """Run a command. If it fails, the error has its output."""
    outcome = subprocess.run(
        command, cwd=cwd, check=False, capture_output=quiet, text=True, encoding="utf-8"
    )
    if outcome.returncode:
        output = f"\n{outcome.stdout}{outcome.stderr}" if quiet else ""
        raise ReleaseError(f"{' '.join(command)} failed.{output}")


if __name__ == "__main__":
    main()
