"""The rule for events in firmware: its settings in ticks, its memory, and what is refused."""

from __future__ import annotations

import math
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import classfilter as cf
from classfilter.embedded import export
from classfilter.embedded.rule import firmware_rules
from conftest import Run
from firmware_configs import STEP, all_configs, configs, label_configs

COMPILER = next((c for c in ("gcc", "clang") if shutil.which(c)), "")
needs_make = pytest.mark.skipif(
    not COMPILER or shutil.which("make") is None, reason="no make, or no gcc and no clang"
)
KINDS = [kind for kind in all_configs() if "events" in kind]


def pipe(rule: cf.EventRule | None, names: tuple[str, ...] = ("a", "b", "c")) -> cf.Pipeline:
    return cf.Pipeline(cf.StickyFilter(names, stay=0.9), rule=rule)


def settings(rule: cf.EventRule, **options: Any) -> dict[str, Any]:
    (one,) = firmware_rules(pipe(rule), **options)
    assert one is not None
    return one.numbers


def test_settings_are_in_ticks() -> None:
    rule = cf.EventRule(
        {"a": "1.5s", "b": 0.25, "c": 0}, leave_cost="10ms", min_duration={"b": 3}, merge_gap=2.0,
        bias=0.1, pad=("500ms", 1.0), shift=0.125, max_gap=60, max_duration=1000, max_delay=7,
        min_probability=0.3,
    )  # fmt: skip
    found = settings(rule, step=0.5)
    np.testing.assert_allclose(found["enter"], [1500, 250, 0, 1500])
    np.testing.assert_allclose(found["leave"], [10, 10, 10, 0])
    assert found["min_duration"].tolist() == [0, 3000, 0]
    assert [found[name] for name in ("merge_gap", "pad_before", "pad_after")] == [2000, 500, 1000]
    assert [found[name] for name in ("shift", "max_gap", "max_delay")] == [125, 60_000, 7000]
    assert (found["max_duration"], found["min_probability"]) == (1_000_000, 0.3)
    assert found["bias"].tolist() == [0.1] * 3
    coarse = settings(rule, tick="125ms", step=0.5)
    assert (coarse["shift"], coarse["max_gap"], coarse["enter"][0]) == (1, 480, 12)


def test_what_is_infinite_stays_so() -> None:
    found = settings(cf.EventRule(1.0))
    assert [found[name] for name in ("max_gap", "max_delay", "max_duration")] == [math.inf] * 3
    assert found["merge_gap"] == -1


def test_a_duration_is_rounded_with_a_warning() -> None:
    rule = cf.EventRule(1.0, shift=0.1234567)
    with pytest.warns(
        UserWarning, match=r"shift is 0.1234567, .* ticks of 0.001; the firmware has 0.123$"
    ):
        assert settings(rule)["shift"] == 123


def test_memory_is_for_the_rows_of_the_longest_minimum_duration(tmp_path: Path) -> None:
    rule = cf.EventRule(1.0, min_duration={"a": 3, "b": 4.1})
    export(pipe(rule), tmp_path, step="500ms")
    text = (tmp_path / "src/cf_config.h").read_text()
    assert "#define CF_RULE_SLOTS 11\n" in text
    assert "#define CF_RULE_SLOW 2\n" in text


@pytest.mark.parametrize("options", [{}, {"step": "1ms"}])
def test_memory_for_rows_is_bounded(options: Any, tmp_path: Path) -> None:
    export(pipe(cf.EventRule(1.0, min_duration=1800)), tmp_path, **options)
    assert "#define CF_RULE_SLOTS 64\n" in (tmp_path / "src/cf_config.h").read_text()


def test_without_a_rule_nothing_of_events_is_there(tmp_path: Path) -> None:
    export(configs()["sticky"], tmp_path)
    assert not list(tmp_path.rglob("events_*"))
    assert "EVENTS" not in (tmp_path / "src/cf_config.h").read_text()


def test_labels_of_equal_rules_share_them(tmp_path: Path) -> None:
    for kind, rules in (("events", 1), ("events-unlike", 3)):
        export(label_configs()[kind], tmp_path / kind, step=STEP)
        text = (tmp_path / kind / "src/cf_config.h").read_text()
        assert text.count("static const float cf_config_costs_") == rules
        assert ("#define CF_RULE cf_config_rule[0]" in text) == (rules == 1)
    assert (
        "cf_config_events_of[] = {0, -1, 1};" in (tmp_path / "events/src/cf_config.h").read_text()
    )


@needs_make
@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("cf_golden.h", r"(CF_GOLDEN_EVENTS )\d+", r"\g<1>1"),
        ("cf_golden.h", r"(CF_GOLDEN_REPORTED 0x).{8}", r"\g<1>00000000"),
        ("cf_config.h", r"CF_RULE_ENTER 4000.0f", "CF_RULE_ENTER 4001.0f"),
        ("cf_config.h", r"CF_RULE_NODES 16", "CF_RULE_NODES 4"),
        ("core/events_ticks.h", r"value = entered \+ gain", "value = gain"),
        ("core/events_state.h", r"\+= \(old - \(sum - part\)\) \+ \(y - part\)", "+= 0"),
        ("core/events_confirm.h", r"!has_one_end\(s, segment, end\)", "0"),
        ("core/events_report.h", r"\(mean < 1 \? mean : 1\)", "(mean + 1e-6f)"),
    ],
)
def test_the_self_test_detects_a_broken_rule(file: str, old: str, new: str, tmp_path: Path) -> None:
    export(configs()["events"], tmp_path)
    path = tmp_path / "src" / file
    text, count = re.subn(old, new, path.read_text(), count=1)
    assert count == 1
    path.write_text(text)
    command = ["make", "-C", str(tmp_path), "test", f"CC={COMPILER}", "CFLAGS=-O0"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "other bits than in Python (-3)" in done.stdout, done.stdout + done.stderr


@needs_make
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["events-slow", "labels-events-unlike"])
def test_the_same_bits_where_nothing_is_aligned(kind: str, tmp_path: Path) -> None:
    """An AVR has no gaps in its structures."""
    export(all_configs()[kind], tmp_path, step=STEP)
    flags = "CFLAGS=-O1 -fpack-struct=1"
    command = ["make", "-C", str(tmp_path), "test", f"CC={COMPILER}", flags]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_the_memory_is_as_large_as_the_header_says(kind: str, tmp_path: Path) -> None:
    """A stream's array has the bytes that the core asks for, and not more."""
    if not COMPILER:
        pytest.skip("no compiler")
    export(all_configs()[kind], tmp_path, step=STEP)
    (tmp_path / "main.c").write_text(
        '#include "src/classfilter.c"\n'
        "int main(void) {\n"
        "    size_t most = 0, i, k;\n"
        "    for (i = 0; i < sizeof cf_config_rule / sizeof *cf_config_rule; i++) {\n"
        "        const cf_events_f32 *rule = &cf_config_rule[i];\n"
        "        cf_time slow = 0;\n"
        "        for (k = 0; k < rule->classes; k++) slow += rule->min_duration[k];\n"
        "        const size_t slots = slow > 0 ? CF_RULE_SLOTS : 0;\n"
        "        const size_t bytes = cf_events_size_f32(rule, CF_RULE_NODES, slots);\n"
        "        most = bytes > most ? bytes : most;\n"
        "    }\n"
        "    return most == CF_EVENTS_WORDS * 8 ? 0 : 1;\n"
        "}\n"
    )
    command = [COMPILER, "-std=c99", "-Isrc", "main.c", "-o", "size"]
    subprocess.run(command, cwd=tmp_path, check=True)
    assert subprocess.run([tmp_path / "size"], check=False).returncode == 0


def test_the_command_takes_tick_and_step(run: Run, tmp_path: Path) -> None:
    pipe(cf.EventRule(2.0, min_duration=3.0, shift=0.25)).save("x.json")
    code, _, err = run("export", "x.json", "-o", "fw", "--tick", "10s", "--step", "1s")
    assert (code, err.startswith("classfilter: x.json: min_duration is 3.0; it must be")) == (
        1,
        True,
    )
    code, _, err = run("export", "x.json", "-o", "fw", "--tick", "100ms", "--step", "500ms")
    rounded = "shift is 0.25, which is no whole number of ticks of 0.1; the firmware has 0.2"
    assert (code, err) == (0, f"classfilter: {rounded}\n")
    text = (tmp_path / "fw/src/cf_config.h").read_text()
    assert "#define CF_TICKS_PER_UNIT 10\n" in text
    assert "#define CF_RULE_ENTER 20.0f\n" in text
    assert "#define CF_RULE_SLOTS 8\n" in text
