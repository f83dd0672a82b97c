"""Options of the commands: those of settings follow from their declarations.

Values stay strings here; ``Settings`` reads them, as strictly as those of a settings file.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from cloakgp.cli.settings.checks import check_columns_told
from cloakgp.cli.settings.declared import DECLARED, Declared, default_of, help_of, option_of
from cloakgp.cli.settings.settings import Settings
from cloakgp.cli.tables.numerals import read_number


def flag(name: str, help: str) -> Any:
    """Declare an option without a value."""
    return typer.Option(name, help=help, metavar="", show_default=False)


def path_option(help: str, metavar: str) -> Any:
    """Declare an option that names a file or folder."""
    return typer.Option(help=help, metavar=metavar, show_default=False, parser=read_path)


def number_option(help: str) -> Any:
    """Declare an option that is a number and no setting."""
    return typer.Option(help=help, metavar="NUMBER", show_default=False, parser=strict_number)


def setting_option(name: str, help: str | None = None) -> Any:
    """Declare the option of a setting, by default with its own help."""
    declaration = DECLARED[name]
    return typer.Option(
        option_of(name),
        help=help or help_of(name),
        metavar=declaration.reader.metavar,
        rich_help_panel=declaration.panel,
        show_default=False,
    )


def read_setting(name: str, value: Any) -> Any:
    """Return the value of a setting that was given to a command which takes no others."""
    if value is None:
        return default_of(name)
    return DECLARED[name].reader.read(option_of(name), value)


def told_inputs(names: tuple[str, ...], **columns: list[str] | None) -> Declared:
    """Return what a command that takes no other settings is told of its inputs."""
    told = {each: read_setting(each, value or None) for each, value in columns.items()}
    settings = Declared(inputs=names, **told)
    check_columns_told(settings)
    return settings


def read_path(text: str) -> Path:
    """Return a path; an empty one would be the current folder."""
    if not str(text).strip():
        raise typer.BadParameter("the name is empty; give the name of a file or folder")
    return Path(text)


def strict_number(text: str) -> float:
    """Return a finite number written in digits 0 to 9."""
    number = text if isinstance(text, float) else read_number(text.strip())
    if number is None:
        raise typer.BadParameter(f"{text!r} is not a number such as 0.5 or 1e-5")
    return number


Data = Annotated[
    Path,
    typer.Argument(
        help="CSV or Parquet file, or a folder of Parquet files", metavar="DATA", parser=read_path
    ),
]
Saved = Annotated[Path, typer.Argument(help="A release file", metavar="RELEASE", parser=read_path)]
Config = Annotated[Path | None, path_option("Settings; flags override them", "FILE.toml")]
Decimal = Annotated[str | None, setting_option("decimal")]
Jobs = Annotated[str | None, setting_option("jobs")]
Levels = Annotated[list[str] | None, setting_option("levels")]
Dates = Annotated[list[str] | None, setting_option("dates")]
Missing = Annotated[list[str] | None, setting_option("missing")]
AsJson = Annotated[bool, flag("--json", "Print one JSON object and nothing else")]
Force = Annotated[bool, flag("--force", "Overwrite existing outputs")]
Yes = Annotated[bool, flag("--yes", "Spend without asking")]


def takes_settings(name: str, *, spends: bool = False) -> Callable[..., Callable[..., None]]:
    """Give a command the options of its settings, and hand it what they say as ``settings``.

    A command that spends says in every error what became of the budget, from the first one on.
    """

    def with_options(command: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(command, eval_str=True)
        keyword = inspect.Parameter.KEYWORD_ONLY
        mine = [p.replace(kind=keyword) for p in own.parameters.values() if p.name != "settings"]
        common = [
            inspect.Parameter(
                each,
                keyword,
                default=None,
                annotation=Annotated[
                    list[str] | None if declaration.repeated else str | None, setting_option(each)
                ],
            )
            for each, declaration in DECLARED.items()
            if name in declaration.commands
        ]

        def run(**given: Any) -> None:
            given["ctx"].obj.spending = spends and not given.get("plan_only")
            told = {p.name: given.pop(p.name) for p in common}
            # Typer gives an empty list for a repeated option that was left out.
            flags = {each: None if value == [] else value for each, value in told.items()}
            command(settings=Settings.gather(flags, given["config"]), **given)

        run.__doc__ = command.__doc__
        run.__signature__ = own.replace(parameters=[*mine, *common])  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in [*mine, *common]}
        return run

    return with_options
