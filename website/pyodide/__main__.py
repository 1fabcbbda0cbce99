"""The wheel, and the files of docs/try.md: ``python -m website.pyodide [FOLDER]``.

By default, they go to ``build/pyodide``. A page that is opened from disk may load scripts, but may
not fetch. So each file becomes a script with its bytes as text, and the same page works from disk
and from a server.
"""

from __future__ import annotations

import base64
import gzip
import json
import shutil
import sys
from pathlib import Path

from website.pyodide.numpy_wheel import numpy_wheel
from website.pyodide.wheel import HERE, ROOT, write_wheel

RUNTIME = ROOT / "js/node_modules/pyodide"
OF_PYODIDE = (
    *("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm"),
    *("pyodide-lock.json", "python_stdlib.zip"),
)
PAGE = ("page.js", "page.css")


def build(target: Path) -> None:
    """Write the wheels into `target`, and below it, in ``page``, what the page loads."""
    if not RUNTIME.exists():
        sys.exit("there is no Pyodide: (cd js && npm install)")
    lock = json.loads((RUNTIME / "pyodide-lock.json").read_text())
    numpy = numpy_wheel(target, lock)
    wheel = write_wheel(target, numpy, lock["info"]["abi_version"])
    files = {name: RUNTIME / name for name in OF_PYODIDE}
    files |= {name: HERE / name for name in ("worker.js", "session.py")}
    files |= {"numpy.whl": numpy, "classfilter.whl": wheel}
    page = target / "page"
    shutil.rmtree(page, ignore_errors=True)
    page.mkdir()
    for name in PAGE:
        shutil.copyfile(HERE / name, page / name)
    for name, file in files.items():
        text = base64.b64encode(gzip.compress(file.read_bytes(), mtime=0)).decode()
        (page / f"{name}.js").write_text(f'pyodideFiles["{name}"] = "{text}";\n')
    size = sum(file.stat().st_size for file in page.iterdir())
    print(f"{wheel}: {wheel.stat().st_size} bytes; {page}: {size} bytes")


if __name__ == "__main__":
    build(Path(sys.argv[1]) if sys.argv[1:] else ROOT / "build/pyodide")
