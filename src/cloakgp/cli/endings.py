"""How commands end: every end becomes an exit code and, if it failed, one paragraph.

Never a traceback.  Messages are printed if their type says that they are ours; while private
values are in memory, nothing that another library says is printed, since it may quote them.
"""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import sys
import threading
import traceback
import warnings
from typing import Any

import typer
from rich.console import Console
from rich.text import Text
from typer.core import TyperGroup

from cloakgp.cli.progress import Progress
from cloakgp.cli.screen import complain
from cloakgp.errors import CommandError, ReleaseFileError, printable


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
            complain("interrupted.")
            code = 130
        except Exception as error:
            if not hasattr(error, "format_message"):
                raise
            where = getattr(getattr(error, "ctx", None), "command_path", "cloakgp")
            complain(f"{error.format_message().rstrip('.')}. See `{where} --help`.")
            code = 2
        if standalone:
            sys.exit(code if isinstance(code, int) else 0)
        return code

    def invoke(self, ctx: Any) -> Any:
        code = 2
        _heed_interrupts()
        try:
            with warnings.catch_warnings():
                warnings.showwarning = _show_warning
                return super().invoke(ctx)
        except (typer.Exit, typer.Abort, BrokenPipeError):
            raise
        except KeyboardInterrupt as error:
            code, text = 130, paragraph(error, ctx.obj or Progress())
        except Exception as error:
            if hasattr(error, "format_message"):  # an error of usage, which main explains
                raise
            text = paragraph(error, ctx.obj or Progress())
        complain(text)
        raise typer.Exit(code)


def paragraph(error: BaseException, progress: Progress) -> str:
    """Return what may be said of an error, and what became of the budget."""
    if isinstance(error, KeyboardInterrupt):
        text = "interrupted."
    elif isinstance(error, CommandError | ReleaseFileError):
        text = str(error)
    elif isinstance(error, MemoryError):
        text = "there is not enough memory; use inducing inputs, such as --inducing 50"
    else:
        text = _of_others(error, progress)
    fate = progress.fate()
    return f"{text}\n{fate}" if fate else text


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


def _of_others(error: BaseException, progress: Progress) -> str:
    """Explain an error of the system; of any other, only name the kind."""
    if not isinstance(error, OSError) or error.strerror is None:
        return _unexpected(error, progress)
    full = error.strerror == os.strerror(errno.ENOSPC)  # and nobody has said more about it
    reason = "the disk is full" if full else error.strerror
    where = f" ({printable(error.filename)})" if error.filename else ""
    return f"{reason}{where}"


def _unexpected(error: BaseException, progress: Progress) -> str:
    """Name an error that nobody foresaw; its message only if it cannot quote private values."""
    if progress.debug:
        for line in traceback.format_tb(error.__traceback__):
            print(line, end="", file=sys.stderr)
        if not progress.private:
            print(f"{type(error).__name__}: {printable(error)}", file=sys.stderr)
    hint = "" if progress.debug else "; `cloakgp --debug ...` shows where it happened"
    return f"unexpected error: {type(error).__name__}{hint}."
