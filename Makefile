# Two commands for a newcomer: `make demo` and `make test`. Both install into .venv first.
PYTHON ?= python3
# Two processes take half of the time; PYTEST="-x tests/ask" runs some of the tests in one.
PYTEST ?= -n 2 --dist loadfile --no-loadscope-reorder
VENV := .venv
BIN := $(VENV)/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Tests start many processes; without compiled modules each compiles all of them again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test lint type imports browser unit postgres-tests opensearch-tests deploy-check
.PHONY: gate dist locks clean help

help: ## say what there is
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

demo: $(VENV)/.core ## install, add the sample knowledge base, answer questions with citations
	@echo "== wellread demo"
	@$(BIN)/wellread demo

test: $(VENV)/.dev lint type imports browser unit ## install what tests need and run every check

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

# The pages are tested in a real browser. Without one those tests are skipped, which is said;
# with WELLREAD_BROWSER_REQUIRED=1, as in .ci/run, they fail. WELLREAD_BROWSER names another one.
browser: ## find a Chromium for the tests of the pages; as root on Debian, install it
	@for name in "$$WELLREAD_BROWSER" chromium chromium-browser google-chrome google-chrome-stable; do \
	  if command -v "$${name:-none}" >/dev/null; then echo "== browser: $$(command -v $$name)"; exit 0; fi; done; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  echo "== browser: installing Debian's chromium (apt-get)"; \
	  { apt-get install -y -qq --no-install-recommends chromium >/dev/null 2>&1 || \
	    { apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium >/dev/null; }; } \
	  || echo "chromium could not be installed"; \
	else echo "== browser: none found; install Chromium or Chrome to test the pages as well"; fi

unit: $(VENV)/.dev
	@echo "== pytest"
	@$(BIN)/pytest $(PYTEST)

# On a server of its own; WELLREAD_TEST_POSTGRES=URL takes one that runs, of a role that may make databases.
postgres-tests: $(VENV)/.dev ## run the tests of stores, ingest, learning, research and pages with the catalogue on PostgreSQL
	@WELLREAD_TEST_POSTGRES="$${WELLREAD_TEST_POSTGRES:-1}" $(BIN)/pytest $(PYTEST) tests/store tests/ingest tests/learning tests/research tests/serve

deploy-check: $(VENV)/.dev ## run the backup and the restore of deploy/backup.sh on a small home
	@WELLREAD_DEPLOY=1 $(BIN)/pytest tests/deploy

# The cluster is one for tests: indexes that begin with test- or rights- are made and dropped in it.
# WELLREAD_TEST_OPENSEARCH_DATA, the folder with the files of all nodes, adds a search for removed words.
opensearch-tests: $(VENV)/.dev ## the tests of the index and of rights on a cluster: WELLREAD_TEST_OPENSEARCH=http://127.0.0.1:9200[,…]
	@test -n "$$WELLREAD_TEST_OPENSEARCH" || { echo "set WELLREAD_TEST_OPENSEARCH to the nodes of a cluster"; exit 2; }
	@$(BIN)/pytest tests/store/test_opensearch.py tests/store/test_opensearch_wire.py tests/serve/rights

# Exit status 0 is a go. RECORD=1 adds a row to benchmarks/releases.md and draws its picture anew.
gate: $(VENV)/.dev ## go or no-go: is this state good enough to be released? RECORD=1 keeps it
	@$(BIN)/python -m benchmarks.gate $(if $(RECORD),--record)

$(VENV)/bin/python:
	@echo "== making $(VENV) with $$($(PYTHON) --version)"
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Wellread needs Python 3.11 or newer; call make PYTHON=python3.12")'
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.core: $(VENV)/bin/python pyproject.toml
	@echo "== installing wellread into $(VENV) (about a minute)"
	@$(BIN)/python -m pip install --quiet --editable .
	@touch $@

# Only what stands in the lock, each file by its hash; nothing else is fetched, also not to build.
$(VENV)/.dev: $(VENV)/bin/python pyproject.toml locks/test.txt
	@echo "== installing wellread and what its tests need into $(VENV) (a minute or two)"
	@$(BIN)/python -m pip install --quiet --require-hashes --only-binary :all: --requirement locks/test.txt
	@$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

dist: $(VENV)/.dev ## build a release into dist/: wheel, source archive, and the SBOM of what it rests on
	@rm -rf dist
	@$(BIN)/python -m hatchling build --directory dist
	@$(BIN)/cyclonedx-py requirements locks/release.txt --pyproject pyproject.toml \
	  --mc-type library --output-reproducible --output-file dist/wellread.cdx.json

LOCK := uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --no-header
EXTRAS := --extra llm --extra mcp --extra oidc --extra opensearch --extra postgres --extra remote
locks: ## write locks/ anew after a change of pyproject.toml (needs uv; UPGRADE=1 takes newer releases)
	@$(LOCK) $(if $(UPGRADE),--upgrade) pyproject.toml $(EXTRAS) --group dev --output-file locks/test.txt
	@$(LOCK) pyproject.toml $(EXTRAS) --constraint locks/test.txt --output-file locks/release.txt

clean: ## remove the virtual environment and the demo's knowledge base
	rm -rf $(VENV) wellread-demo
