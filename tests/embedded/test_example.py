"""The example of an export, on this machine: what it prints is what Python computes."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from classfilter.embedded import export
from classfilter.embedded.folder import in_float32
from firmware_configs import STEP, all_configs


def expected_lines(config: Any) -> list[str]:
    """Return the lines for eight outputs, each source in turn, of which the fourth is odd."""
    f, names, lines = config.filter, config.classes, []
    for i in range(8):
        odd = i == 3
        row = np.zeros(len(names))
        for h, span in enumerate(config.heads.spans):
            K = span.stop - span.start
            if K == 1:
                row[span] = 0.2 if (h == 0) == odd else 0.8
            else:
                row[span] = np.where(np.arange(K) == odd, 0.7, 0.3 / (K - 1))
        source = config.sources[i % len(config.sources)]
        _, beta, observed = config.observe(source, row.astype(np.float32))
        probs = f.update(observed, beta, 5.0 if i > 0 else 0.0)
        texts = [f"{name} {int(100 * p + 0.5)} %" for name, p in zip(names, probs, strict=True)]
        places = [span.start + int(np.argmax(probs[span])) for span in config.heads.spans]
        labels = [config.heads.spans[h].start for h in config.heads.labels]
        texts = [texts[k] for k in places if k not in labels or probs[k] > 0.5]
        lines.append(f"{5 * i:5d} s  {'  '.join(texts)}")
    return lines


@pytest.mark.skipif(shutil.which("make") is None, reason="no make")
@pytest.mark.parametrize("kind", ["dirichlet-anchored", "labels-moving", "heads-moving"])
def test_the_example_prints_the_filtered_classes(kind: str, tmp_path: Path) -> None:
    config = all_configs()[kind]
    export(config, tmp_path, step=STEP)
    subprocess.run(["make", "-s", "-C", tmp_path, "example"], check=True)
    done = subprocess.run([tmp_path / "example"], capture_output=True, check=True)
    assert done.stdout.decode().splitlines() == expected_lines(in_float32(config))
