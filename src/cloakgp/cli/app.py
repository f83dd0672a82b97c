"""The command line: where each command of ``cloakgp`` is found, and how commands end.

A plan reads public columns only.  A release opens the private column once, after the user has seen
the plan and agreed, and everything that can fail is rehearsed before.  A command that fails prints
one paragraph, never a traceback: it shows no private value and says whether budget was spent.
"""

from __future__ import annotations

import contextlib
import inspect
import signal
import sys
import threading
import warnings
from typing import Any

import typer
from rich.console import Console
from rich.text import Text
from typer.core import TyperGroup

from cloakgp._version import __version__
from cloakgp.app.spending import RunState, debug_traceback, error_message
from cloakgp.cli.commands import (
    bounds,
    budget,
    combine,
    demo,
    plan,
    predict,
    release,
    report,
    sign,
    verify,
    web,
)
from cloakgp.cli.front import HELP, Debug, Version
from cloakgp.cli.options import in_options
from cloakgp.cli.terminal import print_error
from cloakgp.errors import printable
from cloakgp.threads import one_thread


class Commands(TyperGroup):
    """Turns every end of a command into an exit code and, if it failed, one paragraph."""

    def main(self, *args: Any, **extra: Any) -> Any:
        standalone = extra.pop("standalone_mode", True)
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(AttributeError, ValueError):
                stream.reconfigure(errors="replace")  # type: ignore[union-attr]
        try:
            code = super().main(*args, **(extra | {"standalone_mode": False}))
        except (KeyboardInterrupt, typer.Abort):  # before a command had begun, or after its end
            print_error("interrupted.")
            code = 130
        except Exception as error:
            if not hasattr(error, "format_message"):
                raise
            where = getattr(getattr(error, "ctx", None), "command_path", "cloakgp")
            print_error(f"{error.format_message().rstrip('.')}. See `{where} --help`.")
            code = 2
        if standalone:
            sys.exit(code if isinstance(code, int) else 0)
        return code

    def invoke(self, ctx: Any) -> Any:
        _heed_interrupts()
        try:
            with one_thread(), warnings.catch_warnings():
                warnings.showwarning = _show_warning
                # The command line looks for owners itself, and can be told that there are none.
                warnings.filterwarnings("ignore", "column .* of X repeats")
                return super().invoke(ctx)
        except (typer.Exit, typer.Abort, BrokenPipeError):
            raise
        except (KeyboardInterrupt, Exception) as error:
            if hasattr(error, "format_message"):  # an error of usage, which main explains
                raise
            state = ctx.obj or RunState()
            where, text = debug_traceback(error, state), error_message(error, state, in_options)
            code = 130 if isinstance(error, KeyboardInterrupt) else 2
        # Outside of the handler: the exit does not carry the error and its private values along.
        print(where, end="", file=sys.stderr)
        print_error(text)
        raise typer.Exit(code)


def _heed_interrupts() -> None:
    """Let Ctrl-C end a question at once."""
    # Polars, which OpenDP loads where it is installed, puts a handler of its own in place, after
    # which a read goes on as if nothing had happened. Setting Python's handler again undoes that.
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is threading.main_thread() and callable(handler):
        signal.signal(signal.SIGINT, handler)


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    Console(stderr=True, highlight=False).print(
        Text.assemble(("note: ", "yellow"), printable(message)), soft_wrap=True
    )


app = typer.Typer(
    cls=Commands,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    help=HELP,
)


@app.callback(invoke_without_command=True)
def _root(
    ctx: typer.Context,
    version: Version = False,
    debug: Debug = False,
) -> None:
    ctx.obj = RunState(debug=debug)
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
app.command("predict", epilog=predict.EXAMPLES)(predict.predict_command)
app.command("verify", epilog=verify.EXAMPLES)(verify.verify_command)
app.command("sign", epilog=sign.EXAMPLES)(sign.sign_command)
app.command("report", epilog=report.EXAMPLES)(report.report_command)
app.command("combine", epilog=combine.EXAMPLES)(combine.combine_command)
app.command("web", epilog=web.EXAMPLES)(web.web_command)
app.command("demo", epilog=demo.EXAMPLES)(demo.demo_command)
app.add_typer(budget.app, name="budget")
for each in (*app.registered_commands, *budget.app.registered_commands):
    # Lines of a docstring are ours: a terminal breaks its own.
    paragraphs = (inspect.getdoc(each.callback) or "").split("\n\n")
    each.help = "\n\n".join(" ".join(paragraph.split("\n")) for paragraph in paragraphs)
