# Every target sets up what it needs. On a fresh machine: Python 3.11+ with venv, and Java 17.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
N ?= 2000
KILLS ?= 100
# Processes that share the tests, each with a Spark of at most 2 GB. One more than two cores have room
# for: tests of streams wait.
JOBS ?= 3
# Of each generated test that needs no Spark, in `make fuzz`; other tests have theirs.
EXAMPLES ?= 400
# Compiled tests are kept, whatever the environment says: each process would compile them anew.
PYTEST = PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -q

.PHONY: help setup demo test quick lint docs notebook figures bench fuzz slow kills faults test-versions clean java

help:
	@echo "make demo    ten dashboard queries, plain Spark beside muntin (under two minutes)"
	@echo "make test    everything that must hold"
	@echo "make quick   all of it that needs no Spark (a minute)"
	@echo "make lint    ruff, mypy and import-linter"
	@echo "make docs    the site of these documents, in build/site; a broken link is an error"
	@echo "make notebook  the outputs of examples/notebook.ipynb, computed and saved anew"
	@echo "make bench   the benchmark of the README"
	@echo "make figures the pictures of the README and of the site's first pages"
	@echo "make fuzz    N=2000 generated workloads against plain Spark, then EXAMPLES=400 of each generated test"
	@echo "make slow    tests that take minutes each"
	@echo "make test-versions  a core of the tests on every supported Spark and Python"
	@echo "make faults  N=50 generated runs of starts, changes, failures and stops of a stream"
	@echo "make kills   KILLS=100 kills of a streaming process, its queries changing meanwhile"

setup: java $(VENV)/.ready

$(VENV)/.ready: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "muntin needs Python 3.11 or newer; '$(PYTHON)' is $$($(PYTHON) -V 2>&1). Try: make PYTHON=python3.11"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || \
		{ echo "python3 -m venv failed; on Debian: apt-get install python3-venv"; exit 1; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@

java:
	@sh tools/java.sh

demo: setup
	$(BIN)/muntin demo

test: setup
	$(PYTEST) -n $(JOBS) --dist worksteal -m "not slow"

quick: $(VENV)/.ready
	$(PYTEST) -n $(JOBS) --dist worksteal -m "not slow and not spark"

lint: $(VENV)/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

figures: setup
	$(BIN)/python -m tools.readme_figure
	$(BIN)/python -m tools.doc_pictures

# What builds the site is installed only when it is asked for.
$(VENV)/.docs: $(VENV)/.ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[docs]'
	@touch $@

docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet
	@echo "The site is in build/site: open build/site/index.html"

# Saves what the cells of the notebook put out.
notebook: setup
	$(BIN)/python -m tests.support.notebooks examples/notebook.ipynb
	$(BIN)/ruff format --quiet examples

bench: setup
	$(BIN)/python -m benchmarks sharing --json bench-sharing.json

# Other examples in every run, unless the seed of an earlier run is given: make fuzz SEED=7.
fuzz: SEED := $(shell od -An -N3 -tu4 /dev/urandom | tr -d ' ')
fuzz: export MUNTIN_SEED = $(SEED)
fuzz: setup
	@echo "make fuzz SEED=$(SEED) repeats this run"
	MUNTIN_FUZZ=$(N) $(PYTEST) -n $(JOBS) --dist worksteal tests/spark/batch/test_equal_to_spark.py
	MUNTIN_EXAMPLES=$(EXAMPLES) $(PYTEST) --hypothesis-seed=$(SEED) -n $(JOBS) --dist worksteal -m "not slow and not spark"

faults: N := 50
faults: setup
	MUNTIN_FAULTS=$(N) $(PYTEST) -n $(JOBS) --dist worksteal tests/spark/pipeline/test_faults.py \
		tests/spark/pipeline/test_generated_restarts.py

kills: setup
	MUNTIN_KILLS=$(KILLS) $(PYTEST) tests/spark/pipeline/test_stream_kills.py -k test_kills

# Of the versions of Spark that it is given, such as SPARK=4.0; of all of them without.
test-versions: java
	$(PYTHON) tools/test_versions.py $(SPARK)

slow: setup
	$(PYTEST) -m slow

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
