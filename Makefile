# make demo: trains a sentiment classifier on the embedded sample.   make test: runs the tests.
# Both set up .venv first. PYTHON=3.12 or PYTHON=/path/to/python chooses the Python.

PYTHON ?= $(shell for p in python3.13 python3.12 python3.11 python3 python; do \
	$$p -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null && echo $$p && break; done)
PY := $(patsubst 3.%,python3.%,$(PYTHON))
READY := .venv/ready

.PHONY: demo test clean

demo: $(READY)
	@.venv/bin/python main.py train sentiment

test: $(READY)
	@.venv/bin/python -m pytest
	@KERAS_BACKEND=jax .venv/bin/python -m pytest tests/layers -k "equal or padding or without_tensorflow"

$(READY): requirements.txt
	@case "$$(uname -sm)" in Linux\ *|Darwin\ arm64) ;; \
		*) echo "Unroll runs on Linux and on Apple-silicon macOS; on Windows use WSL."; exit 1;; esac
	@test -n "$(PY)" || { echo "Unroll needs Python 3.11, 3.12 or 3.13: install one, or name it with PYTHON=..."; exit 1; }
	@$(PY) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null || \
		{ echo "$(PY) is not a Python 3.11, 3.12 or 3.13: name one with PYTHON=..."; exit 1; }
	@$(PY) -c 'import ensurepip' 2>/dev/null || \
		{ echo "$(PY) cannot make virtual environments: install its venv package (Debian: python3-venv)."; exit 1; }
	@echo "setting up .venv with $$($(PY) --version); this downloads about 1 GB once"
	@$(PY) -m venv --clear .venv
	@.venv/bin/python -m pip install --quiet --disable-pip-version-check -r requirements.txt || \
		{ echo "The packages could not be installed (see above): is there a connection, and 3 GB of free disk?"; exit 1; }
	@touch $@

clean:
	rm -rf .venv .pytest_cache
