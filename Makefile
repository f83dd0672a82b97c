# Two commands need nothing else: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
EXPERIMENTS_STAMP := $(VENV)/.installed-experiments
QUICK ?=
DOCS_STAMP := $(VENV)/.installed-docs
MUTANTS_STAMP := $(VENV)/.installed-mutants
RELEASING_STAMP := $(VENV)/.installed-releasing
ONLY ?=
JOBS ?= 2
# Data sets of the paper, when they lie beside the project; tests that need them skip otherwise.
ifneq ($(wildcard ../shared/data),)
export CLOAKGP_DATA ?= $(abspath ../shared/data)
endif

.PHONY: demo test types suite quick fast bench experiments docs mutants dist format clean

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "cloakgp needs Python 3.11 or newer; run: make PYTHON=/path/to/python3.11 <target>"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -c constraints.txt -e '.[test,parquet]'
	touch $@

demo: $(STAMP)
	$(BIN)/cloakgp demo

# Types are checked beside the tests, which leave a processor idle now and then.
test: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	@$(MAKE) --no-print-directory -j 2 types suite

types: $(STAMP)
	$(BIN)/mypy

suite: $(STAMP)
	$(BIN)/python -m pytest -q -n 2 --dist worksteal

# The same without the tests that take long (tests/long.txt, and those marked slow).
quick: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	@$(MAKE) --no-print-directory -j 2 types fast

fast: $(STAMP)
	$(BIN)/python -m pytest -q -n 2 --dist worksteal -m "not slow and not long" -x

# Two processes with one thread each: more threads than processors wait for one another.  And
# commands that tests start find the package compiled.
test quick: export OMP_NUM_THREADS := 1
test quick: export PYTHONDONTWRITEBYTECODE :=

bench: $(STAMP)
	$(BIN)/python benchmarks/designs.py --markdown docs/benchmarks.md
	$(BIN)/python benchmarks/scale.py --append docs/benchmarks.md
	$(BIN)/python benchmarks/learning.py --append docs/benchmarks.md
	$(BIN)/python benchmarks/desk.py --runs 2 --append docs/benchmarks.md
	$(BIN)/python benchmarks/ledger.py --append docs/benchmarks.md

# What the experiments compare with; `make experiments QUICK=1` is a short version, outside of docs/.
$(EXPERIMENTS_STAMP): $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[experiments]'
	touch $@

experiments: $(EXPERIMENTS_STAMP)
	$(BIN)/python -m experiments $(if $(QUICK),--quick)

# The documentation site, offline once its packages are there: every example of the gallery is run,
# and a warning is an error.  `python -m tools.site --no-gallery` runs none.
$(DOCS_STAMP): $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[docs]'
	touch $@

docs: export OMP_NUM_THREADS := 1
docs: $(DOCS_STAMP)
	$(BIN)/python -m tools.site

# Every small change of the trusted core must fail a test: tools/mutants, resumable.
# make mutants ONLY="calibration utility" JOBS=1; FRESH=1 forgets earlier results.
$(MUTANTS_STAMP): $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[mutants]'
	touch $@

mutants: $(MUTANTS_STAMP)
	$(BIN)/python -m tools.mutants $(ONLY) --jobs $(JOBS) $(if $(FRESH),--fresh)

# What is uploaded to an index, and what goes with it: a list of all that is installed with it
# (CycloneDX), and sums to be signed.  CONTRIBUTING.md has the steps of a release.
$(RELEASING_STAMP): $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[releasing]'
	touch $@

dist: $(RELEASING_STAMP)
	rm -rf dist build/installed
	$(BIN)/python -m build --no-isolation --outdir dist .
	$(BIN)/twine check --strict dist/*
	$(BIN)/check-wheel-contents --no-config --toplevel cloakgp dist/*.whl
	$(PYTHON) -m venv build/installed
	build/installed/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt "$$(ls dist/*.whl)[all]"
	sed "s/^dynamic = .*/version = \"$$($(BIN)/hatchling version)\"/" pyproject.toml >build/pyproject.toml
	$(BIN)/cyclonedx-py environment --pyproject build/pyproject.toml --mc-type library --output-reproducible --output-file dist/cloakgp.cdx.json build/installed
	cd dist && sha256sum * >SHA256SUMS

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis demo-output build/site*
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
