"""The command line: ``cloakgp plan | release | select | bounds | predict | combine | …``.

A plan reads public columns only.  A release opens the private column once, after the user has seen
the plan and agreed, and everything that can fail is rehearsed before.  Errors are one paragraph;
none shows a private value, and each says whether budget was spent.
"""

from __future__ import annotations

from typing import Annotated

import typer

from cloakgp._version import __version__
from cloakgp.cli.commands import (
    bounds,
    budget,
    combine,
    demo,
    plan,
    reading,
    release,
    report,
    sign,
    web,
)
from cloakgp.cli.endings import Commands
from cloakgp.cli.progress import Progress
from cloakgp.cli.settings.options import flag

app = typer.Typer(
    cls=Commands,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    help="Publish a curve or a map of one private column, with differential privacy.",
)


@app.callback(invoke_without_command=True)
def _root(
    ctx: typer.Context,
    version: Annotated[bool, flag("--version", "Print the version")] = False,
    debug: Annotated[bool, flag("--debug", "Show where an unexpected error happened")] = False,
) -> None:
    ctx.obj = Progress(debug=debug)
    if version:
        print(f"cloakgp {__version__}")
        raise typer.Exit()
    if ctx.invoked_subcommand is None:
        print(ctx.get_help())
        raise typer.Exit()


app.command("plan", epilog=plan.EXAMPLES)(plan.plan_command)
app.command("release", epilog=release.RELEASE_EXAMPLES)(release.release_command)
app.command("select", epilog=release.SELECT_EXAMPLES)(release.select_command)
app.command("bounds", epilog=bounds.EXAMPLES)(bounds.bounds_command)
app.command("predict", epilog=reading.PREDICT_EXAMPLES)(reading.predict_command)
app.command("verify", epilog=reading.VERIFY_EXAMPLES)(reading.verify_command)
app.command("sign", epilog=sign.EXAMPLES)(sign.sign_command)
app.command("report", epilog=report.EXAMPLES)(report.report_command)
app.command("combine", epilog=combine.EXAMPLES)(combine.combine_command)
app.command("web", epilog=web.EXAMPLES)(web.web_command)
app.command("demo", epilog=demo.EXAMPLES)(demo.demo_command)
app.add_typer(budget.app, name="budget")
