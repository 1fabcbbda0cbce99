"""The commands for firmware: ``classfilter export`` and ``classfilter verify``."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from ..inputs import read_table
from ..pipeline import load
from .options import FILE, about, example, printable


@click.command(
    "export",
    short_help="Write a filter as C files for firmware.",
    epilog=example("classfilter export walk.json -o firmware && make -C firmware test"),
)
@click.argument("config", metavar="CONFIG", type=FILE)
@click.option("-o", "--out", type=FILE, required=True, help="The folder to write to.")
@click.option(
    "--tick",
    default="1ms",
    show_default=True,
    help="The tick of the device's clock; times of events are whole ticks.",
)
@click.option(
    "--step",
    help="The shortest time between two rows: it saves memory if the minimum duration is short.",
)
def export_command(config: Path, out: Path, tick: str, step: str | None) -> None:
    """Write a filter as a folder of C files: CONFIG is a file of settings, as tune writes it.

    The files compile anywhere, in single precision: no malloc, no libm, no stdio. Their self-test
    checks that a compiler and a processor give results that are bit-identical to Python's.
    """
    from ..embedded import export

    with about(config):
        written = export(load(config), out, config.name, tick=tick, step=step)
    click.echo(f"{out}: {len(written)} files; make -C {out} test compares bits")


@click.command(
    "verify",
    short_help="Check that a device's log is bit-identical to Python.",
    epilog=example("classfilter verify device.csv --config walk.json"),
)
@click.argument("table", metavar="LOG", type=FILE)
@click.option("--config", type=FILE, required=True, help="The settings that were exported.")
def verify_command(table: Path, config: Path) -> None:
    """Check that a device's log is bit-identical to Python on the same predictions.

    LOG has the columns time and source, one p_<class> per class, and the results of the device:
    either one f_<class> per class with 9 digits, or bits, a text of 0x and 8 hexadecimal digits per
    class. If the device measured the time since the previous row itself, add it as dt. The exit
    code is 0 if all rows are bit-identical.
    """
    from ..embedded import verify

    settings = load(config)
    with about(table):
        verdict = verify(read_table(table), settings)
    click.echo(printable(f"{table}: {verdict}"))
    sys.exit(0 if verdict.row is None else 1)
