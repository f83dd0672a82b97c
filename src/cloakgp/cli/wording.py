"""Messages of the Python interface in the words of the command line: ``--inducing 50``.

The estimators speak of ``inducing=50``, of ``y`` and of ``Ledger(...)``.  Users of the command line
know options, columns and files.
"""

from __future__ import annotations

import contextlib
import re
import traceback
from collections.abc import Iterator

from cloakgp.cli.settings.declared import DECLARED, option_of
from cloakgp.errors import CommandError

#: Parameters whose option is not called like them, and that belong to no setting.
_OTHER_OPTIONS = {
    "max_std": "--required-std",
    "allowed_signers": "--allowed-signers",
    "identity": "--identity",
    "create": "--new",
    "allow_same_inputs": "--same-inputs",
    "allow_other_inputs": "--other-inputs",
}
_OF_SEARCHES = {each.search: option_of(name) for name, each in DECLARED.items() if each.search}
_OPTIONS = _OF_SEARCHES | {name: option_of(name) for name in DECLARED} | _OTHER_OPTIONS
#: Options without a value: ``create=True`` is ``--new``.
_SWITCHES = ("create", "allow_same_inputs", "allow_other_inputs")

_NAME = "|".join(sorted(_OPTIONS, key=len, reverse=True))
_LONG_NAME = "|".join(name for name in _OPTIONS if "_" in name)
_VALUE = r"""'[^']*'|"[^"]*"|\([^()]*\)|\[[^\[\]]*\]|[^\s,;:()'"]*[^\s,;:()'".]"""
_ASSIGNED = re.compile(rf"(?<![\w-])({_NAME})=({_VALUE})")
_AS_SUBJECT = re.compile(
    rf"(^|[;.] )({_NAME})(?= (?:must|holds|is|are|has|needs|cannot|and|beyond)\b)"
)
_AS_OBJECT = re.compile(rf"\b(drop|in|smaller|larger|into|needs|give) ({_NAME})\b(?!=)")
_ANYWHERE = re.compile(rf"(?<![\w-])({_LONG_NAME})(?!\w)")
#: What is said for both is left for the command line alone.
_IN_PYTHON = re.compile(r"Ledger\(\.\.\.\)\.open\([^()]*\) or ")
_WHAT = {"X": "the table of inputs", "y": "the private column"}
_TABLES = re.compile(r"(?<![\w-])[Xy](?= (?:holds|must|has)\b)|(?<=\bof )[Xy]\b")


def in_options(message: str) -> str:
    """Return a message with options for parameters, and with names for X and y."""
    message = _IN_PYTHON.sub("", message)
    message = _ASSIGNED.sub(_option, message)
    message = _AS_SUBJECT.sub(lambda found: found[1] + _OPTIONS[found[2]], message)
    message = _AS_OBJECT.sub(lambda found: f"{found[1]} {_OPTIONS[found[2]]}", message)
    message = _ANYWHERE.sub(lambda found: _OPTIONS[found[1]], message)
    return _TABLES.sub(lambda found: _WHAT[found[0]], message)


def _option(found: re.Match[str]) -> str:
    name, value = found[1], found[2]
    if name in _SWITCHES:
        return _OPTIONS[name]
    if value[0] in "([":
        return f"{_OPTIONS[name]} {re.sub(r'[^-+.,0-9a-zA-Z]', '', value)}"
    quoted = value[0] in "'\"" and len(value) > 1
    return f"{_OPTIONS[name]} {value[1:-1] if quoted else value}"


@contextlib.contextmanager
def explained(ours_only: bool = False) -> Iterator[None]:
    """Pass errors of the model or the budget on as what they are: the user's to fix.

    With ``ours_only``, messages of other libraries are not passed on: they may quote a value.
    """
    try:
        yield
    except CommandError:
        raise
    except ValueError as error:
        frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
        ours = str(frames[-1].f_globals.get("__name__")).startswith("cloakgp.")
        if ours_only and not ours:
            raise
        raise CommandError(in_options(str(error))) from None
