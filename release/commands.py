"""Commands of setuptools whose archives have the same bytes wherever and whenever they are built.

Wheels have a bill of materials, too.
"""

from __future__ import annotations

import gzip
import io
import tarfile
from pathlib import Path
from typing import Any

from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.sdist import sdist

from release import sbom
from release.day import seconds

ROOT = Path(__file__).parents[1]


def _mode(path: Path) -> int:
    """Return a mode that depends on no umask."""
    return 0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644


class Wheel(bdist_wheel):
    """A wheel with a bill of materials, and modes that depend on no umask."""

    def egg2dist(self, egginfo_path: str, distinfo_path: str) -> None:
        """Write the folder ``.dist-info``."""
        super().egg2dist(egginfo_path, distinfo_path)
        sbom.write(Path(distinfo_path), self.distribution.get_version(), ROOT)

    def write_wheelfile(self, wheelfile_base: str, *args: Any, **options: Any) -> None:
        """Write the last file, and set the modes of all, just before they are packed."""
        super().write_wheelfile(wheelfile_base, *args, **options)
        for path in Path(wheelfile_base).parent.rglob("*"):
            path.chmod(_mode(path))


class Source(sdist):
    """A source archive in which order, owners, times and modes are always the same."""

    def make_archive(self, base_name: str, format: str, **options: Any) -> str:  # noqa: A002
        """Write the archive of a folder, and return its name."""
        if format != "gztar":
            raise ValueError(f"format is {format!r}; it must be 'gztar'")
        folder, name = Path(options["base_dir"]), f"{base_name}.tar.gz"
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        with (
            open(name, "wb") as file,  # noqa: PTH123
            gzip.GzipFile("", "wb", fileobj=file, mtime=seconds()) as packed,
            tarfile.open(fileobj=packed, mode="w", dereference=True) as archive,  # files, no links
        ):
            for path in [folder, *sorted(folder.rglob("*"))]:
                entry = archive.gettarinfo(path, path.as_posix())
                entry.mtime, entry.mode = seconds(), _mode(path)
                entry.uid = entry.gid = 0
                entry.uname = entry.gname = ""
                content = io.BytesIO(path.read_bytes()) if path.is_file() else None
                archive.addfile(entry, content)
        return name
