"""Write the recipe for conda-forge, with the address and the hash of the sdist.

python -m release.conda ADDRESS dist/classfilter-0.3.0.tar.gz > recipe.yaml
"""

from __future__ import annotations

import argparse
import hashlib
from pathlib import Path

RECIPE = Path(__file__).parent / "recipe.yaml"


def recipe(address: str, sdist: Path) -> str:
    """Return the recipe of this sdist, which can be had at this address."""
    digest = hashlib.sha256(sdist.read_bytes()).hexdigest()
    text = RECIPE.read_text(encoding="utf-8")
    text = text[text.index("schema_version:") :]
    return text.replace("SDIST_URL", address).replace("SDIST_SHA256", digest)


def main() -> None:
    """Print the recipe."""
    parser = argparse.ArgumentParser(description="Print the recipe for conda-forge.")
    parser.add_argument("address", help="where the sdist can be downloaded")
    parser.add_argument("sdist", type=Path, help="the same file here")
    options = parser.parse_args()
    print(recipe(options.address, options.sdist), end="")


if __name__ == "__main__":
    main()
