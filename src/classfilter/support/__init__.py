"""What every room may use: files, imports, text for notebooks, signals, types."""
