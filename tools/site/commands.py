"""The page of the command line, from the help texts that the commands themselves print."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import typer

from cloakgp.cli.app import app

HEAD = """# Command line

What `cloakgp COMMAND --help` prints, for all commands. Options can also stand in a file of settings
(`--config`), without the dashes; the [tutorial](../../tutorial.md) has one.
"""


def page() -> str:
    """Return the page of all commands, as Markdown."""
    root = typer.main.get_command(app)
    return "\n".join([HEAD, *_command(root, ("cloakgp",))])


def write(target: Path) -> None:
    """Write the page, unless it is there already as it would be."""
    text = page()
    if not target.exists() or target.read_text(encoding="utf-8") != text:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")


def _command(command: Any, names: tuple[str, ...]) -> list[str]:
    """Return the lines about a command and all below it."""
    context = command.make_context(names[-1], [], resilient_parsing=True)
    usage = " ".join(command.collect_usage_pieces(context))
    lines = [] if len(names) == 1 else [f"{'#' * len(names)} {' '.join(names)}\n"]
    lines += [f"{_plain(command.help)}\n", f"```text\n{' '.join(names)} {usage}\n```\n"]
    if command.epilog:
        lines += ["```sh", *_examples(command.epilog), "```\n"]
    lines += _options(command, context)
    for below in getattr(command, "commands", {}).values():
        lines += _command(below, (*names, below.name))
    return lines


def _options(command: Any, context: Any) -> list[str]:
    """Return the tables of arguments and options, by the panels in which help shows them."""
    panels: dict[str, list[str]] = {}
    for parameter in command.get_params(context):
        if getattr(parameter, "hidden", False) or parameter.name == "help":
            continue
        argument = parameter.param_type_name == "argument"
        panel = parameter.rich_help_panel or ("Arguments" if argument else "Options")
        panels.setdefault(panel, []).append(_row(parameter, argument))
    lines = []
    for panel, rows in panels.items():
        lines += [f"| {panel} | |", "|:--|:--|", *rows, ""]
    return lines


def _row(parameter: Any, argument: bool) -> str:
    spelling = [parameter.name.upper()] if argument else parameter.opts
    words = [*spelling, *([] if argument else parameter.secondary_opts)]
    if not argument and parameter.metavar:
        words[-1] += f" {parameter.metavar}"
    shown = " ".join(f"`{word}`" for word in words)
    return f"| {_cell(shown)} | {_cell(_plain(parameter.help))} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _plain(text: str | None) -> str:
    """Return a help text in one line, without the marks of the terminal's colours."""
    text = re.sub(r"\[/?[a-z ]*\]", "", text or "")
    return re.sub(r"([*_<])", r"\\\1", " ".join(text.split()))


def _examples(epilog: str) -> list[str]:
    lines = (line.strip() for line in epilog.splitlines())
    return [line for line in lines if line.startswith("cloakgp")]
