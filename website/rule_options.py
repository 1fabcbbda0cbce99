"""Write the options of `EventRule` for JavaScript and docs: ``python -m website.rule_options``."""

from __future__ import annotations

import inspect
import json
import math
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

from classfilter import EventRule, _core
from classfilter.events import EVIDENCE, OPTIONS, Option

ROOT = Path(__file__).parents[1]
GIVEN = {
    "cost": "Duration",
    "duration": "Duration",
    "number": "number",
    "pair": "readonly [Duration, Duration]",
    "evidence": " | ".join(map(json.dumps, EVIDENCE)),
    "classes": "ClassName | Iterable<ClassName>",
}
"""The types of JavaScript: as an option is given, and as a rule has it where that differs."""
READ = {
    "cost": "number",
    "duration": "number",
    "pair": "readonly number[]",
    "classes": "readonly string[]",
}


def camel(name: str) -> str:
    """Return a name as JavaScript spells it."""
    return re.sub("_(.)", lambda match: match[1].upper(), name)


def descriptions() -> dict[str, str]:
    """Return what the docstring says of each option, in one line."""
    text = inspect.getdoc(EventRule) or ""
    entries = re.findall(r"^(\w+) : .*\n((?: {4}.*\n)+)", text, re.MULTILINE)
    return {name: " ".join(lines.split()) for name, lines in entries}


def script() -> str:
    """Return the table of options as a module of JavaScript."""
    rows = [
        {
            "name": camel(field.name),
            "kind": option.kind,
            "default": field.default,
            "byClass": option.by_class,
            "core": option.core,
            **({"least": option.least, "most": option.most} if option.kind == "number" else {}),
        }
        for field in fields(EventRule)
        for option in [OPTIONS[field.name]]
    ]
    lines = "".join(f"  {_object(row)},\n" for row in rows)
    core = ["floor", "minProbability", *map(camel, _core.EVENT_TIMES)]
    return (
        "// Written by `python -m website.rule_options` from the options of EventRule; "
        "do not edit.\n"
        f"export const OPTIONS = [\n{lines}];\n"
        "/** The numbers of a whole rule, in the order of events_prepare. */\n"
        f"export const CORE = {json.dumps(core)};\n"
        f"export const EVIDENCE = {json.dumps(EVIDENCE)};\n"
    )


def _object(row: dict[str, Any]) -> str:
    shown = {name: value for name, value in row.items() if value is not None and value is not False}
    cells = ", ".join(f"{name}: {_literal(value)}" for name, value in shown.items())
    return f"{{ {cells} }}"


def _literal(value: Any) -> str:
    infinite = isinstance(value, float) and math.isinf(value)
    return f"{'-' * (value < 0)}Infinity" if infinite else json.dumps(value)


def declarations() -> tuple[str, str]:
    """Return the fields of EventRuleOptions and of EventRule in TypeScript."""
    given, read = [], []
    for field in fields(EventRule):
        option, name = OPTIONS[field.name], camel(field.name)
        given += [f"  /** {descriptions()[field.name]} */", f"  {name}?: {_given(option)} | null;"]
        optional = "?" * (field.default is None)
        read.append(f"  readonly {name}{optional}: {_read(option)};")
    return "".join(f"{line}\n" for line in given), "".join(f"{line}\n" for line in read)


def _given(option: Option) -> str:
    kind = GIVEN[option.kind]
    return f"ByClass<{kind}>" if option.by_class else kind


def _read(option: Option) -> str:
    kind = READ.get(option.kind, GIVEN[option.kind])
    return f"{kind} | Readonly<Record<string, {kind}>>" if option.by_class else kind


def table() -> str:
    """Return the rows of the table in docs/events.md."""
    return "".join(f"| `{name}` | {descriptions()[name]} |\n" for name in OPTIONS)


def texts() -> dict[Path, str]:
    """Return each file as it must be."""
    types, page = ROOT / "js/classfilter.d.ts", ROOT / "docs/events.md"
    given, read = declarations()
    declared = _filled(types, "export interface EventRuleOptions {\n", given, "}")
    constructor = "  constructor(options?: EventRuleOptions);\n"
    return {
        ROOT / "js/src/rule_options.js": script(),
        types: _filled(types, constructor, read, "  /** The options that", declared),
        page: _filled(page, "| option | what it does |\n|---|---|\n", table(), "\n"),
    }


def _filled(path: Path, start: str, text: str, end: str, before: str = "") -> str:
    """Return a file with a text between the first start and the end that follows."""
    before = before or path.read_text(encoding="utf8")
    head, _, rest = before.partition(start)
    return head + start + text + end + rest.partition(f"\n{end}")[2]


if __name__ == "__main__":
    for path, text in texts().items():
        path.write_text(text, encoding="utf8")
