# Two commands on a fresh machine: `make reproduce` and `make test`. `make help` lists the rest.
.DEFAULT_GOAL := help
.PHONY: help env gpu reproduce test slow cluster-test wheelhouse lab site pyodide site-test lint format golden benchmark lock

# The first interpreter on the path that fairlab supports; override with PYTHON=...
PYTHON ?= $(shell for p in python3.13 python3.12 python3.11 python3 python; do \
	$$p -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' 2>/dev/null \
	&& echo $$p && break; done)
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PROFILE ?= quick
PYODIDE ?= results/pyodide
NOTEBOOKS := $(wildcard notebooks/*.ipynb notebooks/*/*.ipynb)
STRIP := --keep-id --extra-keys "metadata.language_info.version cell.metadata.papermill"
# Modules that are compiled once are kept, also where the shell asks otherwise: without them every process compiles anew.
export PYTHONDONTWRITEBYTECODE :=
# The packages whose modules take seconds to compile. Processes that start together would each compile them.
LARGE := keras matplotlib networkx numba numpy pandas scipy sklearn sqlalchemy tensorflow
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
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
		$(PIP) install --require-hashes -r $(VENV)/uv.lock 2> /dev/null; } || true
	@$(UV) pip install --quiet --python $(BIN)/python --require-hashes -r requirements.lock 2> /dev/null \
		|| $(PIP) install --no-compile --require-hashes -r requirements.lock
	@$(PIP) install --no-deps --no-build-isolation -e .
	@$(BIN)/python -m ipykernel install --sys-prefix --name fairlab --display-name fairlab > /dev/null
	@$(BIN)/python -m compileall -q -j 0 -x '/tests?/' $(LARGE:%=$(VENV)/lib/python*/site-packages/%) > /dev/null 2>&1 || true
	@touch $(READY)
	@echo "Environment ready."

gpu: $(READY) ## replace TensorFlow for the CPU by the one for NVIDIA GPUs
	@$(PIP) uninstall --yes tensorflow-cpu
	@$(PIP) install --require-hashes -r requirements-gpu.lock

reproduce: $(READY) ## fetch data, run every experiment (PROFILE=quick), write the scorecard
	@$(BIN)/fairlab data fetch --keep-going
	@$(BIN)/fairlab run --all --profile $(PROFILE)

# One process more than the cores of a small machine: many tests wait for kernels and other processes.
test: $(READY) ## run all tests but the slow ones
	@$(BIN)/python -m pytest -n 3 --dist worksteal -m "not slow and not browser"

slow: $(READY) ## run the slow tests too
	@$(BIN)/python -m pytest -n 3 --dist worksteal -m "not browser"

cluster-test: $(READY) ## run a batch on SLURM's own daemons, with a cancelled and a failed job
	@$(BIN)/python -m pytest -q -n 0 -rs -m slow tests/cluster

wheelhouse: $(READY) ## all packages of the lock as files in results/wheelhouse, for machines without network
	@$(BIN)/python -m pip download --quiet --disable-pip-version-check --require-hashes -r requirements.lock -d results/wheelhouse
	@echo "There: python -m pip install --no-index --find-links results/wheelhouse --require-hashes -r requirements.lock"

lab: $(READY) ## open the notebooks in JupyterLab (LAB=1: the first lab, as students receive it)
	@test -z "$(LAB)" -o -d results/labs || $(BIN)/fairlab labs build --out results/labs
	@$(BIN)/jupyter lab $(if $(LAB),results/labs/students/lab$(LAB)-*/*.ipynb,notebooks/start_here.ipynb)

site: $(READY) ## build the site into site/, with results of runs if available
	@$(BIN)/fairlab site --out site --jobs 2
	@$(BIN)/python notebooks/labs/lite/build.py build $(PYODIDE) site/lite

pyodide: $(READY) ## fetch what the labs need in a browser into results/pyodide, as far as npm and PyPI have it
	@$(BIN)/python notebooks/labs/lite/build.py fetch $(PYODIDE)

site-test: $(READY) ## test the site in a browser (Chromium, if available)
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
	@$(BIN)/python tests/golden.py $(OLD) $(or $(NEW),results) --profile $(PROFILE)

benchmark: $(READY) ## measure speed and memory (QUICK=1: small sizes), write results/benchmarks.json
	@$(BIN)/python -m fairlab.benchmarks $(if $(QUICK),--quick)

COMPILE := $(UV) pip compile pyproject.toml --universal --python-version 3.11 --fork-strategy fewest \
	--no-header --no-annotate --generate-hashes --quiet

lock: $(READY) ## resolve requirements.lock from pyproject.toml, and the locks of GPUs, labs and the monitor
	$(COMPILE) --extra networks --extra symbolic --extra suite --extra cluster --extra labs --extra peers --extra site --extra monitor --extra dev \
		--upgrade -o requirements.lock
	$(COMPILE) --extra gpu --constraints requirements.lock --upgrade -o requirements-gpu.lock
	$(COMPILE) --extra monitor --constraints requirements.lock -o experiments/containers/monitor.lock
	@sed -i.old '/^ *- -e \.$$/q' environment.yml && rm environment.yml.old
	@sed -n 's/^\([^ ].*\) \\$$/      - "\1"/p' requirements.lock >> environment.yml
	printf 'jupyterlab\nipykernel\n' | $(COMPILE) - --constraints requirements.lock -o notebooks/labs/requirements.lock
