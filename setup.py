"""The extension module; everything else is in pyproject.toml."""

import re
import sys
import sysconfig
from pathlib import Path

import numpy
from setuptools import Extension, setup

# The core promises the same bits everywhere: never fuse, never reorder.
FLAGS = (
    ["/O2", "/fp:precise"]
    if sys.platform == "win32"
    else [
        "-O2",
        "-ftree-vectorize",
        "-fpeel-loops",  # -O3 compiles three times as long; functions that gain by it ask for it
        "-g0",  # debug information takes a tenth of the compiling
        "-fvisibility=hidden",
        "-std=c99",
        "-ffp-contract=off",
        "-fno-math-errno",
        "-fno-trapping-math",
    ]
)

# A free-threaded Python has no limited API.
LIMITED = not sysconfig.get_config_var("Py_GIL_DISABLED")

PACKAGE = Path("src/classfilter")
SOURCES = [*PACKAGE.glob("_ext/*.c"), *PACKAGE.glob("csrc/*.c")]  # not those of the firmware

# Package indexes show the README without the files beside it, so its links lead to the site.
SITE = "https://classfilter.readthedocs.io/en/latest/"
README = re.sub(
    r"\]\((?!#|[a-z]+:)([^)\s]+)\)",
    lambda link: f"]({SITE}{re.sub('[.]md(?=#|$)', '.html', link[1])})",
    Path("README.md").read_text(encoding="utf-8"),
)

setup(
    long_description=README,
    long_description_content_type="text/markdown",
    ext_modules=[
        Extension(
            "classfilter._core",
            sources=sorted(map(str, SOURCES)),
            depends=sorted(map(str, Path("src/classfilter").rglob("*.[ch]"))),
            include_dirs=[numpy.get_include(), "src/classfilter/csrc"],
            define_macros=[
                *([("Py_LIMITED_API", "0x030B0000")] if LIMITED else []),
                ("NPY_NO_DEPRECATED_API", "NPY_1_23_API_VERSION"),
                ("NPY_TARGET_VERSION", "NPY_1_23_API_VERSION"),
            ],
            extra_compile_args=FLAGS,
            py_limited_api=LIMITED,
        )
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}} if LIMITED else {},
)
