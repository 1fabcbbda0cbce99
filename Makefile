# Each target sets up .venv by itself; nothing is needed but Python 3.10+, a C compiler and make.
PYTHON ?= python3
BIN := .venv/bin
# How long `make fuzz` runs each target, and which (by default all); how many updates `make hostile` does.
FUZZ_SECONDS ?= 600
FUZZ ?=
UPDATES ?= 1e8
# Which tests of the sdist `make dist` runs on the wheel.
DIST_TESTS ?= tests README.md docs
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

.PHONY: demo report screenshot test test-rest test-all lint bench embedded js pyodide docs fuzz hostile toolchain dist release-check version lock licences clean

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
	$(MAKE) pyodide || echo 'There is no wheel for Pyodide; the tests that need it are skipped.'
	$(PYTEST) --rest --numprocesses $$($(BIN)/python -c 'import os; print(2 * os.cpu_count())') # many of them wait for others
	$(MAKE) embedded CLASSES=6
	$(MAKE) fuzz FUZZ_SECONDS=4
	$(MAKE) hostile UPDATES=2e5
	$(MAKE) dist DIST_TESTS='tests/filters tests/cli tests/web tests/test_public.py README.md'

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

# The package for JavaScript and the core of the report, by Debian's clang and lld; js/build.mjs says how.
js: js/dist/wasm.js

js/dist/wasm.js: $(wildcard js/c/* js/build.mjs js/vendor.mjs js/classfilter.d.ts js/src/* js/example/* src/classfilter/csrc/*) js/node_modules
	node js/build.mjs

# A wheel for Pyodide, by the same compiler, and what docs/try.md loads to run Python in the browser.
pyodide: build/pyodide/page/page.js

build/pyodide/page/page.js: $(SOURCES) $(shell find website/pyodide src/classfilter -name '*.py' -o -name '*.js' -o -name '*.css') js/node_modules | .venv/ready
	$(BIN)/python -m website.pyodide

# The documentation as a site, in site/; any warning, such as a broken link, is an error. `make js` and `make pyodide` first
# add the live example and the buttons of docs/try.md. MkDocs with --quiet would not count the warnings.
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

# The sdist, and the wheel built from it, twice, to see that their bytes are the same; then audited, installed into a new environment with nothing but NumPy, and used there;
# then the tests of the sdist on the package that the wheel installed. And the package for npm, installed and used likewise.
dist: .venv/dev js
	rm -rf dist build
	mkdir -p dist/npm
	cd js && npm pack --silent --pack-destination ../dist
	cd dist/npm && npm install --silent --offline --no-audit --no-package-lock ../classfilter-$(VERSION).tgz
	cd dist/npm && node -e 'const { DirichletFilter } = require("classfilter"); console.log("$(VERSION)", new DirichletFilter(3).update([0.7, 0.2, 0.1]))'
	cd dist/npm && node --input-type module -e 'import { DirichletFilter } from "classfilter"; console.log("$(VERSION)", new DirichletFilter(3).update([0.7, 0.2, 0.1]))'
	$(BIN)/python -m release.reproducible --out dist
	$(BIN)/abi3audit --strict --report dist/*.whl
	$(PYTHON) -m venv --clear dist/venv
	dist/venv/bin/pip install -q dist/*.whl
	cd dist && venv/bin/python -c "import classfilter as cf; print(cf.__version__, cf.DirichletFilter(3).update([0.7, 0.2, 0.1]))"
	cd dist && venv/bin/python -c "import classfilter as cf; cf.report(cf.simulate('plain', hours=2.0).recording(), 'report.html')"
	du -sm dist/venv/lib/python*/site-packages/classfilter dist/venv/lib/python*/site-packages/numpy*
	wc -c dist/*.whl dist/*.tar.gz dist/*.tgz
	dist/venv/bin/pip install -q "$$(ls dist/*.whl)[test]"
	mkdir dist/unpacked && tar -xf dist/*.tar.gz -C dist/unpacked --strip-components 1
	cd dist/unpacked && ../venv/bin/pytest -q --numprocesses auto --dist worksteal --installed $(DIST_TESTS)

# What .github/workflows/wheels.yml does before it publishes, as far as one machine can do it: the sdist and a wheel with the
# same bytes twice, the package for npm, and all that other tools say of them. `make dist` has the tests on what is installed.
release-check: .venv/dev .venv/release/ready js
	$(BIN)/pytest -q tests/test_packaging.py tests/test_release.py tests/test_upgrading.py docs/upgrading.md
	rm -rf dist build
	$(BIN)/python -m release.reproducible --out dist
	cd js && npm pack --ignore-scripts --dry-run
	cd js && npm pack --silent --ignore-scripts --pack-destination ../dist
	$(BIN)/python -m release.files dist --local --tag v$(VERSION)
	.venv/release/bin/twine check --strict dist/*.whl dist/*.tar.gz
	$(BIN)/abi3audit --strict --report dist/*.whl
	.venv/release/bin/python -m release.validate dist
	.venv/release/bin/cffconvert --validate
	for platform in linux macos windows pyodide; do .venv/release/bin/cibuildwheel --platform $$platform --print-build-identifiers || exit 1; done

# The version is set in src/classfilter/_version.py; this writes it where other languages read it. CHANGELOG.md is yours.
version:
	sed -i.old 's/^#define CF_VERSION .*/#define CF_VERSION "$(VERSION)"/' src/classfilter/csrc/cf.h
	sed -i.old 's/^  "version": .*/  "version": "$(VERSION)",/' js/package.json
	sed -i.old 's/^version: .*/version: $(VERSION)/' CITATION.cff
	sed -i.old 's/^  version: ".*"/  version: "$(VERSION)"/' release/recipe.yaml
	rm src/classfilter/csrc/cf.h.old js/package.json.old CITATION.cff.old release/recipe.yaml.old # BSD's sed needs a suffix

# The versions and hashes of all packages of the development environment, for every platform.
lock: .venv/dev
	$(BIN)/pip install -q uv
	$(BIN)/uv pip compile -q pyproject.toml --extra dev --universal --python-version 3.10 --generate-hashes --upgrade \
		--no-emit-index-url --no-header -o dist-lock.txt
	{ echo "# Every package of the development environment, with the hashes of its files; make lock writes it."; \
		echo "# pip install --require-hashes -r requirements-dev.txt && pip install --no-deps -e ."; \
		cat dist-lock.txt; } > requirements-dev.txt && rm dist-lock.txt

# What pip install brings along, with licences; EXTRAS=cli for that of an extra.
licences: .venv/dev
	$(BIN)/python tests/licences.py $(EXTRAS)

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

# The tools of a release. cffconvert asks for an old jsonschema, and works with a new one.
.venv/release/ready: release/requirements.txt
	$(PYTHON) -m venv .venv/release
	.venv/release/bin/pip install -q --no-compile -r release/requirements.txt
	.venv/release/bin/pip install -q --no-compile --no-deps cffconvert==2.0.0
	touch $@

clean:
	rm -rf .venv build dist site js/dist js/node_modules js/LICENSE docs/example.html src/*.egg-info src/classfilter/*.so
