"""The commands for firmware: ``classfilter export`` and ``classfilter verify``."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from ..inputs import read_table
from ..pipeline import load
from .options import FILE, example, message_of, printable, warnings_as_lines


@click.command(
    "export",
    short_help="Write a filter as C files for firmware, or as JSON.",
    epilog=example("classfilter export walk.json -o firmware && make -C firmware test"),
)
@click.argument("config", metavar="CONFIG", type=FILE)
@click.option("-o", "--out", type=FILE, required=True, help="The folder to write to.")
@click.option(
    "--tick",
    default="1ms",
    show_default=True,
    help="The unit of the device's clock, for events.",
)
@click.option(
    "--step", help="The shortest time between two rows: saves memory of a short minimum duration."
)
def export_command(config: Path, out: Path, tick: str, step: str | None) -> None:
    """Write a filter as a folder of C files: CONFIG is a file that tune writes.

    The folder compiles anywhere, in single precision: no malloc, no libm, no stdio. Its self-test
    checks that a compiler and a processor give the same bits as Python.
    """
    from ..embedded import export

    try:
        with warnings_as_lines(config):
            written = export(load(config), out, config.name, tick=tick, step=step)
    except ValueError as error:
        raise ValueError(message_of(config, error)) from error
    click.echo(f"{out}: {len(written)} files; make -C {out} test compares bits")


@click.command(
    "verify",
    short_help="Compare a device's log with Python, to the bit.",
    epilog=example("classfilter verify device.csv --config walk.json"),
)
@click.argument("table", metavar="LOG", type=FILE)
@click.option("--config", type=FILE, required=True, help="The settings that were exported.")
def verify_command(table: Path, config: Path) -> None:
    """Compare a device's log with Python on the same predictions, to the bit.

    LOG has time, source, one p_<class> per class and the results of the device: one f_<class> per
    class with 9 digits, or bits, a text of 0x and 8 hexadecimal digits per class; and dt, the time
    since the row before, where the device had its own. The exit code is 0 for the same bits.
    """
    from ..embedded import verify

    settings = load(config)
    try:
        verdict = verify(read_table(table), settings)
    except ValueError as error:
        raise ValueError(message_of(table, error)) from error
    click.echo(printable(f"{table}: {verdict}"))
    sys.exit(0 if verdict.row is None else 1)
