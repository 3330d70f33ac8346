# Two commands for a newcomer: `make demo` and `make test`. Both install into .venv first.
PYTHON ?= python3
# Two processes take half of the time; PYTEST="-x tests/ask" runs some of the tests in one.
PYTEST ?= -n 2 --dist loadfile
VENV := .venv
BIN := $(VENV)/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: demo test lint type imports unit bench clean help

help: ## say what there is
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

demo: $(VENV)/.core ## install, add the sample knowledge base, answer questions with citations
	@echo "== wellread demo"
	@$(BIN)/wellread demo

test: $(VENV)/.dev lint type imports unit ## install what tests need and run every check

lint: $(VENV)/.dev
	@echo "== ruff: format and lint"
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .

type: $(VENV)/.dev
	@echo "== mypy --strict"
	@$(BIN)/mypy

imports: $(VENV)/.dev
	@echo "== import-linter: imports point downward"
	@$(BIN)/lint-imports

unit: $(VENV)/.dev
	@echo "== pytest"
	@$(BIN)/pytest $(PYTEST)

$(VENV)/bin/python:
	@echo "== making $(VENV) with $$($(PYTHON) --version)"
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Wellread needs Python 3.11 or newer; call make PYTHON=python3.12")'
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"

$(VENV)/.core: $(VENV)/bin/python pyproject.toml
	@echo "== installing wellread into $(VENV) (about a minute)"
	@$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/bin/python pyproject.toml
	@echo "== installing wellread and what its tests need into $(VENV) (a minute or two)"
	@$(BIN)/python -m pip install --quiet --editable '.[llm,rerank]' --group dev
	@touch $@

clean: ## remove the virtual environment and the demo's knowledge base
	rm -rf $(VENV) wellread-demo
