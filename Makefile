# Every target does its own set-up: python3 and make are all a machine needs.
PYTHON ?= python3
BIN := .venv/bin
# Tests run in one process per core; more threads in each would only wait for one another.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
PYTEST := $(ONE_THREAD) $(BIN)/pytest -n auto
INSTALLED := .venv/.installed
OLDEST := .venv-oldest
PEERS := .venv/.peers-installed

.DEFAULT_GOAL := help
.PHONY: help setup demo lint test test-oldest test-all test-rest bench bench-quick accuracy wheel clean

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

wheel: $(INSTALLED)  ## build the wheel, and check it in an empty environment
	rm -rf dist .wheel-venv
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .
	$(PYTHON) -m venv .wheel-venv
	.wheel-venv/bin/python -m pip install --quiet dist/rankad-*.whl
	cd dist && ../.wheel-venv/bin/python ../examples/demo.py --check

clean:  ## remove what the other targets made
	rm -rf .venv $(OLDEST) .wheel-venv build dist demo.png .coverage .hypothesis .import_linter_cache
	rm -rf .pytest_cache .mypy_cache .ruff_cache
	find src tests -name __pycache__ -prune -exec rm -rf {} +
