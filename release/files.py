"""Check the files of a release before they are published: all there, of one version, with bills.

python -m release.files dist --tag v0.3.0
"""

from __future__ import annotations

import argparse
import re
import sys
import zipfile
from pathlib import Path

VERSION = Path(__file__).parents[1] / "src/classfilter/_version.py"
PLATFORMS = (
    r"manylinux\S*_x86_64",
    r"manylinux\S*_aarch64",
    r"musllinux\S*_x86_64",
    r"musllinux\S*_aarch64",
    r"macosx_\d+_\d+_x86_64",
    r"macosx_\d+_\d+_arm64",
    "win_amd64",
)
WHEELS = [
    *(rf"cp310-abi3-{platform}\.whl" for platform in PLATFORMS),
    *(rf"cp314-cp314t-{platform}\.whl" for platform in PLATFORMS),
    r"cp310-abi3-pyemscripten_\d+_\d+_wasm32\.whl",
]


def version() -> str:
    """Return the version of the sources, which need not be installed."""
    found = re.search(r'__version__ = "(.*)"', VERSION.read_text(encoding="utf-8"))
    assert found is not None
    return found[1]


def problems(folder: Path, tag: str | None = None, wheels: list[str] = WHEELS) -> list[str]:
    """Return what is missing, what is too much, and what has no bill of materials."""
    name = f"classfilter-{version()}"
    expected = [rf"{name}-{wheel}" for wheel in wheels] + [rf"{name}\.tar\.gz", rf"{name}\.tgz"]
    files = sorted(path for path in folder.iterdir() if path.is_file())
    result = [] if tag in (None, f"v{version()}") else [f"the tag is {tag}, not v{version()}"]
    for pattern in expected:
        matching = [path for path in files if re.fullmatch(pattern, path.name)]
        if len(matching) != 1:
            result.append(f"{len(matching)} files match {pattern}; it must be 1")
    for path in files:
        if not any(re.fullmatch(pattern, path.name) for pattern in expected):
            result.append(f"{path.name} is no file of this release")
        if path.suffix == ".whl":
            with zipfile.ZipFile(path) as wheel:
                if f"{name}.dist-info/sboms/classfilter.cdx.json" not in wheel.namelist():
                    result.append(f"{path.name} has no bill of materials")
    return result


def main() -> int:
    """Print every problem, or how many files are in order."""
    parser = argparse.ArgumentParser(description="Check the files of a release.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tag", help="the tag of the release, such as v0.3.0")
    parser.add_argument("--local", action="store_true", help="of wheels, only one of any platform")
    options = parser.parse_args()
    wheels = [r"cp310-abi3-\S+\.whl"] if options.local else WHEELS
    found = problems(options.folder, options.tag, wheels)
    print("\n".join(found) or f"{options.folder}: {len(wheels) + 2} files, all in order")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
