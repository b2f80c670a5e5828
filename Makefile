# Every target does its own set-up: python3 and make are all a machine needs.
PYTHON ?= python3
BIN := .venv/bin
# Tests run in one process per core; more threads in each would only wait for one another.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
PYTEST := $(ONE_THREAD) $(BIN)/pytest -n auto
INSTALLED := .venv/.installed
OLDEST := .venv-oldest
PEERS := .venv/.peers-installed
DOCS := .venv/.docs-installed
RELEASE := .venv/.release-installed

.DEFAULT_GOAL := help
.PHONY: help setup demo lint test test-oldest test-all test-rest bench bench-quick accuracy docs release-check clean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | sort

$(INSTALLED): pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@

setup: $(INSTALLED)  ## install the package and its tools into .venv

demo: $(INSTALLED)  ## train on bundled real data, print what it achieves, draw it (demo.png)
	$(BIN)/python examples/demo.py --picture demo.png

lint: $(INSTALLED)  ## style, types and layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: lint  ## lint, types, layers and the fast tests
	$(PYTEST) -m 'not slow and not data' --cov --cov-report=term

$(OLDEST)/.installed: pyproject.toml oldest.txt
	python3.11 -m venv --clear $(OLDEST)
	$(OLDEST)/bin/python -m pip install --quiet --upgrade pip
	$(OLDEST)/bin/python -m pip install --quiet --constraint oldest.txt --editable '.[test]'
	touch $@

# The old versions use what the newest of their own dependencies deprecate; that is not ours to mend.
# The compiled functions are kept apart, as each version of numba discards those of another.
test-oldest: $(OLDEST)/.installed  ## the fast tests with the oldest Python and dependencies supported
	NUMBA_CACHE_DIR=$(CURDIR)/$(OLDEST)/numba $(ONE_THREAD) $(OLDEST)/bin/pytest -n auto \
		-m 'not slow and not data' -W ignore::DeprecationWarning

test-all: test test-rest  ## the same, and slow statistics and real data (folder: RANKAD_DATA)

test-rest: $(INSTALLED)  ## what test leaves out: slow statistics and real data
	$(PYTEST) -m 'slow or data' tests

$(PEERS): $(INSTALLED)
	$(BIN)/python -m pip install --quiet --editable '.[bench]'
	touch $@

bench: $(PEERS)  ## speed beside the peers, into docs/benchmarks.md (half an hour, a quiet machine)
	$(BIN)/python benchmarks/speed

bench-quick: $(PEERS)  ## the same, smaller and printed only (three minutes)
	$(BIN)/python benchmarks/speed --quick

accuracy: $(INSTALLED)  ## accuracy on laws and real sets, into docs/accuracy.md (an hour; goes on where stopped)
	$(BIN)/python benchmarks/accuracy.py
	$(BIN)/python benchmarks/accuracy.py further last
	$(BIN)/python benchmarks/accuracy_page.py

$(DOCS): $(INSTALLED)
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	touch $@

docs: $(DOCS)  ## build the site, with the API reference and the gallery, into docs/_build/html
	rm -rf docs/_build docs/api docs/gallery
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/sphinx-build -W --keep-going -q -b html \
		-d docs/_build/doctrees docs docs/_build/html
	$(BIN)/python docs/check_site.py docs/_build/html

$(RELEASE): $(INSTALLED)
	$(BIN)/python -m pip install --quiet --editable '.[release]'
	touch $@

release-check: $(RELEASE)  ## build sdist and wheel, and check both in empty environments
	$(BIN)/python tools/release_check.py $(if $(TAG),--tag '$(TAG)')

clean:  ## remove what the other targets made
	rm -rf .venv $(OLDEST) build dist demo.png docs/_build docs/api docs/gallery .coverage .hypothesis .import_linter_cache
	rm -rf .pytest_cache .mypy_cache .ruff_cache
	find src tests -name __pycache__ -prune -exec rm -rf {} +
