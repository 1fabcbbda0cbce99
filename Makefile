# Each target sets up .venv by itself; nothing is needed but Python 3.10+, a C compiler and make.
PYTHON ?= python3
BIN := .venv/bin
# How many classes `make embedded` measures with.
CLASSES ?= 3 6 12
TOOLS := arm-none-eabi-gcc qemu-system-arm clang ld.lld qemu-aarch64 cppcheck cmake
PACKAGES := gcc-arm-none-eabi libnewlib-arm-none-eabi qemu-system-arm clang lld qemu-user cppcheck cmake
SOURCES := pyproject.toml setup.py $(wildcard src/classfilter/_ext/* src/classfilter/csrc/*)
PYTEST := $(BIN)/pytest -q --numprocesses auto --dist worksteal

.PHONY: demo test test-all lint bench embedded js toolchain dist clean

demo: .venv/ready
	$(BIN)/python -m classfilter.demo

# What needs no more than pip: minutes. It leaves out the slow, trained and emulated tests.
test: .venv/test
	$(PYTEST)

# All of it: PyTorch, ONNX, cross compilers, emulators, Spark, and the package as it is installed.
test-all: .venv/all toolchain js js/node_modules
	$(PYTEST) --all
	$(MAKE) embedded CLASSES=6
	$(MAKE) dist

lint: .venv/dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest classfilter._core
	$(BIN)/codespell
	$(BIN)/clang-format --dry-run --Werror $(shell git ls-files '*.c' '*.h')

bench: .venv/dev
	$(BIN)/python -m benchmarks

# What an update costs on emulated microcontrollers, after their bits were compared with Python's.
embedded: .venv/test toolchain
	$(BIN)/python -m tests.emulated $(CLASSES)

# The package for JavaScript: the core as WebAssembly, by Debian's clang and lld. Small first: rows are short, and code that
# fills vector registers (CF_BLOCK, CF_LANES) is several times as large for little.
js: js/dist/wasm.js

js/dist/wasm.js: Makefile $(wildcard js/c/* js/build.mjs js/src/* js/example/* src/classfilter/csrc/*)
	mkdir -p js/dist
	clang --target=wasm32 -std=c99 -Oz -mbulk-memory -nostdlib -ffreestanding -ffp-contract=off -fvisibility=hidden \
		-DCF_BLOCK=1 -DCF_LANES=1 -Isrc/classfilter/csrc \
		-Wl,--no-entry,--export-dynamic,--export=__heap_base,--strip-all \
		-o js/dist/classfilter.wasm js/c/*.c src/classfilter/csrc/*.c
	node js/build.mjs

# Compilers, emulators, a checker of C, Java and a browser, where one is missing: Debian's packages. Node comes in many ways, so it
# is installed only where there is none.
toolchain:
	@for tool in $(TOOLS); do command -v $$tool > /dev/null || { echo "$$tool is missing; installing"; \
		apt-get update -q && apt-get install -yq --no-install-recommends $(PACKAGES) && break || exit 1; }; done
	@command -v chromium > /dev/null || { apt-get update -q && apt-get install -yq --no-install-recommends chromium; }
	@command -v java > /dev/null || { apt-get update -q && apt-get install -yq --no-install-recommends default-jre-headless; }
	@command -v npm > /dev/null || { apt-get update -q && apt-get install -yq --no-install-recommends nodejs npm; }

# What the tests of the package for JavaScript need.
js/node_modules: js/package.json
	cd js && npm install --no-audit --no-fund --no-package-lock
	touch $@

# The wheel and the sdist: built, audited, installed into a new environment, and used there.
dist: .venv/dev
	rm -rf dist build
	$(BIN)/python -m build
	$(BIN)/abi3audit --strict --report dist/*.whl
	$(PYTHON) -m venv --clear dist/venv
	dist/venv/bin/pip install -q dist/*.whl
	cd dist && venv/bin/python -c "import classfilter as cf; print(cf.__version__, cf.DirichletFilter(3).update([0.7, 0.2, 0.1]))"

# The package with what each target needs; each by itself, since every installation compiles the core.
.venv/ready: $(SOURCES)
	$(PYTHON) -m venv .venv
	$(BIN)/pip install -q --no-compile -e '.[plot]'
	touch $@

.venv/test: $(SOURCES)
	$(PYTHON) -m venv .venv
	$(BIN)/pip install -q --no-compile -e '.[test]'
	touch .venv/ready $@

.venv/dev: $(SOURCES)
	$(PYTHON) -m venv .venv
	$(BIN)/pip install -q --no-compile -e '.[dev]'
	touch .venv/ready .venv/test $@

.venv/all: $(SOURCES) experiments/requirements.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install -q --no-compile -e '.[dev,examples,spark]' -r experiments/requirements.txt
	touch .venv/ready .venv/test .venv/dev $@

clean:
	rm -rf .venv build dist js/dist js/node_modules js/LICENSE src/*.egg-info src/classfilter/*.so
