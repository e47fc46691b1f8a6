# Every command that a person or a CI runs. `make help` lists them.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help setup tools probe test test-clients test-input-methods lint format specs fidelity soak bench clean

VENV := .venv
PYTHON := $(VENV)/bin/python
# Extra arguments, as in: make probe ARGS="--quick", make specs ARGS="-k launching"
ARGS ?=

help: ## List the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## Install what running needs: system packages, .venv with the focusguard command, Electron
	@scripts/prepare run

tools: ## Install what the checks need, on top of setup
	@scripts/prepare test

probe: setup ## Measure where agent input lands; writes results/landing
	$(VENV)/bin/focusguard probe --out results/landing $(ARGS)

test: lint specs ## Check the code, then run every spec but those of clients, input methods, fidelity and bench

lint: tools ## Check style and types of the Python, and the JavaScript
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	@git ls-files -z --cached --others --exclude-standard '*.js' '*.cjs' '*.mjs' | xargs -0 -r -n 1 node --check
	$(PYTHON) scripts/generate-docs --check
	node_modules/.bin/eslint --max-warnings 0 .

format: tools ## Bring the Python into shape
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .

specs: tools ## Run the specs
	$(PYTHON) -m pytest -m "not bench and not fidelity and not input_method" -n 2 --dist loadfile --no-loadscope-reorder --ignore=specs/clients $(ARGS)

test-clients: tools ## Run the specs of clients, and of what people start and import: doctor, pytest plugin, focusguard.sync
	$(PYTHON) -m pytest -m "not bench and not fidelity" -n 2 --dist loadfile $(ARGS) specs/clients

test-input-methods: tools ## Run the specs of a person who composes text, with a real fcitx5
	$(PYTHON) -m pytest -m "input_method and not bench" -n 2 --dist loadfile $(ARGS) specs/headful

fidelity: tools ## Compare what a page sees through the guard with a focused page, event by event: the whole corpus
	$(PYTHON) -m pytest -m "fidelity and not bench" -s $(ARGS)

soak: setup ## A person types 5,000 keystrokes while agents do everything; writes results/soak
	$(VENV)/bin/focusguard soak --keystrokes 5000 --out results/soak $(ARGS)

bench: tools ## Compare timings with and without the guard, within one run
	$(PYTHON) -m pytest -m bench -s $(ARGS)

clean: ## Remove what these commands made here (the Electron cache stays)
	rm -rf $(VENV) node_modules specs/clients/node_modules .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist results
