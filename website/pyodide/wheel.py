"""The wheel for Pyodide: the extension as a WebAssembly module that Pyodide links at run time.

clang and lld are enough. Emscripten would bring the same compiler, and a C library, of which the
extension uses a few functions that Pyodide's main module has (libc.h).
"""

from __future__ import annotations

import base64
import hashlib
import subprocess
import sysconfig
import tempfile
import zipfile
from pathlib import Path

from release import sbom

import classfilter

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src/classfilter"
HERE = Path(__file__).parent

# As in setup.py; of a shared library, WebAssembly needs the symbols named that the loader calls.
FLAGS = [
    "--target=wasm32-unknown-emscripten",
    *("-std=c99", "-O2", "-fPIC", "-mbulk-memory", "-ffreestanding", "-nostdlib"),
    *("-fvisibility=hidden", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math"),
    "-DPy_LIMITED_API=0x030A0000",
    "-DNPY_NO_DEPRECATED_API=NPY_1_23_API_VERSION",
    "-DNPY_TARGET_VERSION=NPY_1_23_API_VERSION",
    "-Wl,--experimental-pic,-shared,--no-entry,--strip-all,--export=PyInit__core",
    "-Wl,--export-if-defined=__wasm_call_ctors,--export-if-defined=__wasm_apply_data_relocs",
]
HEADERS = (
    *("assert", "complex", "ctype", "endian", "errno", "inttypes", "math", "stdio", "stdlib"),
    *("string", "sys/select", "sys/stat", "sys/time", "sys/types", "time", "unistd", "wchar"),
)
IN_WHEEL = ("py.typed", "*.py", "*.pyi", "*.html", "*.css", "*.js", "*.wasm")
"""Without the sources in C, for which there is no compiler in a browser."""


def compile_core(target: Path, numpy_headers: Path) -> None:
    """Compile the extension against the headers of this Python and of NumPy for WebAssembly."""
    with tempfile.TemporaryDirectory() as folder:
        for name in HEADERS:
            header = Path(folder, f"{name}.h")
            header.parent.mkdir(exist_ok=True)
            header.write_text('#include "libc.h"\n')
        includes = [folder, HERE, sysconfig.get_path("include"), numpy_headers, SOURCE / "csrc"]
        command = ["clang", *FLAGS, "-include", str(HERE / "pyconfig.h")]
        command += [f"-I{include}" for include in includes]
        sources = sorted([*SOURCE.glob("_ext/*.c"), *SOURCE.glob("csrc/*.c")])
        subprocess.run([*command, "-o", str(target), *map(str, sources)], check=True)


def write_wheel(folder: Path, numpy_wheel: Path, abi: str) -> Path:
    """Write the wheel for this ABI of Pyodide, such as ``2026_0``, and return its path."""
    name = f"classfilter-{classfilter.__version__}"
    tag = f"cp310-abi3-pyemscripten_{abi}_wasm32"
    with tempfile.TemporaryDirectory() as temporary:
        with zipfile.ZipFile(numpy_wheel) as archive:
            headers = [n for n in archive.namelist() if n.startswith("numpy/_core/include/")]
            archive.extractall(temporary, headers)
        core = Path(temporary, "_core.abi3.so")
        compile_core(core, Path(temporary, "numpy/_core/include"))
        files = {"classfilter/_core.abi3.so": core.read_bytes()}
    for pattern in IN_WHEEL:
        for file in sorted(SOURCE.rglob(pattern)):
            files[file.relative_to(SOURCE.parent).as_posix()] = file.read_bytes()
    metadata = f"Metadata-Version: 2.1\nName: classfilter\nVersion: {classfilter.__version__}\n"
    metadata += "Requires-Python: >=3.10\nRequires-Dist: numpy>=1.23\n"
    about = f"Wheel-Version: 1.0\nGenerator: classfilter\nRoot-Is-Purelib: false\nTag: {tag}\n"
    files[f"{name}.dist-info/METADATA"] = metadata.encode()
    files[f"{name}.dist-info/WHEEL"] = about.encode()
    files[f"{name}.dist-info/licenses/LICENSE"] = (ROOT / "LICENSE").read_bytes()
    bill = sbom.document(classfilter.__version__)
    files[f"{name}.dist-info/sboms/classfilter.cdx.json"] = bill.encode()
    record = "".join(f"{path},{_hash(data)},{len(data)}\n" for path, data in files.items())
    record += f"{name}.dist-info/RECORD,,\n"
    files[f"{name}.dist-info/RECORD"] = record.encode()
    folder.mkdir(parents=True, exist_ok=True)
    wheel = folder / f"{name}-{tag}.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in files.items():  # without dates: the same sources give the same bytes
            archive.writestr(zipfile.ZipInfo(path), data, zipfile.ZIP_DEFLATED)
    return wheel


def _hash(data: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=")
    return f"sha256={digest.decode()}"
