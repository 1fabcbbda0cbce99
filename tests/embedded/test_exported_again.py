"""An export into the folder of an earlier one, which had other files."""

from __future__ import annotations

import hashlib
from pathlib import Path

import classfilter as cf
from classfilter.embedded import export


def exported_earlier(folder: Path, file: str, text: str) -> None:
    """Write a file as an export of another version would."""
    (folder / file).parent.mkdir(exist_ok=True, parents=True)
    (folder / file).write_text(text)
    with (folder / "classfilter.sha256").open("a") as manifest:
        manifest.write(f"{hashlib.sha256(text.encode()).hexdigest()}  {file}\n")


def test_files_that_are_no_longer_written_are_removed(tmp_path: Path) -> None:
    """A build that still compiles them would have the earlier settings."""
    folder = tmp_path / "firmware"
    for file in ("classfilter.c", "core/sticky_f32.c", "changed.c", "../outside.c"):
        exported_earlier(folder, file, f"/* {file} */")
    (folder / "changed.c").write_text("/* by hand */")
    (folder / "mine.c").write_text("int x;")
    export(cf.DirichletFilter(3), folder)
    export(cf.StickyFilter(3), folder)
    assert {path.name for path in folder.glob("*.c")} == {"changed.c", "example.c", "mine.c"}
    assert not list((folder / "core").iterdir())
    assert (tmp_path / "outside.c").exists()
    core = {path.name for path in (folder / "src/core").iterdir()}
    assert "sticky_impl.h" in core
    assert "dirichlet_impl.h" not in core
