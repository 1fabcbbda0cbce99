"""Invalid tables: an error names the row, the value and the remedy."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize("module", ["inputs", "pipeline", "filters"])
def test_imports_are_light(module: str) -> None:
    heavy = "{'narwhals', 'polars', 'pandas', 'pyarrow'}"
    code = f"import sys, classfilter.{module}; print(sorted({heavy} & set(sys.modules)))"
    loaded = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    )
    assert loaded.stdout.strip() == "[]"
