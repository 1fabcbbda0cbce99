"""What the filters reach on real streams: a command a table."""
