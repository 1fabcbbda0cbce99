"""The documentation site: pages of this repository, a gallery and a reference."""
