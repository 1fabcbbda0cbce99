"""What the package is built from, in a folder of its own."""

from __future__ import annotations

import shutil
from pathlib import Path

ROOT = Path(__file__).parents[1]


def copy_source(folder: Path) -> Path:
    """Copy what ``setup.py`` needs into a folder, and return the folder."""
    other = shutil.ignore_patterns("*.so", "__pycache__")
    shutil.copytree(ROOT / "src", folder / "src", ignore=other)
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE", "CITATION.cff"):
        shutil.copy(ROOT / name, folder)
    return folder
