"""What the user can fix is passed on with the parameters that it names, for others to name.

The command line says ``--inducing 50`` and the pages "inducing 50" for what is ``inducing=50`` in
Python; here is what they share.  Nothing here knows an option or a field.
"""

from __future__ import annotations

import ast
import contextlib
import traceback
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from cloakgp.errors import CommandError, Message, message_of

#: What only users of Python call X and y.
TABLES = {"X": "the table of inputs", "y": "the private column"}


def as_typed(value: str) -> list[str]:
    """Return a value of Python as people type it; of several pairs, each by itself."""
    try:
        given = ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return [value]
    several = isinstance(given, list) and all(isinstance(each, tuple) for each in given)
    return [_typed(each) for each in given] if several else [_typed(given, value)]


def _typed(given: object, value: str | None = None) -> str:
    if isinstance(given, bool):
        return "yes" if given else "no"
    if isinstance(given, list | tuple):
        return ",".join(_typed(each) for each in given)
    return given if isinstance(given, str) else value or str(given)


@contextlib.contextmanager
def explained(
    ours_only: bool = False, names: Mapping[str, str] = MappingProxyType({})
) -> Iterator[None]:
    """Pass errors of the model or the budget on as what they are: the user's to fix.

    With ``ours_only``, messages of other libraries are not passed on: they may quote a value.
    ``names`` are the settings that some parameters were given by, where these have other names.
    """
    try:
        yield
    except CommandError:
        raise
    except ValueError as error:
        frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
        module = str(frames[-1].f_globals.get("__name__"))
        if ours_only and not module.startswith("cloakgp."):
            raise
        message = message_of(error)
        if not isinstance(message, Message) and module.startswith("cloakgp.privacy."):
            message = _of_the_core(message)
        raise CommandError(
            message.renamed(names) if isinstance(message, Message) else message
        ) from None


def _of_the_core(text: str) -> Message:
    """Return a message of the core, which knows no templates: it begins with the parameter."""
    subject, space, rest = text.partition(" ")
    name, _, value = subject.partition("=")
    return Message("{!p:{}}{}{}", name, value, space, rest)
