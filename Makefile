# make demo: trains a sentiment classifier on the embedded sample.
# make check: lint and quick tests (1:30 minutes).   make test: the tests (8 minutes).   make test-all: all tests (an hour).
# make course: trains the models of all ten lessons of `learn`, and tests what the lessons say (15 minutes).
# make docs: makes a site of all pages and docstrings, with a search: build/site/index.html.
# make pictures: makes the pictures of docs/images again, those whose models are there or train in a minute.
# make lock: resolves requirements.txt, -dev.txt, -ray.txt, -encoders.txt and -docs.txt again, and writes what to install into the lock files.
# make test-next: the tests of the layers and two tiny runs with the next Keras (keras-nightly); they may fail.
# make replay: records what tiny runs compute, or compares with the earlier recording: the proof that a change changes nothing.
# Each sets up .venv first. PYTHON=3.12 or PYTHON=/path/to/python chooses the Python.

PYTHON ?= $(shell for p in python3.13 python3.12 python3.11 python3 python; do \
	$$p -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null && echo $$p && break; done)
PY := $(patsubst 3.%,python3.%,$(PYTHON))
READY := .venv/ready
DEV_READY := .venv/dev-ready
ALL_READY := .venv/test-all-ready
NEXT_READY := .venv-next/ready
DOCS_READY := .venv-docs/ready
# Not every package of the tests has a wheel; with --use-pep517, pip builds these in an environment of their own.
PIP := .venv/bin/python -m pip install --quiet --disable-pip-version-check --use-pep517
LOCK := .venv/bin/uv pip compile --quiet --universal --generate-hashes --python-version 3.11 \
	--custom-compile-command "make lock"
NEXT_PIP := $(subst .venv/,.venv-next/,$(PIP))
PYTEST := .venv/bin/python -m pytest --numprocesses=2

# Tests that need neither a trained model nor a server: the inner loop of `make check`.
QUICK_TESTS := tests/test_*.py tests/pipelines/test_*.py $(addprefix tests/pipelines/,data support text labelled decoding)

.PHONY: demo check lint test test-all test-exhaustive course test-next docs pictures lock replay clean

demo: $(READY)
	@.venv/bin/python main.py train sentiment

check: lint
	@$(PYTEST) -m "not slow and not long and not exhaustive" $(QUICK_TESTS)

lint: $(DEV_READY)
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check .
	@.venv/bin/lint-imports --no-logo --no-cache
	@.venv/bin/mypy --no-error-summary

test: $(DEV_READY)
	@$(PYTEST) -m "not long and not exhaustive"

# In three parts, because a process keeps some hundred megabytes for each file of tests that trains models.
test-all: lint $(ALL_READY)
	@failed=0; \
	$(PYTEST) -m "not exhaustive" tests --ignore=tests/pipelines || failed=1; \
	$(PYTEST) -m "not exhaustive" $(wildcard tests/pipelines/[a-k]*) || failed=1; \
	$(PYTEST) -m "not exhaustive" $(wildcard tests/pipelines/[l-z]*) || failed=1; \
	exit $$failed
	@KERAS_BACKEND=jax $(PYTEST) tests/layers -m any_backend
	@KERAS_BACKEND=torch OMP_NUM_THREADS=1 $(PYTEST) tests/layers -m any_backend

# What `make test-all` shows for some networks, tasks and versions, for the others; and tests that take minutes.
test-exhaustive: $(ALL_READY)
	@$(PYTEST) -m exhaustive

course: $(ALL_READY)
	@$(PYTEST) tests/pipelines/learn

# It is no part of the other targets: failures show what the next version of Keras changes (docs/dependencies.md).
test-next: $(NEXT_READY)
	@$(NEXT_PIP) --no-deps --pre --upgrade keras-nightly
	@cd .venv-next/lib/python3*/site-packages && rm -rf keras-*.dist-info && mkdir keras-next.dist-info && \
		sed 's/^Name: keras-nightly$$/Name: keras/' keras_nightly-*.dist-info/METADATA > keras-next.dist-info/METADATA
	@.venv-next/bin/python -c 'import keras; print("Keras", keras.__version__, "(test-next may fail)")'
	-@.venv-next/bin/python -m pytest --numprocesses=2 --continue-on-collection-errors tests/layers
	-@.venv-next/bin/python benchmarks/replay.py --only char-lm sentiment-lstm --output .venv-next/replay.json

# The pages are used as they are: their links lead from README.md to docs/ and back, so the site has these names, too.
docs: $(DOCS_READY)
	@rm -rf build/pages build/site && mkdir -p build/pages/reference
	@cd build/pages && ln -s ../../README.md ../../CHANGELOG.md ../../CONTRIBUTING.md ../../SECURITY.md ../../docs .
	@printf '# Reference: layers\n\n::: layers\n' > build/pages/reference/layers.md
	@printf '# Reference: Python\n\n::: unroll\n' > build/pages/reference/python.md
	@for name in classifier tagger translator language_model encoder; do \
		printf '\n::: pipelines.python.%s\n' $$name >> build/pages/reference/python.md; done
	@NO_MKDOCS_2_WARNING=1 .venv-docs/bin/mkdocs build --quiet
	@echo "The site is in build/site. To read it with its search: python -m http.server --directory build/site"

# See benchmarks/pictures.py: FOLDER has the models of the other pictures, FOLDER/saved_models and so on.
pictures: $(DEV_READY)
	@.venv/bin/python benchmarks/pictures.py $(if $(FOLDER),--folder $(FOLDER))

lock: $(DEV_READY)
	@$(LOCK) requirements.txt --output-file requirements.lock
	@$(LOCK) requirements-dev.txt --constraints requirements.lock --output-file requirements-dev.lock
	@$(LOCK) requirements-docs.txt --output-file requirements-docs.lock
	@$(LOCK) requirements.txt requirements-ray.txt --constraints requirements-dev.lock --output-file requirements-ray.lock
	@$(LOCK) requirements.txt requirements-encoders.txt --constraints requirements-ray.lock \
		--output-file requirements-encoders.lock

$(READY): requirements.lock
	@case "$$(uname -sm)" in Linux\ *|Darwin\ arm64) ;; \
		*) echo "Unroll runs on Linux and on Apple-silicon macOS; on Windows use WSL."; exit 1;; esac
	@test -n "$(PY)" || { echo "Unroll needs Python 3.11, 3.12 or 3.13: install one, or name it with PYTHON=..."; exit 1; }
	@$(PY) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null || \
		{ echo "$(PY) is not a Python 3.11, 3.12 or 3.13: name one with PYTHON=..."; exit 1; }
	@$(PY) -c 'import ensurepip' 2>/dev/null || \
		{ echo "$(PY) cannot make virtual environments: install its venv package (Debian: python3-venv)."; exit 1; }
	@echo "setting up .venv with $$($(PY) --version); this downloads about 1 GB once"
	@$(PY) -m venv --clear .venv
	@$(PIP) --require-hashes -r requirements.lock || \
		{ echo "The packages could not be installed (see above): is there a connection, and 3 GB of free disk?"; exit 1; }
	@touch $@

$(DEV_READY): requirements-dev.lock $(READY)
	@echo "installing what the tests need"
	@$(PIP) --require-hashes -r requirements-dev.lock || \
		{ echo "The packages could not be installed (see above): is there a connection, and 1 GB of free disk?"; exit 1; }
	@touch $@

# The lock comes last: botocore, which moto needs, asks for an older python-dateutil (pip says so), and works with this one.
$(ALL_READY): requirements-ray.lock requirements-encoders.lock requirements-test-all.txt requirements-test-encoders.txt \
		$(DEV_READY)
	@echo "installing Ray, what pretrained encoders need, and PyTorch and others that only the tests need"
	@$(PIP) -r requirements-test-all.txt && \
		$(PIP) --require-hashes --no-deps -r requirements-test-encoders.txt && \
		$(PIP) --require-hashes -r requirements-ray.lock -r requirements-encoders.lock || \
		{ echo "The packages could not be installed (see above): is there a connection, and 5 GB of free disk?"; exit 1; }
	@touch $@

# keras-nightly has the same files as keras, so keras goes first. A run records the version of the package keras: `test-next`
# gives keras-nightly's metadata this name.
$(NEXT_READY): requirements-dev.lock $(READY)
	@echo "setting up .venv-next with keras-nightly"
	@.venv/bin/python -m venv --clear .venv-next
	@$(NEXT_PIP) --require-hashes -r requirements-dev.lock || \
		{ echo "The packages could not be installed (see above): is there a connection, and 5 GB of free disk?"; exit 1; }
	@.venv-next/bin/python -m pip uninstall --yes --quiet keras
	@touch $@

$(DOCS_READY): requirements-docs.lock $(READY)
	@echo "setting up .venv-docs with MkDocs"
	@.venv/bin/python -m venv --clear .venv-docs
	@$(subst .venv/,.venv-docs/,$(PIP)) --require-hashes -r requirements-docs.lock || \
		{ echo "The packages could not be installed (see above): is there a connection, and 100 MB of free disk?"; exit 1; }
	@touch $@

# Records what tiny runs compute; the next call compares: see benchmarks/replay.py.
replay: $(DEV_READY)
	@.venv/bin/python benchmarks/replay.py

clean:
	rm -rf .venv .venv-next .venv-docs build/pages build/site .pytest_cache .ruff_cache
