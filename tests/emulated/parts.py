"""Where the instructions of an update go: ``python -m tests.emulated.parts``.

The usual stream of ``python -m tests.emulated`` runs on an emulated Cortex-M4F, which logs every
instruction (``qemu-system-arm -singlestep -d exec,nochain``); they are counted by function.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from classfilter import DirichletFilter, Pipeline
from classfilter.embedded import export

from .__main__ import HARD, ROWS, usual_rows
from .board import HERE, M4F, build, missing

OTHERS = ("add", "board", "ema", "main", "one", "window")  # of the program that measures


def count(beta: float, K: int = 6) -> Counter[str]:
    """Return the instructions of each function, in all rows of the usual stream."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        export(Pipeline(DirichletFilter(K, 0.95, estimate="mean"), beta={"a": beta}), folder)
        rows = usual_rows(K).replace(f"#define HARD {HARD}", "#define HARD 1")
        (folder / "rows.h").write_text(rows)
        program = build(folder, M4F, folder / "cost.elf", [HERE / "cost.c"])
        command = ["qemu-system-arm", "-M", M4F.machine, "-nographic", "-monitor", "none"]
        command += ["-serial", "none", "-semihosting-config", "enable=on,target=native"]
        command += ["-singlestep", "-d", "exec,nochain", "-kernel", str(program)]
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stderr is not None
        lines = (line.rpartition("] ")[2].strip() for line in process.stderr if "Trace" in line)
        counts = Counter(line.partition(".")[0] for line in lines)  # gcc adds .constprop.0
        if process.wait() != 0:
            sys.exit(f"stopped with {process.returncode}")
        return counts


if __name__ == "__main__":
    if (why := missing()) is not None:
        sys.exit(why)
    for beta in (1.0, 0.5):
        parts = count(beta)
        print(f"\nweight {beta:g}\n\n| function | instructions an update |\n|---|---|")
        for name, instructions in parts.most_common():
            if instructions >= 10 * ROWS and not name.startswith(OTHERS):
                print(f"| `{name}` | {instructions / ROWS:,.0f} |")
