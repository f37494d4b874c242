# Everything a working copy needs. The first verb makes .venv; PYTHON=python3.13 chooses another interpreter.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PACKAGES := src tests bench

.PHONY: help run install test unit lint types fmt bench bench-smoke docs lock clean

help:
	@echo "make run          start the gateway (remora serve) from this checkout"
	@echo "make test         all tests; installs the servers and clients they talk to"
	@echo "make unit         the fast ones: unit, property and architecture tests"
	@echo "make lint types   ruff and the import contracts; mypy --strict"
	@echo "make fmt          put the code into form"
	@echo "make bench        measure the gateway beside direct connections and a peer"
	@echo "make docs         make the generated parts of docs/ anew"
	@echo "make lock         resolve requirements-dev.lock anew from pyproject.toml"

$(READY): requirements-dev.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.13 ...")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -e .
	@touch $@

install: $(READY)

run: $(READY)
	@$(BIN)/remora serve

test: $(READY)
	tests/contract/conformance/install.sh
	PYTHON=$(PYTHON) tests/e2e/install.sh
	$(BIN)/python -m pytest

unit: $(READY)
	$(BIN)/python -m pytest tests/unit tests/property/test_config.py tests/architecture

lint: $(READY)
	$(BIN)/ruff check $(wildcard $(PACKAGES))
	$(BIN)/ruff format --check $(wildcard $(PACKAGES))
	$(BIN)/lint-imports

types: $(READY)
	$(BIN)/mypy

fmt: $(READY)
	$(BIN)/ruff check --fix $(wildcard $(PACKAGES))
	$(BIN)/ruff format $(wildcard $(PACKAGES))

bench: $(READY)
	$(BIN)/python bench/gateway.py

bench-smoke: $(READY)
	$(BIN)/python bench/gateway_smoke.py

docs: $(READY)
	$(BIN)/python -m remora.config.schema docs/configuration.md
	$(BIN)/python -m remora.doors.cli.reference docs

lock:
	$(PYTHON) -m venv $(VENV)-lock
	$(VENV)-lock/bin/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	$(VENV)-lock/bin/python -m pip install --quiet --disable-pip-version-check --group dev -e .
	{ echo "# Made by \`make lock\`: everything the dev group and the package need, pinned. Python 3.11 to 3.13."; \
	  $(VENV)-lock/bin/python -m pip freeze --exclude-editable --exclude remora; } > requirements-dev.lock
	rm -rf $(VENV)-lock

clean:
	rm -rf $(VENV) .cache build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
