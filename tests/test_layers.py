"""The rooms of the package: which may import which, and none in a circle."""

from __future__ import annotations

import ast
import re
from graphlib import TopologicalSorter
from importlib import import_module
from pathlib import Path

import classfilter as cf

PACKAGE = Path(cf.__file__).parent
LAYERS = (
    {"errors", "_version", "_core"},
    {"support"},
    {"inputs"},
    {"filters", "events", "metrics", "policy"},
    {"pipeline"},
    {"engine"},
    {"tuning", "simulate"},
    {"compare", "live", "embedded", "sklearn", "spark", "reference"},
    {"plot", "report"},
    {"demo"},
    {"cli"},
    {"__main__", "__init__"},
)
PASSED_ON = {"pipeline.pipeline": {"engine.__init__", "tuning.__init__"}}
"""What the methods of a pipeline pass on to, in rooms further up: `pipe.events(rows)`."""
LEVEL = {room: level for level, rooms in enumerate(LAYERS) for room in rooms}


def modules(folder: Path) -> dict[str, Path]:
    """Return every module below a folder, by its dotted name."""
    paths = {path.relative_to(folder).with_suffix(""): path for path in folder.rglob("*.py")}
    return {".".join(name.parts): path for name, path in paths.items()}


def imports(name: str, text: str, known: set[str]) -> set[str]:
    """Return the modules of the package that a module imports, at its top or inside a function."""
    package = name.split(".")[:-1]
    targets = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom):
            parts = (node.module or "").split(".") if node.module else []
            if node.level:
                parts = package[: len(package) - node.level + 1] + parts
            elif parts[:1] == ["classfilter"]:
                parts = parts[1:]
            else:
                continue
            base = ".".join(parts)
            for alias in node.names:
                full = f"{base}.{alias.name}".lstrip(".")
                # A name that comes in by another room's door may be that of a module behind it.
                inside = base == ".".join(package) and full in known
                room_itself = not base and {full, f"{full}.__init__"} & known
                targets.add(full if inside or room_itself else base or "__init__")
        elif isinstance(node, ast.Import):
            names = [alias.name.split(".") for alias in node.names]
            targets |= {".".join(n[1:]) or "__init__" for n in names if n[0] == "classfilter"}
    return {f"{t}.__init__" if f"{t}.__init__" in known else t for t in targets} - {name}


def edges() -> dict[str, set[str]]:
    paths = modules(PACKAGE)
    known = {*paths, "_core"}
    return {name: imports(name, path.read_text(), known) for name, path in paths.items()}


def room(module: str) -> str:
    return module.split(".")[0]


def test_imports_are_seen_wherever_they_stand() -> None:
    text = "from ..inputs.frames import as_frame\nfrom ..pipeline import settings\n"
    text += "from . import search\ndef f():\n    from .. import policy\n    import classfilter.cli"
    known = {"inputs.frames", "pipeline.__init__", "pipeline.settings"}
    known |= {"tuning.search", "policy", "cli.__init__"}
    assert imports("tuning.tune", text, known) == known - {"pipeline.settings"}


def test_every_module_has_a_layer() -> None:
    assert {room(name) for name in modules(PACKAGE)} <= LEVEL.keys()


def test_no_import_to_the_right() -> None:
    wrong = [
        f"{name} imports {target}"
        for name, targets in edges().items()
        for target in targets - PASSED_ON.get(name, set())
        if room(name) != room(target) and LEVEL[room(target)] >= LEVEL[room(name)]
    ]
    assert not wrong


def test_other_rooms_come_in_by_the_door() -> None:
    past = [
        f"{name} imports {target}"
        for name, targets in edges().items()
        for target in targets
        if room(name) != room(target) and room(target) != "support"
        if "." in target and not target.endswith("__init__")
    ]
    assert not past


def test_no_circle_within_a_room() -> None:
    inside = {
        name: {t for t in targets if not t.endswith("__init__")}
        for name, targets in edges().items()
        if not name.endswith("__init__")
    }
    TopologicalSorter(inside).prepare()


def test_public_functions_go_before_rooms_of_their_name() -> None:
    rooms = {room(name) for name in modules(PACKAGE)}
    functions = (rooms & set(cf.__all__)) - {"metrics", "plot", "policy", "sklearn", "spark"}
    assert functions == {"compare", "events", "report", "simulate"}
    for name in sorted(functions):
        import_module(f"classfilter.{name}")
        assert callable(getattr(cf, name))


def test_the_types_that_carry_rows_are_listed() -> None:
    """Whoever adds one deletes one."""
    carried = {"probs", "estimates"}
    found = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef) and not node.name.endswith(("State", "Filter")):
                fields = {
                    x.target.id
                    for x in node.body
                    if isinstance(x, ast.AnnAssign) and isinstance(x.target, ast.Name)
                }
                if carried & fields:
                    found.add(node.name)
    page = (Path(__file__).parents[1] / "CONTRIBUTING.md").read_text()
    table = (
        page.partition("**Types that carry rows.**")[2].partition("\n\n**")[0].partition("\n## ")[0]
    )
    first_cells = "".join(
        line.split("|")[1] for line in table.splitlines() if line.startswith("| `")
    )
    assert found == set(re.findall(r"`(\w+)`", first_cells)) - {"tuning"}
