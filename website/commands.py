"""The page of the command line: what ``--help`` prints, of each command."""

from __future__ import annotations

import html
import inspect
import textwrap

import click

from classfilter.cli import cli


def page() -> str:
    """Return the page as Markdown."""
    return "\n\n".join(
        [
            "# The command line",
            inspect.cleandoc(cli.help or ""),
            *(_section(name, command) for name, command in sorted(cli.commands.items())),
        ]
    )


def _section(name: str, command: click.Command) -> str:
    context = click.Context(command, info_name=f"classfilter {name}")
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    example = textwrap.dedent("\n".join((command.epilog or "").splitlines()[2:]))
    options = [option for option in command.params if isinstance(option, click.Option)]
    records = [option.get_help_record(context) or ("", "") for option in options]
    rows = [f"| `{names}` | {html.escape(text)} |" for names, text in records]
    parts = [
        f"## {name}",
        f"```text\n{usage}\n```",
        html.escape(inspect.cleandoc(command.help or ""), quote=False),
        "\n".join(["| option | |", "|---|---|", *rows]),
        f"An example:\n\n```sh\n{example}\n```",
    ]
    return "\n\n".join(parts)
