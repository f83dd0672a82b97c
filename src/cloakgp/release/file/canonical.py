"""JSON with one spelling for one content, and nothing in it that other readers take otherwise.

Keys are sorted, there are no spaces, and everything is ASCII.  Numbers are finite, no key occurs
twice in an object, strings are valid, and nesting has an end.
"""

import json
import math
import re
from reprlib import repr as short
from typing import Any

from cloakgp.errors import ReleaseFileError
from cloakgp.release.file.schema import refuse

MAX_DEPTH = 200


def canonical_json(value: Any) -> bytes:
    """Return the one spelling of a JSON value."""
    try:
        text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise refuse(f"the manifest cannot be written as JSON ({error})", "correct it") from None
    return text.encode("ascii")


def parse_json(data: bytes, name: str) -> Any:
    """Return the value of strict JSON; ``name`` is that of the file in errors."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise refuse(f"{name} is not UTF-8 at byte {error.start}") from None
    try:
        value = json.loads(
            text,
            object_pairs_hook=_unique_keys,
            parse_constant=_finite_float,
            parse_float=_finite_float,
        )
    except ReleaseFileError as error:
        raise refuse(f"{name} {error}") from None
    except RecursionError:
        raise _too_deep() from None
    except ValueError as error:
        raise refuse(f"{name} is not valid JSON ({error})") from None
    check_json(value)
    return value


def check_json(value: Any) -> None:
    """Refuse what JSON cannot hold, or would give back as something else."""
    if problem := _problem(value, 1):
        where, reason = problem
        raise refuse(f"manifest{where} {reason}", "use finite numbers, valid strings and lists")


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in pairs:
        if key in result:
            raise ReleaseFileError(f"has the key {short(key)} twice in one object")
        result[key] = value
    return result


def _finite_float(text: str) -> float:
    """Turn a JSON number into a float, and refuse those that are infinite, such as 1e999."""
    number = float(text)
    if not math.isfinite(number):
        raise ReleaseFileError(f"holds the number {short(text)}, which is not finite")
    return number


def _problem(value: Any, depth: int) -> tuple[str, str] | None:
    """Find the first problem in a JSON value: where it is, and what. Paths are built only then."""
    if isinstance(value, dict | list | tuple):
        if depth > MAX_DEPTH:
            raise _too_deep()
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            if isinstance(value, dict) and (reason := _key_problem(key)):
                return "", reason
            if problem := _problem(item, depth + 1):
                return f"[{short(key)}]{problem[0]}", problem[1]
        return None
    if isinstance(value, float):
        return None if math.isfinite(value) else ("", f"is {value}")
    if isinstance(value, str):
        return ("", "holds half a surrogate pair") if _is_broken(value) else None
    if value is None or isinstance(value, int):
        return None
    return "", f"is a {type(value).__name__}"


def _key_problem(key: Any) -> str | None:
    if isinstance(key, str) and not _is_broken(key):
        return None
    return f"has the key {short(key)}, which is not valid text"


def _is_broken(text: str) -> bool:
    return not text.isascii() and re.search("[\ud800-\udfff]", text) is not None


def _too_deep() -> ReleaseFileError:
    return refuse("the manifest is nested too deeply", f"use at most {MAX_DEPTH} levels")
