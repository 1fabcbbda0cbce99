"""The firmware on emulated microcontrollers gives the bits that Python gives."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from classfilter.embedded import export
from emulated.__main__ import event_cases, measure
from emulated.board import HERE, M0, M4F, STRICT, Target, build, missing, run, symbols
from firmware_configs import STEP, all_configs, configs

emulated = pytest.mark.skipif(missing() is not None, reason=missing() or "")
KINDS = [*configs(), "labels-events", "labels-events-unlike", "heads-sticky", "heads-moving"]
OTHERS = {"aarch64": ("aarch64-linux-gnu",), "riscv64": ("riscv64-linux-gnu", "-mno-relax")}


@emulated
@pytest.mark.parametrize("target", [M4F, M0], ids=lambda target: target.name)
@pytest.mark.parametrize("kind", KINDS)
def test_the_same_bits_on_a_board(kind: str, target: Target, tmp_path: Path) -> None:
    export(all_configs()[kind], tmp_path, step=STEP)
    sources = [HERE / "bits.c", tmp_path / "src/cf_selftest.c"]
    program = build(tmp_path, target, tmp_path / "bits.elf", sources)
    code, output = run(program, target)
    assert code == 0, output
    used, promised = int(output["stack"]), int(output["promised"])
    assert used <= promised <= used + 2400
    doubles = [name for name in symbols(program) if name.startswith("__aeabi_d")]
    assert not doubles, "arithmetic in double precision"


@emulated
def test_no_option_is_needed_for_the_bits(tmp_path: Path) -> None:
    """GNU C fuses products and sums on a Cortex-M4F unless the file itself says no."""
    export(configs()["dirichlet-anchored"], tmp_path)
    sources = [HERE / "bits.c", tmp_path / "src/cf_selftest.c"]
    way = ("-std=gnu11", "-ffp-contract=fast")
    assert run(build(tmp_path, M4F, tmp_path / "a.elf", sources, *way, level="-O3"), M4F)[0] == 0
    text = (tmp_path / "src/cf_core.h").read_text()
    assert text.count('#pragma GCC optimize("fp-contract=off")') == 1
    (tmp_path / "src/cf_core.h").write_text(text.replace("#pragma GCC optimize", "//"))
    fused = build(tmp_path, M4F, tmp_path / "b.elf", sources, *way, level="-O3")
    assert run(fused, M4F)[0] != 0, "the self-test does not see fused products"


@emulated
def test_a_count_of_instructions_is_exact(tmp_path: Path) -> None:
    """The cost of a loop on the board, known by hand: three instructions per iteration."""
    (tmp_path / "loop.c").write_text(
        '#include "board.h"\n'
        '#include "classfilter.h"\n'
        "static uint32_t rounds(uint32_t n) {\n"
        "    uint32_t from;\n"
        "    board_start();\n"
        "    from = board_ticks();\n"
        '    __asm__ volatile("1: nop\\n subs %0, #1\\n bne 1b" : "+l"(n) : : "cc");\n'
        "    return board_ticks() - from;\n"
        "}\n"
        "int main(void) {\n"
        '    board_number("ticks", rounds(2000) - rounds(1000));\n'
        "    return 0;\n"
        "}\n"
    )
    export(configs()["sticky-whole"], tmp_path)
    program = build(tmp_path, M4F, tmp_path / "loop.elf", [tmp_path / "loop.c"])
    code, output = run(program, M4F, counted=True)
    assert (code, round(int(output["ticks"]) / 3.2)) == (0, 3000)


@emulated
@pytest.mark.parametrize("plain", [0, 1], ids=["cost", "leave-gap-delay"])
def test_a_row_of_a_plain_rule_takes_300_instructions(plain: int) -> None:
    """As docs/embedded.md has it, at six classes; events are reported, and the worst is bounded."""
    cost = measure(list(event_cases(6))[plain].config, M4F)
    assert cost.of("reported") >= 3
    assert cost.of("events mean") <= 300
    assert cost.of("hard events most") <= 1500
    assert cost.of("events bytes") == 736


@pytest.mark.parametrize("other", list(OTHERS))
@pytest.mark.parametrize("kind", KINDS)
def test_the_same_bits_on_other_processors(kind: str, other: str, tmp_path: Path) -> None:
    gone = [tool for tool in ("clang", "ld.lld", f"qemu-{other}") if shutil.which(tool) is None]
    if gone:
        pytest.skip(f"not installed: {', '.join(gone)}")
    export(all_configs()[kind], tmp_path, step=STEP)
    target, *flags = OTHERS[other]
    headers = subprocess.run(
        ["clang", "-print-resource-dir"], capture_output=True, text=True, check=True
    ).stdout.strip()
    freestanding = ["-ffreestanding", "-fno-builtin", "-nostdlib", "-static", "-fuse-ld=lld"]
    sources = [tmp_path / "src/classfilter.c", tmp_path / "src/cf_selftest.c", HERE / "user.c"]
    program = tmp_path / "user.elf"
    subprocess.run(
        [
            *("clang", f"--target={target}", *flags, *STRICT, *freestanding, "-O2"),
            *("-nostdinc", "-isystem", f"{headers}/include", f"-I{tmp_path / 'src'}"),
            *(*map(str, sources), "-o", str(program)),
        ],
        check=True,
    )
    assert subprocess.run([f"qemu-{other}", str(program)], check=False).returncode == 0
