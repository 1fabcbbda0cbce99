"""The C core by itself: strictly compiled, sanitized, stressed, and the same bits everywhere."""

import itertools
import os
import platform
import re
import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent / "c"
CORE = Path(__file__).parents[2] / "src/classfilter/csrc"
STRICT = [
    "-std=c99",
    "-pedantic",
    "-Wall",
    "-Wextra",
    "-Wconversion",
    "-Wdouble-promotion",
    "-Werror",
]
SAME_BITS = ["-ffp-contract=off"]
PRECISIONS = {"double": [], "float": ["-DSINGLE"]}
WIDE = ["-DCF_ONE_TARGET", "-DCF_WIDE_LANES"]
"""Vectors of 64 bytes, which a compiler makes of shorter ones where a processor has none."""
COMPILERS = [c for c in ("gcc", "clang") if shutil.which(c)] or [os.environ.get("CC", "cc")]


def compile_c(
    compiler: str, program: Path | None, out: Path, *flags: str, parts: str = "*"
) -> Path:
    """Compile the core or some parts of it, with a program or by itself."""
    ending = "f32" if "-DSINGLE" in flags else "f64"
    sources = [CORE / "status.c", *sorted(CORE.glob(f"{parts}_{ending}.c"))]
    what = ["-c"] if program is None else [str(program), "-lm", "-o", str(out)]
    command = [compiler, *STRICT, *SAME_BITS, *flags, f"-I{CORE}", f"-I{HERE}"]
    if program is None:
        for source in sources:
            object_file = out.with_name(source.stem + ".o")
            subprocess.run([*command, *what, str(source), "-o", str(object_file)], check=True)
    else:
        subprocess.run([*command, *map(str, sources), *what], check=True)
    return out


def run(program: Path, *arguments: str) -> str:
    result = subprocess.run(
        [str(program), *arguments], capture_output=True, text=True, timeout=600, check=False
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def supported(level: str) -> bool:
    """Return whether this processor runs code of an x86-64 level."""
    if platform.machine() != "x86_64":
        return False
    flags = set(Path("/proc/cpuinfo").read_text().split("flags", 1)[-1].split("\n", 1)[0].split())
    needs = {
        "x86-64": "sse2",
        "x86-64-v3": "avx2 fma bmi2",
        "x86-64-v4": "avx512f avx512dq avx512vl",
    }
    return flags.issuperset(needs[level].split())


@pytest.mark.slow
@pytest.mark.parametrize("precision", list(PRECISIONS))
@pytest.mark.parametrize("compiler", COMPILERS)
def test_compiles_without_a_warning(compiler: str, precision: str, tmp_path: Path) -> None:
    small = [["-Os", "-DCF_SMALL"], ["-O2", "-DCF_SMALL", "-DCF_NO_RATES"]]
    for ways in (["-O0"], ["-O3"], ["-O1", *WIDE], *small):
        compile_c(compiler, None, tmp_path / "core", *ways, *PRECISIONS[precision])


@pytest.mark.slow
@pytest.mark.parametrize("way", [["-DCF_SMALL"], []])
def test_needs_no_library(way: list[str], tmp_path: Path) -> None:
    """No malloc, no stdio, no libm: the object files need memory functions at most."""
    compile_c(COMPILERS[0], None, tmp_path / "core", "-O1", "-DCF_ONE_TARGET", "-DSINGLE", *way)
    objects = [str(o) for o in tmp_path.glob("*.o")]
    table = subprocess.run(["nm", *objects], capture_output=True, text=True, check=True).stdout
    symbols = [line.split()[-2:] for line in table.splitlines() if len(line.split()) > 1]
    undefined = {name for kind, name in symbols if kind == "U"}
    defined = {name for kind, name in symbols if kind == "T"}
    allowed = {"memcpy", "memmove", "memset", "__stack_chk_fail", "_GLOBAL_OFFSET_TABLE_"}
    kinds = ("dirichlet_update", "sticky_update", "adaptive_choose", "events_update")
    assert {f"cf_{kind}_f32" for kind in kinds} <= defined
    assert undefined - defined <= allowed
    assert not [name for kind, name in symbols if kind in "dDbBC"], "global variables"


def sanitized(program: str, out: Path, precision: str, *flags: str, parts: str = "*") -> Path:
    """Compile a program such that any error of memory or arithmetic ends it."""
    sanitize = ["-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    flags = (*flags, "-DCF_ONE_TARGET", *sanitize, *PRECISIONS[precision])
    return compile_c(COMPILERS[0], HERE / program, out, *flags, parts=parts)


@pytest.mark.slow
@pytest.mark.parametrize("precision", list(PRECISIONS))
@pytest.mark.parametrize("lanes", [[], ["-DCF_WIDE_LANES"]])
def test_fuzz_under_sanitizers(precision: str, lanes: list[str], tmp_path: Path) -> None:
    program = sanitized("fuzz.c", tmp_path / "fuzz", precision, "-DSTANDALONE", *lanes)
    assert run(program, "9000") == "9000 inputs held\n"


@pytest.mark.slow
@pytest.mark.parametrize("precision", list(PRECISIONS))
def test_event_states_under_sanitizers(precision: str, tmp_path: Path) -> None:
    """Little memory, where the oldest is decided early; and states with changed bytes."""
    program = sanitized("events.c", tmp_path / "events", precision, parts="events")
    words = run(program, "100").split()
    assert words[:3] == ["100", "streams", "held,"]
    assert 1000 < int(words[3]) < 4500  # of 5000; the others were refused


@pytest.mark.slow
@pytest.mark.parametrize("precision", list(PRECISIONS))
@pytest.mark.parametrize("lanes", [["-DCF_ONE_TARGET"], WIDE])
def test_a_failed_search_changes_nothing_and_names_its_row(
    precision: str, lanes: list[str], tmp_path: Path
) -> None:
    """The search never fails by itself, so it gets too few iterations."""
    way = ["-O1", *lanes, "-DCF_MAX_ITERATIONS=2", *PRECISIONS[precision]]
    program = compile_c(COMPILERS[0], HERE / "failing.c", tmp_path / "failing", *way)
    many, one = map(int, run(program).split())
    assert 100 < many < 1900
    assert 100 < one < 1900


@pytest.mark.slow
@pytest.mark.parametrize("precision", list(PRECISIONS))
def test_ten_million_updates(precision: str, tmp_path: Path) -> None:
    # for this processor alone, which compiles in a third of the time
    way = ["-O3", "-DCF_ONE_TARGET", "-march=native"]
    program = compile_c(
        COMPILERS[0], HERE / "stress.c", tmp_path / "stress", *way, *PRECISIONS[precision]
    )
    output = run(program)
    print(precision, output)
    words = output.split()
    assert int(words[0]) >= 10_000_000
    assert int(words[4]) <= 32  # iterations; the core gives up at CF_MAX_ITERATIONS, 96


@pytest.mark.slow
@pytest.mark.parametrize("precision", list(PRECISIONS))
def test_millions_of_random_states(precision: str, tmp_path: Path) -> None:
    """About one search in twenty million fails in double precision; none of these does."""
    way = ["-O2", "-DCF_ONE_TARGET", *PRECISIONS[precision]]
    program = compile_c(
        COMPILERS[0], HERE / "states.c", tmp_path / "states", *way, parts="dirichlet"
    )
    first, *counts = run(program, "400000", "7").splitlines()
    assert first.startswith("3200000 states, ")
    assert ", 0 failed, " in first
    steps = [int(line.split()[2]) for line in counts]
    assert sum(steps[:16]) > 0.9 * sum(steps)


@pytest.mark.slow
@pytest.mark.parametrize("precision", list(PRECISIONS))
def test_the_same_bits_everywhere(precision: str, tmp_path: Path) -> None:
    """Compilers, levels of optimisation, vector widths, and the loader's own choice."""
    levels = [x for x in ("x86-64", "x86-64-v3", "x86-64-v4") if supported(x)]
    ways = [["-O3"], ["-O0", *WIDE], ["-O2", "-DCF_ONE_TARGET", "-DCF_BLOCK=1"]]
    ways += [[level, "-DCF_SMALL", "-DCF_ONE_TARGET"] for level in ("-Os", "-O2")]
    ways += [["-O3", "-DCF_ONE_TARGET", f"-march={level}"] for level in levels]
    cases = [(COMPILERS[0], way) for way in ways]
    cases += itertools.product(COMPILERS[1:], ways[::3])  # plain, small, and one processor's
    outputs = {}
    for number, (compiler, way) in enumerate(cases):
        program = compile_c(
            compiler, HERE / "stress.c", tmp_path / f"s{number}", *way, *PRECISIONS[precision]
        )
        digests = re.findall(r"[0-9a-f]{16}", run(program, "200"))
        outputs[(compiler, *way)] = digests
    assert len({without for _, without in outputs.values()}) == 1, outputs
    # firmware has no backward pass
    assert len({both for way, (both, _) in outputs.items() if "-DCF_SMALL" not in way}) == 1, (
        outputs
    )


@pytest.mark.slow
@pytest.mark.parametrize("precision", list(PRECISIONS))
def test_the_same_events_everywhere(precision: str, tmp_path: Path) -> None:
    levels = [x for x in ("x86-64", "x86-64-v3", "x86-64-v4") if supported(x)]
    ways = [["-O3"], ["-O0", "-DCF_ONE_TARGET"], ["-Os", "-DCF_SMALL", "-DCF_ONE_TARGET"]]
    ways += [["-O3", "-DCF_ONE_TARGET", f"-march={level}"] for level in levels]
    outputs = set()
    for number, (compiler, way) in enumerate(itertools.product(COMPILERS, ways)):
        program = compile_c(
            compiler,
            HERE / "events.c",
            tmp_path / f"e{number}",
            *way,
            *PRECISIONS[precision],
            parts="events",
        )
        outputs.add(run(program, "60"))
    assert len(outputs) == 1, outputs
