"""``python -m classfilter``: the command line, where its libraries are installed."""

from __future__ import annotations

import sys

from .support.standard import hold_places


def main() -> None:
    """Run the command line, or print what it needs."""
    hold_places()
    try:
        from .cli import main as run
    except ModuleNotFoundError as error:
        needs = f"the command line needs {error.name}: pip install 'classfilter[cli]'"
        sys.exit(f"classfilter: {needs}")
    run()


if __name__ == "__main__":
    main()
