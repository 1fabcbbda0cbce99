"""NumPy's wheel for Pyodide, which has no place of its own in a registry.

Pyodide's lock file has its name and its hash. It is read out of a package that carries it, at the
address that pip finds, by the parts that are needed: 3 MB of 106.
"""

from __future__ import annotations

import hashlib
import io
import json
import subprocess
import sys
import urllib.request
import zipfile
from pathlib import Path
from typing import Any

CARRIER = "open-webui==0.12.4"
"""A package whose wheel has the NumPy of the Pyodide in ``js/package.json``."""


def numpy_wheel(folder: Path, lock: dict[str, Any]) -> Path:
    """Return NumPy's wheel in `folder`; it is fetched if it is not there yet."""
    entry = lock["packages"]["numpy"]
    wheel: Path = folder / entry["file_name"]
    if not wheel.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(io.BufferedReader(Remote(_address()), 2**17)) as carrier:
            names = [n for n in carrier.namelist() if n.endswith(f"/{wheel.name}")]
            if not names:
                raise FileNotFoundError(
                    f"{CARRIER} has no {wheel.name}; change CARRIER to one that has it"
                )
            data = carrier.read(names[0])
        if hashlib.sha256(data).hexdigest() != entry["sha256"]:
            raise ValueError(f"{wheel.name} of {CARRIER} is not the one of Pyodide's lock file")
        wheel.write_bytes(data)
    return wheel


def _address() -> str:
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--report", "-"]
    options = ["--no-deps", "--ignore-installed", "--ignore-requires-python", "--only-binary=:all:"]
    report = subprocess.run([*pip, *options, CARRIER], check=True, capture_output=True).stdout
    return str(json.loads(report)["install"][0]["download_info"]["url"])


class Remote(io.RawIOBase):
    """A file at an address, of which only what is read is fetched."""

    def __init__(self, address: str) -> None:
        self.address, self.position = address, 0
        with self._fetch(0, 0) as response:
            self.size = int(response.headers["Content-Range"].rpartition("/")[2])

    def _fetch(self, first: int, last: int) -> Any:
        headers = {"Range": f"bytes={first}-{last}"}
        return urllib.request.urlopen(urllib.request.Request(self.address, headers=headers))

    def readable(self) -> bool:
        """Return that it can be read."""
        return True

    def seekable(self) -> bool:
        """Return that it has positions."""
        return True

    def tell(self) -> int:
        """Return the position."""
        return self.position

    def seek(self, offset: int, whence: int = 0) -> int:
        """Go to a position."""
        self.position = offset + (0, self.position, self.size)[whence]
        return self.position

    def readinto(self, buffer: Any) -> int:
        """Fetch as many bytes as `buffer` takes."""
        last = min(self.position + len(buffer), self.size) - 1
        if last < self.position:
            return 0
        with self._fetch(self.position, last) as response:
            data = response.read()
        buffer[: len(data)] = data
        self.position += len(data)
        return len(data)
