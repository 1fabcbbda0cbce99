"""The time of files in archives: that of the release, unless ``SOURCE_DATE_EPOCH`` has another."""

from __future__ import annotations

import os
import re
from datetime import datetime, timezone
from pathlib import Path

CITATION = Path(__file__).parents[1] / "CITATION.cff"


def seconds() -> int:
    """Return ``SOURCE_DATE_EPOCH``; where it is not set, the day in CITATION.cff, at 0:00."""
    released = re.search(r"^date-released: (.*)$", CITATION.read_text(encoding="utf-8"), re.M)
    assert released is not None
    day = datetime.fromisoformat(released[1]).replace(tzinfo=timezone.utc)
    return int(os.environ.get("SOURCE_DATE_EPOCH", day.timestamp()))


if __name__ == "__main__":
    print(seconds())
