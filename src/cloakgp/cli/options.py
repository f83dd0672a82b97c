"""Options of the commands: those of settings follow from their declarations.

Values stay strings here; ``Settings`` reads them, as strictly as those of a settings file.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from cloakgp.app.settings.declarations import (
    DECLARED,
    FORMER,
    Settings,
    as_setting,
    default_of,
    help_of,
    option_of,
)
from cloakgp.app.settings.gather import check_input_columns, gather_settings
from cloakgp.app.tables.numerals import parse_number
from cloakgp.app.wording import TABLES
from cloakgp.errors import Message, brief, message_of

#: Options of parameters that are no settings.
_OTHERS = {
    "max_std": "--required-std",
    "required_std": "--required-std",
    "key": "--key",
    "signature": "--signature",
    "allowed_signers": "--allowed-signers",
    "identity": "--identity",
    "out": "--out",
    "force": "--force",
    "learn_together": "--learn",
    **{old: f"--{old.replace('_', '-')}" for old in FORMER},
}
#: Options without a value.
_SWITCHES = ("learn_together",)


def as_option(parameter: str, value: str) -> str:
    """Return a parameter as it is typed: ``--inducing 50``."""
    name, values = as_setting(parameter, value)
    option = option_of(name) if name in DECLARED else _OTHERS.get(name)
    if option is None:
        told = TABLES.get(name, name)
        return f"{told}={value}" if value else told
    if not values or name in _SWITCHES:
        return option
    return " ".join(f"{option} {each}" for each in values)


def in_options(error: BaseException) -> str:
    """Return the message of an error with options for the parameters that it names."""
    message = message_of(error)
    return message.told(as_option) if isinstance(message, Message) else message


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
    return DECLARED[name].reader.read(name, value)


def input_settings(names: tuple[str, ...], **columns: list[str] | None) -> Settings:
    """Return what a command that takes no other settings is told of its inputs."""
    told = {each: read_setting(each, value or None) for each, value in columns.items()}
    settings = Settings(inputs=names, **told)
    check_input_columns(settings)
    return settings


def read_path(text: str) -> Path:
    """Return a path; an empty one would be the current folder."""
    if not str(text).strip():
        raise typer.BadParameter("the name is empty; give the name of a file or folder")
    return Path(text)


def strict_number(text: str) -> float:
    """Return a finite number written in digits 0 to 9."""
    number = text if isinstance(text, float) else parse_number(text.strip())
    if number is None:
        raise typer.BadParameter(f"{brief(repr(text))} is not a number such as 0.5 or 1e-5")
    return number


#: Options by their former names: taken, with a warning, and not shown.
FORMER_OPTIONS = {
    old: typer.Option(_OTHERS[old], hidden=True, show_default=False) for old in FORMER
}

Data = Annotated[
    Path,
    typer.Argument(
        help="CSV, Excel or Parquet file, or a folder of Parquet files",
        metavar="DATA",
        parser=read_path,
    ),
]
DataIfAny = Annotated[
    Path | None,
    typer.Argument(
        help="CSV, Excel or Parquet file, or a folder of them; with --protect rows none is needed",
        metavar="[DATA]",
        parser=read_path,
        show_default=False,
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
        common += [
            inspect.Parameter(old, keyword, default=None, annotation=Annotated[str | None, hidden])
            for old, hidden in FORMER_OPTIONS.items()
            if name in DECLARED[FORMER[old]].commands
        ]

        def run(**given: Any) -> None:
            given["ctx"].obj.spending = spends and not given.get("plan_only")
            told = {p.name: given.pop(p.name) for p in common}
            # Typer gives an empty list for a repeated option that was left out.
            flags = {each: None if value == [] else value for each, value in told.items()}
            command(settings=gather_settings(flags, given["config"]), **given)

        run.__doc__ = command.__doc__
        run.__signature__ = own.replace(parameters=[*mine, *common])  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in [*mine, *common]}
        return run

    return with_options
