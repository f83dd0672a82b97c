"""JSON values as typed ones, checked by msgspec: what does not fit is refused by its name.

A ``Section`` is an object of the manifest: all of its fields have to be there, and no others.
"""

import re
from reprlib import repr as short
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

import msgspec

from cloakgp.errors import ReleaseFileError

T = TypeVar("T")

#: The words of msgspec for kinds of JSON values, and ours.
_WORDS = {
    "int": "a whole number",
    "float": "a number",
    "str": "a string",
    "bool": "true or false",
    "array": "a list",
    "object": "a JSON object",
    "null": "nothing",
}
_PLACE = re.compile(r"(.*) - at `\$([^`]*)`", re.DOTALL)
_FIELD = re.compile(r"Object (missing required|contains unknown) field `(.*)`", re.DOTALL)
_STEP = re.compile(r"\.(\w+)|\[(\d+)\]")


class Section(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An object whose fields are known, each with its kind and its range."""


def typed(value: Any, kind: type[T], where: str = "") -> T:
    """Return a JSON value as one of this kind; ``where`` is its name in errors."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise _explained(str(error), value, kind, where) from None


def _explained(error: str, value: Any, kind: Any, where: str) -> ReleaseFileError:
    """Say what msgspec found, with the value that it does not name."""
    place = _PLACE.fullmatch(error)
    reason, path = (place[1], place[2]) if place else (error, "")
    try:
        for key, index in _STEP.findall(path):
            value = value[key] if key else value[int(index)]
            kind = _inner(kind, key)
    except LookupError:  # the name of an unknown field may look like a place
        reason, path = error, ""
    where = (where + path).removeprefix(".")
    if field := _FIELD.fullmatch(reason):
        name = f"{where}.{field[2]}".removeprefix(".")
        if field[1] == "missing required":
            return ReleaseFileError(f"the release file lacks something: {name}")
        return ReleaseFileError(f"the release file holds entries unknown to it: {short(name)}")
    named = f"{where or 'the manifest'}={short(value)}"
    if allowed := _choices(kind):
        return ReleaseFileError(f"{named} is none of {allowed}")
    return ReleaseFileError(f"{named} is refused: {_in_words(reason)}")


def _in_words(reason: str) -> str:
    """Return "expected a whole number, got a string" for "Expected `int`, got `str`"."""
    words = re.sub(r"`([a-z |]+)`", lambda kinds: _kinds_in_words(kinds[1].split(" | ")), reason)
    return words[0].lower() + words[1:]


def _kinds_in_words(kinds: list[str]) -> str:
    *some, last = [_WORDS.get(kind, kind) for kind in kinds]
    return f"{', '.join(some)} or {last}" if some else last


def _inner(kind: Any, key: str) -> Any:
    """Return the kind of a field, or of the entries of a list."""
    for option in _options(kind):
        if key and isinstance(option, type) and issubclass(option, msgspec.Struct):
            return {f.name: f.type for f in msgspec.structs.fields(option)}[key]
        if not key and get_origin(option) is list:
            return get_args(option)[0]
    return Any


def _choices(kind: Any) -> tuple[Any, ...]:
    """Return the words that are allowed, if words alone are."""
    options = _options(kind)
    if options and all(get_origin(option) is Literal for option in options):
        return tuple(word for option in options for word in get_args(option))
    return ()


def _options(kind: Any) -> list[Any]:
    """Return the kinds that a kind may stand for, without what limits their range."""
    if hasattr(kind, "__metadata__"):  # Annotated
        return _options(kind.__origin__)
    if get_origin(kind) in (Union, UnionType):
        return [option for inner in get_args(kind) for option in _options(inner)]
    return [kind]
