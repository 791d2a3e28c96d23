# Every target makes what it needs: .venv once, and again only when pyproject.toml changes.
# PYTHON is the interpreter that .venv is made from; anything from 3.11 on.

PYTHON  ?= python3
MODEL   ?=
PORT    ?= 8000
ARGS    ?=
MINUTES ?= 120
REPLAY  ?=
REPLAYS := $(filter-out 0,$(REPLAY))
SCALE   ?= small
ONLY    ?=
DATA    ?=
WORKERS ?=
JOBS    ?= logical
COVER   ?=
VENV    := .venv
BIN     := $(VENV)/bin
TIMED   := bash tools/timed
SPREAD   = -n "$(JOBS)" --maxprocesses 4 --dist loadfile --no-loadscope-reorder

.DEFAULT_GOAL := help
.PHONY: help demo test test-server lint experiments recordings lab serve bench nano docs clean

help: ## Say what can be made
	@echo "atlaskit: a long video as a map. What can be made:"
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 20

demo: $(VENV)/notebook ## Run the quickstart notebook: make a video, serve nano by vLLM, ask it; MODEL=oracle asks a program instead
	@$(TIMED) "quickstart notebook" $(BIN)/python -m atlaskit run notebooks/01_quickstart.ipynb --out figures \
		$(if $(MODEL),-p model "$(or $(realpath $(MODEL)),$(MODEL))")
	@echo "Executed notebook and figures: $(CURDIR)/figures"

test: $(VENV)/test ## Run the tests, some files at once: as many as there are cores, four at most; JOBS=1 for one, COVER=1 for the coverage
	@$(TIMED) "tests" $(BIN)/python -m pytest -m "not server" --durations=8 $(SPREAD) $(if $(filter-out 0,$(COVER)),--cov)

test-server: $(VENV)/test ## Run the tests that need a real vLLM server, on a tiny model made on the spot
	@$(BIN)/python -c "from atlaskit.models.serving.install import interpreter; interpreter()"
	@$(TIMED) "tests on a vLLM server" $(BIN)/python -m pytest -m server --durations=8 $(SPREAD)

lint: $(VENV)/test ## Check style, types, and that notebooks are stripped
	@$(TIMED) "style"     $(BIN)/ruff check .
	@$(TIMED) "format"    $(BIN)/ruff format --check .
	@$(TIMED) "types"     $(BIN)/mypy
	@$(TIMED) "types of what learns" $(BIN)/mypy --config-file tools/mypy-learn.ini
	@$(TIMED) "notebooks" $(BIN)/nbstripout --verify notebooks/*.ipynb

experiments: $(VENV)/notebook ## Run all notebooks headless: SCALE=smoke|small|full ONLY=03,08 MODEL=nano DATA=folder WORKERS=8 REPLAY=1
	@$(if $(REPLAYS),$(BIN)/python -m atlaskit cache import recordings/*.zip)
	@$(TIMED) "all notebooks" $(BIN)/python -m atlaskit experiments --scale "$(SCALE)" $(if $(ONLY),--only "$(ONLY)") \
		$(if $(MODEL),--model "$(MODEL)") $(if $(DATA),--data "$(DATA)") $(if $(WORKERS),--workers "$(WORKERS)") $(if $(REPLAYS),--replay)

recordings: demo ## Record anew what the notebooks' models reply
	@$(BIN)/python -m atlaskit cache export recordings/01_quickstart.zip --run figures/01_quickstart_*.json

lab: $(VENV)/notebook ## Open JupyterLab on the notebooks
	$(BIN)/jupyter lab notebooks

serve: export SERVE_ARGS = $(ARGS)
serve: $(VENV)/notebook ## Serve a model by vLLM on this machine: make serve MODEL=Qwen/Qwen3-VL-8B-Instruct
	@$(if $(MODEL),,echo "Name a model, by hub id or folder: make serve MODEL=Qwen/Qwen3-VL-8B-Instruct" >&2; exit 2)
	@$(BIN)/python -m atlaskit serve "$(MODEL)" --port "$(PORT)" --vllm="$$SERVE_ARGS"

nano: $(VENV)/notebook ## Train nano, the small model that comes with the kit, anew: two hours and more; MINUTES=3 for a trial
	@$(BIN)/python -m atlaskit.nano.train cache/nano --minutes "$(MINUTES)"

bench: $(VENV)/bench ## Measure what the kit costs, beside its alternatives (10 GB of disk for some minutes)
	@$(TIMED) "benchmarks" $(BIN)/python tools/bench.py

docs: $(VENV)/docs ## Build the documentation into site/: open site/index.html, no server and no network needed
	@NO_MKDOCS_2_WARNING=1 $(TIMED) "documentation" $(BIN)/mkdocs build --strict
	@echo "Documentation: $(CURDIR)/site/index.html"

clean: ## Remove .venv, the cache, the figures and the documentation's site
	rm -rf .venv .venv-serve .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage htmlcov dist site *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
	find cache figures -mindepth 1 ! -name README.md -delete

$(VENV)/bench: pyproject.toml $(VENV)/test
	@$(TIMED) "installing what is compared with into $(VENV)" $(BIN)/python -m pip install -q -e '.[notebook,test,bench]'
	@touch $@

$(BIN)/python: ; @bash tools/venv "$(PYTHON)" "$(VENV)"

$(VENV)/notebook: pyproject.toml | $(BIN)/python
	@$(TIMED) "installing the kit and JupyterLab into $(VENV)" $(BIN)/python -m pip install -q -e '.[notebook]'
	@touch $@

$(VENV)/test: pyproject.toml $(VENV)/notebook
	@$(TIMED) "installing the test tools into $(VENV)" $(BIN)/python -m pip install -q -e '.[notebook,test]'
	@touch $@

$(VENV)/docs: pyproject.toml $(VENV)/notebook
	@$(TIMED) "installing the documentation tools into $(VENV)" $(BIN)/python -m pip install -q -e '.[notebook,docs]'
	@touch $@
