"""What a release needs beyond the code: its archives, what is in them, and the checks before it."""
