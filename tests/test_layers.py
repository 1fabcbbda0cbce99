"""The rooms of the package: which may import which, and none in a circle."""

from __future__ import annotations

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import classfilter as cf

PACKAGE = Path(cf.__file__).parent
LAYERS = (
    {"_errors", "_version"},
    {"_core", "_support"},
    {"_validation", "_time_kind"},
    {"_class_columns"},
    {"_label_scores"},
    {"_predictions"},
    {"_timestamps", "_metric_inputs", "_event_matching", "_event_result"},
    {"_time_scale", "_event_scores", "_label_metrics", "_reliability"},
    {"filters", "metrics"},
    {"policy"},
    {"chain"},
    {"streams"},
    {"data"},
    {"_events"},
    {"simulation", "tuning"},
    {"evaluation", "live"},
    {"embedded", "plot", "reference", "_filtered_classifier"},
    {"web"},
    {"demo", "sklearn", "spark"},
    {"cli"},
    {"__main__", "__init__"},
)
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
            for alias in node.names:
                full = ".".join([*parts, alias.name])
                targets.add(full if full in known else ".".join(parts) or "__init__")
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
    text = "from ..data import _frames\ndef f():\n    from .. import policy\n"
    text += "    import classfilter.cli"
    known = {"data._frames", "policy", "cli.__init__"}
    assert imports("tuning._tune", text, known) == {"data._frames", "policy", "cli.__init__"}


def test_every_module_has_a_layer() -> None:
    assert {room(name) for name in modules(PACKAGE)} <= LEVEL.keys()


def test_no_import_to_the_right() -> None:
    wrong = [
        f"{name} imports {target}"
        for name, targets in edges().items()
        for target in targets
        if room(name) != room(target) and LEVEL[room(target)] >= LEVEL[room(name)]
    ]
    assert not wrong


def test_no_circle_within_a_room() -> None:
    inside = {
        name: {t for t in targets if not t.endswith("__init__")}
        for name, targets in edges().items()
        if not name.endswith("__init__")
    }
    TopologicalSorter(inside).prepare()


def test_no_public_name_hides_a_module() -> None:
    rooms = {room(name) for name in modules(PACKAGE)}
    public_modules = {"metrics", "plot", "policy", "sklearn", "spark"}
    assert rooms & set(cf.__all__) == public_modules
