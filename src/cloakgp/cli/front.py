"""What ``cloakgp --help`` prints: known before any command, with all that it needs, is loaded."""

from __future__ import annotations

from typing import Annotated

import typer

HELP = "Publish a curve or a map of one private column, with differential privacy."

#: The first sentences of the commands' own help; a test compares them.
COMMANDS = {
    "plan": "See what a release would cost before you spend.  Never opens the private column.",
    "release": "Publish: show the plan, ask, spend once, and write the release and what follows.",
    "select": "Choose settings privately and publish with them: one guarantee covers both.",
    "bounds": "Choose bounds privately, for a release later: costs epsilon of its own.",
    "predict": "Predict from a release, as often as you like: spends nothing.",
    "verify": "Check the guarantee of a release again, and with a key who signed it.",
    "sign": "Sign a release with an SSH key, so that others can check who published it.",
    "report": (
        "Write a release as one HTML page: picture, predictions, guarantee and the release itself."
    ),
    "combine": "Combine releases about the same inputs and outputs: spends nothing.",
    "web": "Plan a release of a table in a browser, publish it, or look at a release.",
    "demo": (
        "Plan, release, predict and verify on made-up people: their heights, then a diagnosis."
    ),
    "budget": "Keep track of what data sets have spent: open a budget, see what is left.",
}

Version = Annotated[
    bool, typer.Option("--version", help="Print the version", metavar="", show_default=False)
]
Debug = Annotated[
    bool,
    typer.Option(
        "--debug", help="Show where an unexpected error happened", metavar="", show_default=False
    ),
]


def print_help() -> None:
    """Print the help of the whole command line."""
    app = typer.Typer(add_completion=False, rich_markup_mode="rich", help=HELP)

    @app.callback()
    def root(version: Version = False, debug: Debug = False) -> None: ...

    for name, summary in COMMANDS.items():
        app.command(name, help=summary)(lambda: None)
    app(["--help"], standalone_mode=False)
