# Everything runs in .venv, which is made on first use. CHROMIUM=path names a browser that is not found by itself.
PYTHON ?= python3
BIN := .venv/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
BUILT := _build/html
# Of this package only the copy of axe-core is used, so neither what it depends on nor its Python matters
AXE := pytest-playwright-axe==4.14.0
# torch from PyPI brings gigabytes of CUDA on Linux: where no GPU is seen, pip is offered PyTorch's own CPU builds too,
# if their index answers within five seconds. A build +cpu counts as newer than the same version without.
CPU_BUILDS := https://download.pytorch.org/whl/cpu
ANSWERS := import urllib.request; urllib.request.urlopen("$(CPU_BUILDS)/torch/", timeout=5)
offer_cpu = $(shell command -v nvidia-smi >/dev/null 2>&1 || { $(PYTHON) -c '$(ANSWERS)' 2>/dev/null && echo "--extra-index-url $(CPU_BUILDS)"; })

# The three packages are installed together, as each needs the one before it at its own version
PROJECTS := requirements.txt pyproject.toml doctor/pyproject.toml book/pyproject.toml
EDITABLE := --editable . --editable ./doctor

# The tests of library and doctor, whose reach `make coverage` measures, and all others that need no built book
LIBRARY := rope_edu doctor/rope_doctor tests/library tests/doctor
REST := book/rope_book tests/book tests/typing $(wildcard tests/test_*.py)

# A test in a browser waits a sixth of its time: three for two cores keep both busy
BROWSERS = $(shell $(BIN)/python -c 'import os; print(3 * os.cpu_count() // 2)')

# A page that a loaded machine draws late fails its test: what failed is tried once more, alone, and fails if it is wrong.
# Nothing is tried again after a run that did not reach its end.
AGAIN = echo "These failed, and are tried once more with the machine to themselves:" && \
	$(BIN)/python -m pytest -v --last-failed --last-failed-no-failures none tests/pages

.PHONY: help book serve lab check test cells pages coverage library lint types style order scripts notebooks bench dist walk weekly address clean

help:  ## say what there is
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*##/\t/' | expand -t 12

book: .venv/book  ## build the book into _build/html (needs no torch)
	$(BIN)/jupyter-book build . -n -W --keep-going -q

serve: .venv/book  ## build the book, serve it on localhost and print the address
	@echo "Building the book: about a minute the first time, seconds after a change."
	@mkdir -p _build
	@$(BIN)/jupyter-book build . -n -W --keep-going -q > _build/build.log 2>&1 || { cat _build/build.log; exit 1; }
	@$(BIN)/python book/tools/serve.py $(BUILT)

lab: .venv/lab  ## open the notebooks in JupyterLab
	$(BIN)/jupyter lab notebooks

check: lint  ## lint, and the tests of what changed since main (ROOM=config for one room): two minutes
	$(BIN)/python tests/of_change.py $(ROOM)

# There are as many workers as cores: more threads in each would wait for one another. tests/arithmetic.py runs others.
test check library coverage: export OMP_NUM_THREADS ?= 1

test: lint  ## everything that CI runs
	$(BIN)/python -m pytest -n auto --dist worksteal $(LIBRARY) $(REST)
	$(MAKE) --no-print-directory -j 2 cells pages
	$(BIN)/python -m pytest -n $(BROWSERS) --dist loadgroup tests/pages || { [ $$? -eq 1 ] && $(AGAIN); }

cells:
	$(BIN)/python -m pytest -n auto --dist loadfile --nbval notebooks

pages:
	$(BIN)/jupyter-book build . --all -n -W --keep-going -q

coverage: .venv/test  ## the lines and branches of the library that its tests reach: 95 % at least
	$(BIN)/python -m pytest -n auto --dist worksteal --cov --cov-report=term $(LIBRARY)

library: .venv/test  ## the tests of the library alone: no browser, no notebook, any system
	$(BIN)/python -m pytest -n auto $(LIBRARY) tests/book/check

lint: .venv/test  ## check format, style, the types of Python and scripts, and the order of rooms
	$(MAKE) --no-print-directory -j 2 types style order scripts

types:
	$(BIN)/mypy

style:
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

order:
	$(BIN)/lint-imports

scripts:
	$(BIN)/python book/tools/lint_scripts.py

notebooks: .venv/test  ## execute every notebook and write it back with its outputs
	$(BIN)/python book/tools/notebooks.py $(ONLY)

bench: .venv/test  ## measure what the figures cost in a browser, and what rotating costs
	$(BIN)/python book/tools/bench.py
	$(BIN)/python book/tools/bench_rotation.py

dist: BOOKS ?= 1 # empty: without PDF and EPUB
dist: .venv/release  ## hand on: site and slides as a zip, PDF, EPUB, students' notebooks, wheel, checksums, in _build/dist
	$(BIN)/jupyter-book build . -n -W --keep-going -q
	$(BIN)/python book/tools/dist.py $(if $(BOOKS),--books) --wheel $(if $(TAG),--tag "$(TAG)")
	$(BIN)/python -m twine check --strict _build/dist/*.whl

walk: .venv/test  ## open every page from a folder, in every engine of this machine: ten minutes
	$(BIN)/jupyter-book build . -n -W --keep-going -q
	EVERY_PAGE=1 $(BIN)/python -m pytest -n auto --dist loadgroup tests/pages/test_offline.py tests/pages/test_pages.py -k "offline or zh"

weekly: .venv/test  ## look outside: every link, and the census against the newest transformers (REPORT=file.md)
	$(BIN)/python book/tools/weekly.py $(REPORT)

address: .venv/book  ## write the setup cells of the notebooks as the address in _config.yml asks
	$(BIN)/python book/tools/address.py

clean:  ## remove the built book and the environment
	rm -rf _build .venv

.venv/pyvenv.cfg:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed, this is " + sys.version)'
	$(PYTHON) -m venv .venv

.venv/book: $(PROJECTS) | .venv/pyvenv.cfg
	@echo "Installing what builds the book into .venv: about a minute, 600 MB."
	$(BIN)/python -m pip install --quiet --constraint requirements.txt $(EDITABLE) --editable "./book[site]"
	touch $@

.venv/test: $(PROJECTS) | .venv/pyvenv.cfg
	@echo "Installing what the tests need into .venv: about three minutes, 3 GB."
	$(BIN)/python -m pip install --quiet --constraint requirements.txt $(offer_cpu) $(EDITABLE) --editable "./book[test]"
	$(BIN)/python -m pip install --quiet --no-deps --ignore-requires-python $(AXE)
	touch $@ .venv/book .venv/lab

.venv/lab: $(PROJECTS) | .venv/pyvenv.cfg
	@echo "Installing JupyterLab, PyTorch and the three packages into .venv: about two minutes, 2 GB."
	$(BIN)/python -m pip install --quiet --constraint requirements.txt $(offer_cpu) $(EDITABLE) --editable "./book[notebooks]"
	touch $@

.venv/release: .venv/book
	$(BIN)/python -m pip install --quiet --constraint requirements.txt $(EDITABLE) --editable "./book[release]"
	touch $@
