# Each target sets up .venv by itself; nothing is needed but Python 3.11+, a C compiler and make.
PYTHON ?= python3
BIN := .venv/bin
# How long `make fuzz` runs each target, and which (by default all); how many updates `make hostile` does.
FUZZ_SECONDS ?= 600
FUZZ ?=
UPDATES ?= 1e8
# How many classes `make embedded` measures with.
CLASSES ?= 3 6 12
# What the heavy tests need from Debian: a command or a file, and the package that has it.
NEEDED := \
	arm-none-eabi-gcc=gcc-arm-none-eabi \
	/usr/lib/arm-none-eabi/newlib/libc_nano.a=libnewlib-arm-none-eabi \
	/usr/lib/arm-none-eabi/newlib/libstdc++_nano.a=libstdc++-arm-none-eabi-newlib \
	qemu-system-arm=qemu-system-arm \
	avr-gcc=gcc-avr \
	/usr/lib/avr/include/avr/io.h=avr-libc \
	simavr=simavr \
	clang=clang \
	/usr/lib/llvm-*/lib/clang/*/lib/linux/libclang_rt.fuzzer-*.a=libclang-rt-dev \
	ld.lld=lld \
	qemu-aarch64=qemu-user \
	cppcheck=cppcheck \
	cmake=cmake \
	chromium=chromium \
	java=default-jre-headless \
	npm=npm \
	/usr/sbin/mosquitto=mosquitto \
	/usr/share/asterisk/sounds/*/*.wav=asterisk-core-sounds-en-wav \
	/usr/share/asterisk/moh/*.wav=asterisk-moh-opsound-wav
SOURCES := pyproject.toml setup.py $(wildcard src/classfilter/_ext/* src/classfilter/csrc/*)
# pip leaves the compiling of packages to the first import. Where the environment forbids Python to
# keep what it compiled, every process of the tests would compile NumPy, SciPy, Polars... again.
export PYTHONDONTWRITEBYTECODE :=
PYTEST := $(BIN)/pytest -q --numprocesses auto --dist worksteal

VERSION := $(shell sed -n 's/^__version__ = "\(.*\)"/\1/p' src/classfilter/_version.py)

.PHONY: demo report screenshot test test-rest test-all lint bench embedded js docs fuzz hostile toolchain dist version clean

demo: .venv/ready
	$(BIN)/python -m classfilter.demo

# It compares all filters on three days, which takes longer than the demo.
report: .venv/ready
	$(BIN)/python -m classfilter.demo demo.png report.html

# The picture in docs/report.md, of that report.
screenshot: report js/node_modules
	echo '[["size", 1400, 1230], ["drag", "#lanes", [0.34, 0.4]], ["screenshot", "report.png"]]' | node tests/js/use_report.mjs report.html docs > /dev/null

# What needs no more than pip: minutes. It leaves out the slow, trained and emulated tests.
# Each process imports and collects all, so that more than four cost more than they save.
test: .venv/test
	$(PYTEST) --maxprocesses 4

# What that leaves out: PyTorch, ONNX, cross compilers, emulators, Spark, and the package as it is installed.
test-rest: .venv/all .venv/devices/ready toolchain js js/node_modules
	$(PYTEST) --rest --numprocesses $$($(BIN)/python -c 'import os; print(2 * os.cpu_count())') # many of them wait for others
	$(MAKE) embedded CLASSES=6
	$(MAKE) fuzz FUZZ_SECONDS=4
	$(MAKE) hostile UPDATES=2e5
	$(MAKE) dist

# The environment of the second serves the first, too.
test-all: .venv/all test test-rest

lint: .venv/dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest classfilter._core
	$(BIN)/codespell
	$(BIN)/clang-format --dry-run --Werror $(shell git ls-files '*.c' '*.h' '*.ino')

bench: .venv/dev
	$(BIN)/python -m benchmarks

# What an update costs on emulated microcontrollers, after their bits were compared with Python's.
embedded: .venv/test toolchain
	$(BIN)/python -m tests.emulated $(CLASSES)

# Any bytes at all, into the C core (libFuzzer, with sanitizers) and into the Python API (atheris, where there is a wheel of it).
fuzz: .venv/test toolchain
	$(BIN)/pip install -q 'atheris>=3' || true
	$(BIN)/python -m tests.fuzz --seconds $(FUZZ_SECONDS) $(FUZZ)

# Updates at the edges of what is allowed, with sanitizers: one core; 1e8 of them take half an hour and more.
hostile:
	$(PYTHON) -m tests.core.hostile --updates $(UPDATES)

# The package for JavaScript and the script of the report, by Debian's clang and lld and by esbuild; js/build.mjs says how.
js: js/dist/classfilter.mjs

js/dist/classfilter.mjs: $(wildcard js/c/* js/build.mjs js/classfilter.d.ts js/src/* js/page/* src/classfilter/csrc/*) js/node_modules
	node js/build.mjs

# The documentation as a site, in site/; any warning, such as a broken link, is an error. MkDocs with --quiet would not
# count the warnings.
docs: .venv/docs
	$(BIN)/python -m website
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict
	@echo "site/index.html: open it in a browser"

# Installs the packages of NEEDED whose command or file is missing.
toolchain:
	@missing=; for need in $(NEEDED); do \
		command -v $${need%=*} > /dev/null || ls $${need%=*} > /dev/null 2>&1 || missing="$$missing $${need#*=}"; done; \
	[ -z "$$missing" ] || { apt-get update -q && apt-get install -yq --no-install-recommends $$missing; }

# What the package for JavaScript is built with, and what its tests need.
js/node_modules: js/package.json
	cd js && npm install --no-audit --no-fund --no-package-lock
	touch $@

# The sdist, the wheel that is built from it, and the package for npm: each is installed and used where there is nothing but
# what it asks for. Then tests of the sdist that need files of the package run on what the wheel installed.
dist: .venv/dev js
	rm -rf dist build
	$(BIN)/python -m build
	$(PYTHON) -m venv dist/venv
	dist/venv/bin/pip install -q dist/*.whl
	cd dist && venv/bin/python -c "import classfilter as cf; cf.report(cf.simulate('plain', hours=2.0).rows(), 'report.html')"
	$(BIN)/pip install -q --no-deps --target dist/installed dist/*.whl
	mkdir dist/unpacked && tar -xf dist/*.tar.gz -C dist/unpacked --strip-components 1
	cd dist/unpacked && PYTHONPATH=../installed ../../$(PYTEST) --installed tests/test_public.py tests/embedded/test_export.py tests/report README.md
	cd js && npm pack --silent --ignore-scripts --pack-destination ../dist
	mkdir dist/npm && cd dist/npm && npm install --silent --offline --no-audit --no-package-lock ../classfilter-$(VERSION).tgz
	cd dist/npm && node -e 'const { DirichletFilter } = require("classfilter"); new DirichletFilter(3).update([0.7, 0.2, 0.1])'
	cd dist/npm && node --input-type module -e 'import { DirichletFilter } from "classfilter"; new DirichletFilter(3).update([0.7, 0.2, 0.1])'

# The version is set in src/classfilter/_version.py; this writes it where other languages read it. CHANGELOG.md is yours.
version:
	sed -i.old 's/^#define CF_VERSION .*/#define CF_VERSION "$(VERSION)"/' src/classfilter/csrc/cf.h
	sed -i.old 's/^  "version": .*/  "version": "$(VERSION)",/' js/package.json
	sed -i.old 's/^version: .*/version: $(VERSION)/' CITATION.cff
	rm src/classfilter/csrc/cf.h.old js/package.json.old CITATION.cff.old # BSD's sed needs a suffix

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

.venv/docs: $(SOURCES)
	$(PYTHON) -m venv .venv
	$(BIN)/pip install -q --no-compile -e '.[docs]'
	touch .venv/ready $@

.venv/all: $(SOURCES) experiments/requirements.txt examples/fields/requirements.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install -q --no-compile -e '.[dev,docs,examples,spark]' -r experiments/requirements.txt
	$(BIN)/pip install -q --no-compile --no-deps -r examples/fields/requirements.txt
	touch .venv/ready .venv/test .venv/dev .venv/docs $@

# The tools of other build systems, apart from the package: they bring many packages of their own.
.venv/devices/ready: tests/embedded/requirements.txt
	$(PYTHON) -m venv .venv/devices
	.venv/devices/bin/pip install -q --no-compile -r tests/embedded/requirements.txt
	touch $@

clean:
	rm -rf .venv build dist site js/dist js/node_modules js/LICENSE src/*.egg-info src/classfilter/*.so
