"""Emulated microcontrollers: how to build for them, and how to run there."""
