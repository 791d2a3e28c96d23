# Every target installs its dependencies into .venv, and again only when pyproject.toml changes.
# PYTHON is the interpreter that creates .venv: Python 3.11 or newer.

PYTHON  ?= python3
MODEL   ?=
PORT    ?= 8000
ARGS    ?=
MINUTES ?= 120
REPLAY  ?=
REPLAYS := $(filter-out 0,$(REPLAY))
SCALE   ?= small
SEEDS   ?=
ONLY    ?=
DATA    ?=
FIRST   ?=
WORKERS ?=
NEWEST  ?=
KEEP    ?=
FAMILIES ?=
JOBS    ?= logical
COVER   ?=
YES     ?=
VENV    := .venv
BIN     := $(VENV)/bin
RL      := .venv-rl
TIMED   := bash tools/timed
INSTALL := $(BIN)/python tools/install
export NEWEST
# A process that a hanging test ended is not replaced, since its successor would run that test again.
SPREAD   = -n "$(JOBS)" --maxprocesses 4 --max-worker-restart 0 --dist loadfile --no-loadscope-reorder

.DEFAULT_GOAL := help
.PHONY: help demo paper test test-long test-all test-server test-rl lock newest lint experiments recordings lab serve bench nano docs clean clean-all

help: ## List the targets
	@echo "atlaskit: ask a vision-language model about long videos. Targets:"
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 20

demo: $(VENV)/notebook ## Run the quickstart notebook on nano, served by vLLM; MODEL=oracle needs no vLLM
	@$(TIMED) "quickstart notebook" $(BIN)/atlaskit run notebooks/01_quickstart.ipynb --out figures \
		$(if $(MODEL),--model "$(or $(filter nano,$(MODEL)),$(realpath $(MODEL)),$(MODEL))")
	@echo "Open $(CURDIR)/figures/01_quickstart.html"

test: $(VENV)/test ## Run the short tests, on up to four cores; JOBS=1 for one process
	@$(TIMED) "short tests" $(BIN)/python -m pytest -m "not server and not rl and not registry and not long" --durations=8 $(SPREAD)

test-all: $(VENV)/test ## Run the long tests too, all but those of test-server and test-rl; COVER=1 for coverage
	@$(TIMED) "tests" $(BIN)/python -m pytest -m "not server and not rl" --durations=8 $(SPREAD) $(if $(filter-out 0,$(COVER)),--cov)

test-long: $(VENV)/test ## Run the long tests alone, as CI does on the newest Python
	@$(TIMED) "long tests" $(BIN)/python -m pytest -m "(long or registry) and not server and not rl" --durations=8 $(SPREAD)

test-server: export FAMILIES := $(FAMILIES)
test-server: $(VENV)/test ## Run the tests that need a real vLLM server, with tiny models that they create; FAMILIES=all for all families and the long ones
	@$(BIN)/python -c "from atlaskit.models.serving.install import interpreter; interpreter()"
	@$(TIMED) "tests on a vLLM server" $(BIN)/python -m pytest -m "server$(if $(FAMILIES),, and not long)" --durations=8 $(SPREAD)

test-rl: $(RL)/test ## Run the tests with TRL and verifiers on a tiny model, in an environment of their own (2 GB)
	@$(TIMED) "tests with TRL and verifiers" $(RL)/bin/python -m pytest tests/rl -m rl --confcutdir=tests/rl --durations=8

lock: $(VENV)/test ## Renew the versions that all targets install; KEEP=1 changes none that are still possible
	@$(TIMED) "lock" $(BIN)/python tools/lock.py $(if $(filter-out 0,$(KEEP)),--keep)

newest: ## Run demo and short tests with the newest version of everything, in .venv-newest
	@bash tools/newest "$(PYTHON)"

lint: $(VENV)/test ## Check style, types, page scripts, imports between packages, and that notebooks are stripped
	@$(TIMED) "style"     $(BIN)/ruff check .
	@$(TIMED) "format"    $(BIN)/ruff format --check .
	@$(TIMED) "scripts"   $(BIN)/python tools/lint_scripts.py
	@$(TIMED) "types"     $(BIN)/mypy
	@$(TIMED) "imports"   $(BIN)/lint-imports
	@$(TIMED) "types of nano/learn" $(BIN)/mypy --config-file tools/mypy-learn.ini
	@$(TIMED) "notebooks" $(BIN)/nbstripout --verify notebooks/*.ipynb nano/*.ipynb

experiments: $(VENV)/notebook ## Run all notebooks headless: SCALE=smoke|small|full ONLY=03,08 MODEL=oracle SEEDS=selection DATA=folder WORKERS=8 REPLAY=1
	@$(if $(REPLAYS),$(BIN)/atlaskit cache --cache cache import recordings/*.jsonl.xz)
	@$(TIMED) "all notebooks" $(BIN)/atlaskit run --scale "$(SCALE)" $(if $(ONLY),--only "$(ONLY)") \
		$(if $(MODEL),--model "$(MODEL)") $(if $(SEEDS),-p seeds "$(SEEDS)") $(if $(DATA),--data "$(DATA)") $(if $(WORKERS),-p workers "$(WORKERS)") $(if $(REPLAYS),--replay)

paper: $(VENV)/notebook ## Re-run the paper's tables and figures on a dataset: DATA=folder MODEL=Qwen/Qwen3-VL-8B-Instruct FIRST=30 ARGS="--total-tokens 2000000"
	@$(if $(and $(DATA),$(MODEL)),,echo "Name a dataset's folder and a model: make paper DATA=data/LongVideoBench MODEL=Qwen/Qwen3-VL-8B-Instruct" >&2; exit 2)
	@$(BIN)/atlaskit paper "$(DATA)" --model "$(MODEL)" $(if $(FIRST),--first "$(FIRST)") $(ARGS)

recordings: $(VENV)/notebook ## Run all notebooks as `make experiments` does, and record what REPLAY=1 needs
	@began=$$(date +%Y-%m-%dT%H:%M:%S) && $(MAKE) experiments && \
		$(BIN)/atlaskit cache --cache cache export "recordings/$(SCALE).jsonl.xz" --since "$$began"

lab: $(VENV)/notebook ## Open JupyterLab on the notebooks
	$(BIN)/jupyter lab notebooks

serve: export SERVE_ARGS = $(ARGS)
serve: $(VENV)/notebook ## Serve a model with vLLM on this machine: make serve MODEL=Qwen/Qwen3-VL-8B-Instruct
	@$(if $(MODEL),,echo "Name a model by hub id or folder: make serve MODEL=Qwen/Qwen3-VL-8B-Instruct" >&2; exit 2)
	@$(BIN)/atlaskit serve "$(MODEL)" --port "$(PORT)" --vllm="$$SERVE_ARGS"

nano: $(VENV)/notebook ## Train nano, the small model that ships with atlaskit, from scratch (two hours); MINUTES=3 for a trial
	@$(BIN)/python -m nano.train cache/nano --minutes "$(MINUTES)"

bench: $(VENV)/bench ## Measure speed and memory against alternatives (needs 10 GB of disk while it runs)
	@$(TIMED) "benchmarks" $(BIN)/python tools/bench.py

docs: $(VENV)/docs ## Build the documentation into site/; open site/index.html, which needs no server or network
	@NO_MKDOCS_2_WARNING=1 $(TIMED) "documentation" $(BIN)/mkdocs build --strict
	@echo "Documentation: $(CURDIR)/site/index.html"

clean: ## Remove .venv, the figures and the built documentation; the cache and the recordings stay
	rm -rf .venv .venv-* .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage htmlcov dist site *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
	find figures -mindepth 1 ! -name README.md -delete

clean-all: export YES := $(YES)
clean-all: ## Ask, then remove the cache too, with the replies that were paid for; YES=1 does not ask
	@bash tools/clean-all
	@$(MAKE) --no-print-directory clean

# The lock and pyproject.toml decide what is installed; NEWEST=1 leaves out the lock.
INSTALLS := pyproject.toml atlaskit/requirements.lock

$(BIN)/python: ; @bash tools/venv "$(PYTHON)" "$(VENV)"

$(VENV)/notebook: $(INSTALLS) | $(BIN)/python
	@$(INSTALL) notebook
	@echo "Activate it to use atlaskit on the command line: . $(BIN)/activate"
	@touch $@

$(VENV)/test: $(INSTALLS) $(VENV)/notebook
	@$(INSTALL) notebook test
	@touch $@

$(VENV)/docs: $(INSTALLS) $(VENV)/notebook
	@$(INSTALL) notebook docs
	@touch $@

$(VENV)/bench: $(INSTALLS) $(VENV)/test
	@$(INSTALL) notebook test bench
	@touch $@

# For nano/learned_policy.ipynb. PyTorch for CPUs is not in the lock.
$(VENV)/policy: nano/requirements.txt $(VENV)/notebook
	@$(TIMED) "PyTorch for CPUs and sb3-contrib" $(BIN)/python -m pip install --quiet -r nano/requirements.txt
	@touch $@

$(RL)/test: pyproject.toml $(VENV)/test
	@bash tools/venv "$(BIN)/python" "$(RL)"
	@NEWEST=1 $(RL)/bin/python tools/install test-rl
	@$(RL)/bin/python -c "import sys, pathlib; from atlaskit.models.serving import install, lock; \
		install.add_image_processing(pathlib.Path(sys.prefix), lock.Progress('adding image processors'))"
	@touch $@
