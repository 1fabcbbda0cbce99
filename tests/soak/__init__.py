"""A stream for hours: kills, a full disk, wrong clocks, slow readers and garbage."""
