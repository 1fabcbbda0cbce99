"""The version, on its own so that the build can read it without importing."""

__version__ = "0.4.0"
