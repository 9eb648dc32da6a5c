# Two commands on a fresh machine: `make reproduce` and `make test`. `make help` lists the rest.
.DEFAULT_GOAL := help
.PHONY: help env reproduce test slow cluster-test wheelhouse lab site pyodide site-test lint format golden benchmark lock

# The first interpreter on the path that all packages of the lock have wheels for; override with PYTHON=...
PYTHON ?= $(shell for p in python3.13 python3.12 python3.11 python3 python; do \
	$$p -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' 2>/dev/null \
	&& echo $$p && break; done)
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
BROWSER := $(VENV)/.browser
SNAKEMAKE := $(abspath results/snakemake/bin/snakemake)
PROFILE ?= quick
PYODIDE ?= results/pyodide
NOTEBOOKS := $(wildcard notebooks/*.ipynb notebooks/*/*.ipynb)
STRIP := --keep-id --extra-keys "metadata.language_info.version cell.metadata.papermill"
# Modules that are compiled once are kept, also where the shell asks otherwise: without them every process compiles anew.
export PYTHONDONTWRITEBYTECODE :=
# The packages whose modules take seconds to compile. Processes that start together would each compile them.
LARGE := keras matplotlib numba numpy pandas scipy sklearn sqlalchemy tensorflow
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
# A lock is complete, so it is installed as it stands.
LOCKED := --no-deps --require-hashes -r
# What installs in a quarter of the time; where it cannot be had, or cannot reach what pip can, pip does it.
UV := $(or $(shell command -v uv),$(BIN)/uv)

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

env: $(READY) ## build the environment in .venv (done by every other target)

$(READY): requirements.lock pyproject.toml
	@test -n "$(PYTHON)" || { echo "fairlab needs Python 3.11, 3.12 or 3.13 on the path, or PYTHON=/path/to/python"; exit 1; }
	@echo "Building the environment in $(VENV) with $$($(PYTHON) --version); a few minutes, once."
	@$(PYTHON) -m venv $(VENV)
	@test -x $(UV) || { awk '/^[^ ]/ {own = /^uv==/} own' requirements.lock > $(VENV)/uv.lock && \
		$(PIP) install $(LOCKED) $(VENV)/uv.lock 2> /dev/null; } || true
	@$(UV) pip install --quiet --python $(BIN)/python $(LOCKED) requirements.lock 2> /dev/null \
		|| $(PIP) install --no-compile $(LOCKED) requirements.lock
# TensorFlow's C++ headers (287 MB) are for those who compile operations of their own.
	@rm -rf $(VENV)/lib/python*/site-packages/tensorflow/include
	@$(PIP) install --no-deps --no-build-isolation -e .
	@$(BIN)/python -m ipykernel install --sys-prefix --name fairlab --display-name fairlab > /dev/null
	@$(BIN)/python -m compileall -q -j 0 -x '/tests?/' $(LARGE:%=$(VENV)/lib/python*/site-packages/%) > /dev/null 2>&1 || true
	@touch $(READY)
	@echo "Environment ready."

reproduce: $(READY) ## fetch data, run every experiment (PROFILE=quick), write the scorecard
	@$(BIN)/fairlab data fetch --keep-going
	@$(BIN)/fairlab run --all --profile $(PROFILE)

# One process more than the cores of a small machine: many tests wait for kernels and other processes.
test: $(READY) ## run all tests but the slow ones
	@$(BIN)/python -m pytest -n 3 --dist worksteal -m "not slow and not browser"

slow: $(READY) ## run the slow tests too
	@$(BIN)/python -m pytest -n 3 --dist worksteal -m "not browser"

# Snakemake is a program of its own, in an environment of its own.
$(SNAKEMAKE): tests/cluster/requirements.lock
	@$(PYTHON) -m venv $(dir $(@D))
	@$(@D)/python -m pip --quiet --disable-pip-version-check install $(LOCKED) tests/cluster/requirements.lock
	@touch $@

cluster-test: $(READY) $(SNAKEMAKE) ## run a batch on SLURM's own daemons, with a cancelled and a failed job
	@FAIRLAB_SNAKEMAKE=$(SNAKEMAKE) $(BIN)/python -m pytest -q -n 0 -rs -m slow tests/cluster

wheelhouse: $(READY) ## all packages of the lock as files in results/wheelhouse, for machines without network
	@$(BIN)/python -m pip download --quiet --disable-pip-version-check $(LOCKED) requirements.lock -d results/wheelhouse
	@echo "There: python -m pip install --no-index --find-links results/wheelhouse $(LOCKED) requirements.lock"

lab: $(READY) ## open the notebooks in JupyterLab (LAB=1: the first lab, as students receive it)
	@test -z "$(LAB)" -o -d results/labs || $(BIN)/fairlab labs build --out results/labs
	@$(BIN)/jupyter lab $(if $(LAB),results/labs/students/lab$(LAB)-*/*.ipynb,notebooks/start_here.ipynb)

$(BROWSER): tests/browser/requirements.lock $(READY)
	@$(PIP) install $(LOCKED) tests/browser/requirements.lock
	@touch $@

site: $(READY) ## build the site into site/, with results of runs if available
	@$(BIN)/fairlab site --out site --jobs 2
	@$(BIN)/python notebooks/labs/lite/build.py build $(PYODIDE) site/lite

pyodide: $(BROWSER) ## fetch what the labs need in a browser into results/pyodide, as far as npm and PyPI have it
	@$(BIN)/python notebooks/labs/lite/build.py fetch $(PYODIDE)

site-test: $(BROWSER) ## test the site in a browser (Chromium, if available)
	@$(BIN)/python -m pytest -n 0 -m browser tests/browser

lint: $(READY) ## check code, the types of the public interface, and notebooks
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/nbstripout $(STRIP) --verify $(NOTEBOOKS)

format: $(READY) ## format code, clear the notebooks' outputs
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .
	@$(BIN)/nbstripout $(STRIP) $(NOTEBOOKS)

golden: $(READY) ## compare records, claims and tables of two results folders (OLD=..., NEW=..., PROFILE=smoke)
	@$(BIN)/python tests/golden.py $(OLD) $(or $(NEW),results) $(PROFILE)

benchmark: $(READY) ## measure speed and memory (QUICK=1: small sizes), write results/benchmarks.json
	@$(BIN)/python -m fairlab.benchmarks $(if $(QUICK),--quick)

COMPILE := $(UV) pip compile --universal --python-version 3.11 --fork-strategy fewest --no-header --no-annotate --generate-hashes --quiet
OURS := --constraints requirements.lock

# Versions stay unless UPGRADE=--upgrade: numbers are those of the lock.
lock: $(READY) ## resolve all locks from pyproject.toml (UPGRADE=--upgrade: to the latest versions)
	$(COMPILE) pyproject.toml $(patsubst %,--extra %,networks symbolic suite labs site monitor tables dev) $(UPGRADE) -o requirements.lock
	$(COMPILE) --group browser $(OURS) $(UPGRADE) -o tests/browser/requirements.lock
	$(COMPILE) --group cluster $(UPGRADE) -o tests/cluster/requirements.lock
	$(COMPILE) pyproject.toml --extra monitor $(OURS) -o experiments/containers/monitor.lock
	@sed -i.old '/^ *- -e \.$$/q' environment.yml && rm environment.yml.old
	@sed -n 's/^\([^ ].*\) \\$$/      - "\1"/p' requirements.lock >> environment.yml
	printf 'jupyterlab\nipykernel\n' | $(COMPILE) pyproject.toml - $(OURS) -o notebooks/labs/requirements.lock
