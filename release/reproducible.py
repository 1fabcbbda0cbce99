"""Build the source archive and the wheel twice, in unlike surroundings, and compare their bytes.

The second copy of the sources has another path, other times and narrower modes, was written in
the opposite order, and has what ``make js`` and earlier builds leave behind.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
NOT_SOURCES = shutil.ignore_patterns(
    *(".git", ".venv", ".*_cache", ".hypothesis", ".cache", "__pycache__", "node_modules"),
    *("build", "dist", "site", "out", "*.egg-info", "*.so", "*.pyd", "*.tgz"),
)
LEFT_BEHIND = ("docs/example.html", "js/LICENSE", "js/dist/wasm.js", "js/classfilter-0.0.0.tgz")


def build_twice(folder: Path, isolation: bool = False) -> list[tuple[str, Path, Path]]:
    """Build in two copies of the sources below this folder; return names and both archives."""
    first, second = folder / "a", folder / "another folder/with a longer name"
    shutil.copytree(ROOT, first, ignore=NOT_SOURCES)
    for name in LEFT_BEHIND:
        (first / name).unlink(missing_ok=True)
    second.mkdir(parents=True)
    for path in sorted(first.rglob("*"), reverse=True):
        copy = second / path.relative_to(first)
        copy.parent.mkdir(parents=True, exist_ok=True)
        if path.is_file():
            shutil.copyfile(path, copy)
            copy.chmod(0o700 if path.stat().st_mode & 0o100 else 0o600)
            os.utime(copy, (1e9, 1e9))
    for name in LEFT_BEHIND:
        (second / name).parent.mkdir(exist_ok=True)
        (second / name).write_text("left behind\n")
    results = []
    for source, umask, zone in ((first, 0o022, "UTC"), (second, 0o077, "Asia/Kathmandu")):
        command = [sys.executable, "-m", "build", *([] if isolation else ["--no-isolation"])]
        environment = {**os.environ, "TZ": zone, "PYTHONHASHSEED": str(umask)}
        environment.pop("SOURCE_DATE_EPOCH", None)
        done = subprocess.run(
            command, cwd=source, env=environment, umask=umask, capture_output=True, text=True
        )
        if done.returncode:
            raise RuntimeError(f"{source}: the build failed\n{done.stdout}\n{done.stderr}")
        results.append(sorted((source / "dist").iterdir(), key=lambda path: path.name))
    names = [[path.name for path in result] for result in results]
    if names[0] != names[1]:
        raise ValueError(f"the archives have other names: {names[0]}, {names[1]}")
    return [(path.name, path, other) for path, other in zip(*results, strict=True)]


def difference(first: Path, second: Path) -> list[str]:
    """Return which members of two archives differ; only the archive itself, if none does."""
    if first.read_bytes() == second.read_bytes():
        return []
    members, others = _members(first), _members(second)
    names = sorted(members.keys() | others.keys())
    return [name for name in names if members.get(name) != others.get(name)] or [first.name]


def _members(path: Path) -> dict[str, object]:
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as archive:
            return {
                entry.filename: (entry.date_time, entry.external_attr, archive.read(entry))
                for entry in archive.infolist()
            }
    with tarfile.open(path) as archive:
        return {
            entry.name: (entry.get_info(), file.read() if file else b"")
            for entry in archive
            for file in [archive.extractfile(entry)]
        }


def main() -> int:
    """Say of each archive whether both builds gave the same bytes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--no-isolation", action="store_true", help="build with what is installed")
    parser.add_argument("--out", type=Path, help="keep the archives in this folder")
    options = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, first, second in build_twice(Path(folder), not options.no_isolation):
            if options.out is not None:
                options.out.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(first, options.out / name)
            differing = difference(first, second)
            failed += bool(differing)
            digest = hashlib.sha256(first.read_bytes()).hexdigest()
            result = (
                f"differs in {', '.join(differing[:8])}" if differing else "the same bytes twice"
            )
            print(f"{name}: {result}, sha256 {digest}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
