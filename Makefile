# Two commands, each with all its set-up: `make demo` and `make test`.
# Needs make and Python 3.10 or later; another interpreter: make test PYTHON=python3.12

PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
INSTALLED = $(VENV)/.installed

.PHONY: demo test lint clean

demo: $(INSTALLED)
	$(BIN)/python -m minipaddle demo

# The tests, gradient checks and doctests; then the suite again on the GPU route, on a stand-in
# for CuPy that refuses what CuPy refuses.
test: $(INSTALLED)
	$(BIN)/python -m pytest
	$(BIN)/python -m pytest --device=strict -m "not host_only" tests gradcheck

lint: $(INSTALLED)
	$(BIN)/python -m pip install --quiet ruff
	$(BIN)/python -m ruff check .

clean:
	rm -rf $(VENV) build demo_output *.egg-info

# Made once, and again when the package's metadata change.
$(INSTALLED): pyproject.toml setup.cfg
	@$(PYTHON) -c 'import sys; sys.exit("minipaddle needs Python 3.10 or later; choose one: make PYTHON=python3.12" if sys.version_info < (3, 10) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[test,plot]'
	@touch $@
