"""The language of the codecs: JSON objects whose fields have kinds and ranges, and how to refuse.

Every codec is a ``Section``: a msgspec Struct that says its fields and their ranges, with methods
that make it from an object, check it against the arrays of the file, and turn it back.  ``typed``
is the only way from JSON to a section; whatever is wrong is a ``ReleaseFileError`` with the name of
the field, its value and what was expected.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Set
from reprlib import repr as short
from typing import Annotated, Any, TypeVar

import msgspec
import numpy as np
from msgspec import Meta, inspect
from numpy.typing import NDArray

from cloakgp.errors import ReleaseFileError
from cloakgp.privacy.mechanism.calibration import LARGEST_EPSILON, SMALLEST_EPSILON

T = TypeVar("T")
Arrays = Mapping[str, NDArray[Any]]

#: Numbers beyond this have no square among floats; positive ones have to be above one over it.
LARGEST = 1e150
#: Rows, ranks and candidates that a release may speak of.
MOST_ENTRIES = 1 << 29

Number = Annotated[float, Meta(ge=-LARGEST, le=LARGEST)]
Positive = Annotated[float, Meta(ge=1.0 / LARGEST, le=LARGEST)]
NotNegative = Annotated[float, Meta(ge=0.0, le=LARGEST)]
Epsilon = Annotated[float, Meta(ge=SMALLEST_EPSILON, le=LARGEST_EPSILON)]
TotalEpsilon = Annotated[float, Meta(ge=SMALLEST_EPSILON, le=LARGEST)]
Share = Annotated[float, Meta(gt=0.0, lt=1.0)]
Count = Annotated[int, Meta(ge=1, le=MOST_ENTRIES)]
Line = Annotated[str, Meta(min_length=1, max_length=1000)]
Names = Annotated[tuple[str, ...], Meta(min_length=1)]
Sha256 = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]


class Section(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An object whose fields are known, each with its kind and its range."""


def refuse(
    reason: str, advice: str = "get an unchanged copy from its publisher"
) -> ReleaseFileError:
    """Return the error that refuses a file, or what should go into one."""
    return ReleaseFileError(f"{reason}; {advice}")


def lacking(name: str) -> ReleaseFileError:
    """Return the error of a file without something that it needs."""
    return ReleaseFileError(f"the release file lacks something: {name}")


def unknown(names: Any) -> ReleaseFileError:
    """Return the error of a file that holds more than it may."""
    return ReleaseFileError(f"the release file holds entries unknown to it: {short(names)}")


def check_array_names(arrays: Arrays, wanted: Set[str], allowed: Set[str]) -> None:
    """Refuse a file that lacks an array, or has one that is neither wanted nor allowed."""
    if missing := sorted(wanted - arrays.keys()):
        raise lacking(f"the array {missing[0]!r}")
    if extra := sorted(arrays.keys() - wanted - allowed):
        raise unknown(extra)


def check_printable(name: str, line: str) -> None:
    """Refuse words that do more than say something on one line."""
    if not line.isprintable():
        raise ReleaseFileError(f"{name} holds characters that cannot be printed")


def to_json(section: Section) -> dict[str, Any]:
    """Return a section as JSON can hold it."""
    fields: dict[str, Any] = msgspec.to_builtins(section, enc_hook=_plain)
    return fields


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise ReleaseFileError(f"a {type(value).__name__} cannot be written to a release file")


def typed(value: Any, kind: type[T], where: str = "") -> T:
    """Return a JSON value as one of this kind; ``where`` is its name in errors."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise _explained(str(error), value, kind, where) from None


# ------------------------------------------------------------------- errors of msgspec in our words

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


def _explained(error: str, value: Any, kind: type, where: str) -> ReleaseFileError:
    """Say what msgspec found, with the value that it does not name."""
    place = _PLACE.fullmatch(error)
    reason, path = (place[1], place[2]) if place else (error, "")
    steps = _STEP.findall(path)
    try:
        for key, index in steps:
            value = value[key] if key else value[int(index)]
    except LookupError:  # the name of an unknown field may look like a place
        reason, path, steps = error, "", []
    where = (where + path).removeprefix(".")
    if field := _FIELD.fullmatch(reason):
        name = f"{where}.{field[2]}".removeprefix(".")
        return lacking(name) if field[1] == "missing required" else unknown(name)
    named = f"{where or 'the manifest'}={short(value)}"
    if words := _allowed_words(kind, [key for key, _ in steps]):
        return ReleaseFileError(f"{named} is none of {words}")
    return ReleaseFileError(f"{named} is refused: {_in_words(reason)}")


def _in_words(reason: str) -> str:
    """Return "expected a whole number, got a string" for "Expected `int`, got `str`"."""
    words = re.sub(r"`([a-z |]+)`", lambda kinds: _kinds_in_words(kinds[1].split(" | ")), reason)
    return words[0].lower() + words[1:]


def _kinds_in_words(kinds: list[str]) -> str:
    *some, last = [_WORDS.get(kind, kind) for kind in kinds]
    return f"{', '.join(some)} or {last}" if some else last


def _allowed_words(kind: type, keys: list[str]) -> tuple[Any, ...]:
    """Return the words that a place allows, if words alone are; an empty key is a list's entry."""
    options: list[Any] = [inspect.type_info(kind)]
    for key in keys:
        structs = [option for option in options if isinstance(option, inspect.StructType)]
        if tags := [struct.tag for struct in structs if key and struct.tag_field == key]:
            return tuple(tags)
        fields = [field for struct in structs for field in struct.fields if field.name == key]
        inner = [field.type for field in fields]
        if not key:
            lists = (inspect.ListType, inspect.VarTupleType)
            inner = [option.item_type for option in options if isinstance(option, lists)]
        options = [
            each
            for one in inner
            for each in (one.types if isinstance(one, inspect.UnionType) else (one,))
        ]
    if all(isinstance(option, inspect.LiteralType) for option in options):
        return tuple(word for option in options for word in option.values)
    return ()


# --------------------------------------------- numbers and arrays: of their kind and in their range


def check_number(name: str, value: float, low: float = -LARGEST, high: float = LARGEST) -> None:
    """Refuse what is no number from ``low`` to ``high``; NaN is none."""
    if not low <= value <= high:
        raise ReleaseFileError(f"{name}={short(value)} is not a number from {low:g} to {high:g}")


def check_array(
    name: str, array: NDArray[Any], dtype: str, shape: tuple[int | None, ...], axes: str
) -> None:
    """Refuse an array of another dtype or shape; None stands for any length."""
    fits = array.ndim == len(shape) and all(
        length in (None, there) for length, there in zip(shape, array.shape, strict=True)
    )
    if array.dtype != np.dtype(dtype) or not fits:
        wanted = str(shape).replace("None", "any")
        raise ReleaseFileError(
            f"{name} is an array of {array.dtype} and shape {array.shape}; it must be {dtype} of "
            f"shape {wanted}: {axes}"
        )


def check_range(name: str, array: NDArray[Any], low: float, high: float) -> None:
    """Refuse an array with an entry outside of ``low`` to ``high``; NaN is outside."""
    if array.size and not (array.min() >= low and array.max() <= high):
        raise ReleaseFileError(f"{name} holds numbers outside of {low:g} to {high:g}")
