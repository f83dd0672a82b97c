"""Errors and warnings of this project, known by their type wherever they surface.

Messages may be shown to anybody, so none holds a private value, none can control a terminal, and
none repeats a name of thousands of characters.  Text in tables cannot control a spreadsheet either.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from string import Formatter
from typing import Any

#: Names listed in an error, at most.
MOST_NAMES = 30
#: Characters of a name in an error, at most.
LONGEST_SHOWN = 100
#: What is said when joblib has lost a process that worked for it.
KILLED = (
    "a worker process was killed, probably by the system because memory ran out, or by somebody; "
    "try fewer workers (n_jobs), smaller blocks or a machine with more memory, and start again"
)
#: What a message calls words that are for users of Python alone.
PYTHON = "python"
#: What a spreadsheet takes for a formula, whatever stands before it; and signs of numbers.
_FORMULA = re.compile(r"[\s']*[=+\-@＝＋－＠]|[\t\r\n]")
_NUMERAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


#: How somebody calls a parameter, given its name and the value that stands beside it, if any.
Naming = Callable[[str, str], str]


class Message(str):
    """A message that knows the parameters it names.

    It reads as Python writes them: ``inducing=50``.  The command line and the pages show the same
    message in their own words, by ``told``.

    Parameters
    ----------
    template : str
        ``{inducing}`` names a parameter, ``{inducing:50}`` with a value beside it.  A field without
        a name is the next of the values, which are never searched for names; ``{!p}`` is one that
        is the name of a parameter, and ``{python:words}`` are words for users of Python alone.
    *values : object
        What goes into the other fields.
    """

    parts: tuple[str | tuple[str, str], ...]

    def __new__(cls, template: str, *values: object) -> Message:
        """Fill in the template."""
        return cls._of(tuple(_parts(template, iter(values))))

    @classmethod
    def _of(cls, parts: tuple[str | tuple[str, str], ...]) -> Message:
        message = super().__new__(cls, _joined(parts, _in_python))
        message.parts = parts
        return message

    def __reduce__(self) -> tuple[Any, ...]:
        return Message._of, (self.parts,)

    @property
    def parameters(self) -> tuple[str, ...]:
        """The parameters that it names, in order."""
        named = [part[0] for part in self.parts if not isinstance(part, str)]
        return tuple(name for name in named if name != PYTHON)

    def told(self, naming: Naming) -> str:
        """Return it with other names for its parameters."""
        return _joined(
            self.parts, lambda name, value: naming(name, value) if name != PYTHON else ""
        )

    def renamed(self, names: Mapping[str, str]) -> Message:
        """Return it for somebody who knows these parameters by other names."""
        pairs = (
            part if isinstance(part, str) else (names.get(part[0], part[0]), part[1])
            for part in self.parts
        )
        return Message._of(tuple(pairs))


class ParameterError(ValueError):
    """A parameter that cannot have the value it was given, or not together with another.

    Parameters
    ----------
    template : str
        What is wrong, as in ``Message``.
    *values : object
        What goes into its fields.

    Attributes
    ----------
    parameter : str
        The first parameter that the message names.
    """

    def __init__(self, template: str, *values: object) -> None:
        ready = isinstance(template, Message)  # a copy of an error is made from its message
        super().__init__(template if ready else Message(template, *values))

    @property
    def parameter(self) -> str:
        message: Message = self.args[0]
        return message.parameters[0]


def message_of(error: BaseException) -> str:
    """Return the message of an error, with the parameters that it names if it knows them."""
    [message] = error.args if len(error.args) == 1 else [None]
    return message if isinstance(message, Message) else str(error)


class ReleaseFileError(ValueError):
    """A release file, or what should go into one, breaks a rule of the format."""


class SignatureError(ValueError):
    """A signature that is refused, or a key or list of signers that cannot be used."""


class ImplausibleNoiseWarning(UserWarning):
    """The published values of a release are too quiet for the noise that it claims.

    Given when a release is loaded.  It is evidence that the noise was not drawn as stated, not
    proof: an honest release meets it with a small probability.

    See Also
    --------
    Release.verify : Lists such values among its ``warnings``.
    """


class NotPrivateWarning(UserWarning):
    """What was asked for gives a result without a guarantee.

    ``random_state`` makes noise repeatable, and ``epsilon=inf`` adds none.  The release is stamped
    as not private, and the command line refuses to write it.

    See Also
    --------
    PrivateGPRegressor : Leave ``random_state`` at None for a real release.
    """


class RepeatedSpendWarning(UserWarning):
    """A fit spends again on inputs that were released before in this process, without a ledger.

    Budgets of the same people add up, whoever counts them.

    See Also
    --------
    Ledger : Adds up what a data set has spent, and refuses to exceed a cap.
    """


class DecodeError(ValueError):
    """Predictions cannot be computed: at these points, or from this release at all."""


class CommandError(ValueError):
    """An error that the user can fix, said in one paragraph without any private value."""


class TableError(CommandError):
    """A table on disk or in blocks that cannot be used as it is; private values are not told."""


def _parts(template: str, values: Iterator[object]) -> Iterator[str | tuple[str, str]]:
    """Read a template: text, and parameters with what stands beside them."""
    formatter = Formatter()
    for text, field, form, conversion in formatter.parse(template):
        yield text
        if field is None:
            continue
        value = field or next(values)
        beside = "".join(str(part) for part in _parts(form or "", values))
        if field or conversion == "p":
            yield str(value), beside
        elif isinstance(value, Message):
            yield from value.parts
        else:
            yield format(formatter.convert_field(value, conversion), beside)


def _joined(parts: tuple[str | tuple[str, str], ...], naming: Naming) -> str:
    return "".join(part if isinstance(part, str) else naming(*part) for part in parts)


def _in_python(name: str, value: str) -> str:
    """Return a parameter as Python writes it."""
    if name == PYTHON:
        return value
    return f"{name}={value}" if value else name


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn, and point at the line outside of this package that it comes from."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("cloakgp."):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def public_names(names: Iterable[str]) -> list[str]:
    """Return what ``dir`` shows: names for users, and those that Python itself looks up."""
    return sorted(n for n in names if not n.startswith("_") or n.startswith("__"))


def printable(text: object) -> str:
    """Return a string that cannot control a terminal: what is not printable is spelled out."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in str(text))


def brief(name: object) -> str:
    """Return a name or a value that was given, as an error shows it: if it is long, its start."""
    text = str(name)
    rest = f"… ({len(text)} characters)" if len(text) > LONGEST_SHOWN else ""
    return printable(text[:LONGEST_SHOWN] + rest)


def listed(names: Sequence[str]) -> str:
    """Return names as a list to read."""
    shown = ", ".join(brief(name) for name in names[:MOST_NAMES])
    return shown + (f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else "")


def inert(text: str) -> str:
    """Return the text of a cell so that no spreadsheet takes it for a formula: an apostrophe first.

    Numbers stay numbers.  No two texts become one, but for their line breaks, which are all "\\n":
    Python's writer of CSV does not quote a lone "\\r".
    """
    text = re.sub(r"\r\n?", "\n", text)
    return f"'{text}" if _FORMULA.match(text) and not _NUMERAL.fullmatch(text) else text


def escape(text: object) -> str:
    """Return text that Markdown and HTML show as it is, on one line."""
    line = "".join(c if c.isprintable() else " " for c in str(text))
    line = line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    # The last two would become links by themselves; an underscore within a word is only that.
    special = r"([\\`*\[\]#|~$@]|(?<![^\W_])_|_(?![^\W_])|:(?=//))"
    return re.sub(special, r"\\\1", line)
