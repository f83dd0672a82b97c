"""``cloakgp web``: plan a release, or look at one, in a browser on this machine."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated, Any

import typer

from cloakgp.app.settings.gather import read_config
from cloakgp.cli.options import (
    Config,
    flag,
    path_option,
    read_path,
    setting_option,
)
from cloakgp.cli.terminal import say, screen
from cloakgp.errors import CommandError

EXAMPLES = (
    "Examples:\n\n"
    "cloakgp web heights.csv --ledger budget.ledger --dataset heights\n\n"
    "cloakgp web published/release.cloakgp"
)
RELEASE_ENDING = ".cloakgp"
LOOPBACK = "127.0.0.1"


def web_command(
    ctx: typer.Context,
    file: Annotated[
        Path,
        typer.Argument(
            help="CSV, Excel or Parquet file, or a release", metavar="FILE", parser=read_path
        ),
    ],
    out: Annotated[
        Path, path_option("Folder to release into (default: published)", "FOLDER")
    ] = Path("published"),
    config: Config = None,
    ledger: Annotated[str | None, setting_option("ledger")] = None,
    dataset: Annotated[str | None, setting_option("dataset")] = None,
    host: Annotated[
        str,
        typer.Option(help=f"Address (default {LOOPBACK})", metavar="ADDRESS", show_default=False),
    ] = LOOPBACK,
    port: Annotated[
        int,
        typer.Option(
            help="Port (default: any that is free)",
            metavar="N",
            show_default=False,
            min=0,
            max=65535,
        ),
    ] = 0,
    other_machines: Annotated[
        bool, flag("--other-machines", "Allow an address that other machines can reach")
    ] = False,
    open_browser: Annotated[bool, flag("--open", "Open the page in a browser")] = False,
) -> None:
    """Plan a release of a table in a browser, publish it, or look at a release.

    The server is on this machine and reads the file that it is given; nothing is uploaded.  The
    private column is opened once, after you have read the plan and typed its name.
    """
    try:
        from cloakgp.web import planner, server
    except ModuleNotFoundError as error:
        raise CommandError(
            f"`cloakgp web` needs {error.name}: pip install 'cloakgp[web]'"
        ) from None

    def tell(words: str) -> None:
        say(screen(), words)
        if open_browser and "http://" in words:
            webbrowser.open(next(w for w in words.split() if w.startswith("http://")))

    listening = server.listen(host, port, anywhere=other_machines)
    if file.suffix.lower() == RELEASE_ENDING:
        server.serve_release(file, listening, host, tell)
        return
    told: dict[str, Any] = (
        {} if config is None else {n: v for n, (_, v) in read_config(config).items()}
    )
    flags = {"ledger": ledger, "dataset": dataset}
    told |= {name: value for name, value in flags.items() if value is not None}
    server.serve_planner(
        planner.Planner(file, out, told, (config,), debug=ctx.obj.debug), listening, host, tell
    )
