"""Kernels in one line: ``900*RBF([25, 15]) + 10*Matern(5, nu=1.5)``, read and written.

    sum     = product {"+" product}
    product = power {"*" power}
    power   = factor ["**" number]
    factor  = number | name "(" arguments ")" | "(" sum ")"

Nothing is evaluated: names are those of the registry, and an error points at its position.  What
``kernel_string`` writes, ``parse_kernel`` reads as the same kernel, to the last digit; it also
reads what scikit-learn prints.
"""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
from sklearn.gaussian_process import kernels as sk

from cloakgp.errors import CommandError, Message, listed, printable
from cloakgp.gp.kernels.registry import (
    BOUNDS,
    COLUMN,
    FUNCTION,
    KERNEL,
    KERNELS,
    LARGEST,
    NON_NEGATIVE,
    ORDER,
    PARTS,
    REAL,
    SCALES,
    SCALES_OR_FUNCTION,
    SMALLEST,
    KernelEntry,
    ParameterKind,
    Part,
    read_parameters,
)

Kernel = Any  # scikit-learn has no type hints

#: How tightly operators bind.
_BINDS = {"+": 0, "*": 1, "**": 2}

_TOKEN = re.compile(
    r"(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*)|(?P<mark>\*\*|[-+*()\[\],=])"
)
MAX_TOKENS, MAX_DEPTH = 1000, 20


def parse_kernel(text: str) -> Kernel:
    """Build a kernel from a string such as ``900*RBF([25, 15]) + 10*Matern(5, nu=1.5)``."""
    return _Parser(text).parse()


def kernel_string(kernel: Kernel) -> str:
    """Return the string from which ``parse_kernel`` builds this kernel again.

    A kernel that the grammar does not have, such as one with a lengthscale function, raises a
    ValueError.
    """
    return _write(kernel, 0, alone=True)


class _Parser:
    """Reads one kernel, from left to right."""

    def __init__(self, text: str) -> None:
        self.text, self.next, self.depth = text, 0, 0
        self.tokens: list[tuple[str, str, int]] = []  # kind, string, position
        place = 0
        while place < len(text):
            if text[place].isspace():
                place += 1
                continue
            found = _TOKEN.match(text, place)
            if found is None or len(self.tokens) >= MAX_TOKENS:
                raise self.error("this is not allowed here" if found is None else "too long", place)
            self.tokens.append((str(found.lastgroup), found.group(), place))
            place = found.end()
        self.tokens.append(("end", "", len(text)))

    def error(self, problem: str, place: int) -> CommandError:
        # A very long kernel is shown around the place only, so that the pointer stays below it.
        start = max(0, place - 60)
        shown = "".join(c if c.isprintable() else "?" for c in self.text[start : place + 60])
        pointer = f"  {shown}\n  {' ' * (place - start)}^"
        return CommandError(Message("{kernel}, position {}: {}\n{}", place + 1, problem, pointer))

    def parse(self) -> Kernel:
        kernel = self.sum()
        self.expect("end", "", "'+', '*' or the end")
        if isinstance(kernel, float):
            raise self.error("a number alone is not a kernel; write Constant(...)", 0)
        return kernel

    def peek(self, mark: str) -> bool:
        return self.tokens[self.next][:2] == ("mark", mark)

    def take(self) -> tuple[str, str, int]:
        self.next += 1
        return self.tokens[self.next - 1]

    def expect(self, kind: str, text: str, wanted: str) -> None:
        found = self.take()
        if found[:2] != (kind, text):
            raise self.error(f"expected {wanted}", found[2])

    def sum(self) -> Kernel:
        whole = self.product()
        while self.peek("+"):
            place = self.take()[2]
            part = self.product()
            both = isinstance(whole, float) and isinstance(part, float)
            whole = self.usable(whole + part, place) if both else _kernel(whole) + _kernel(part)
        return whole

    def product(self) -> Kernel:
        whole = self.power()
        while self.peek("*"):
            place = self.take()[2]
            part = self.power()
            both = isinstance(whole, float) and isinstance(part, float)
            whole = self.usable(whole * part, place) if both else _kernel(whole) * _kernel(part)
        return whole

    def power(self) -> Kernel:
        base = self.factor()
        if not self.peek("**"):
            return base
        place = self.take()[2]
        kind, text, at = self.take()
        if kind != "number":
            raise self.error("expected a number", at)
        exponent = self.number(text, at)
        if not isinstance(base, float):
            return sk.Exponentiation(base, exponent)
        if base > 0 and abs(exponent * math.log10(base)) > 300:
            raise self.error("this number must be positive and not extreme", place)
        return self.usable(base**exponent, place)

    def factor(self) -> Kernel:
        kind, text, place = self.take()
        if kind == "number":
            return self.number(text, place, zero=True)
        if kind == "name":
            return self.call(text, place, "kernel")
        if text != "(":
            raise self.error(f"expected a number, '(' or one of {_known('kernel')}", place)
        self.enter(place)
        inside = self.sum()
        self.depth -= 1
        self.expect("mark", ")", "')'")
        return inside

    def enter(self, place: int) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.error("too deep; use fewer brackets", place)

    def number(self, text: str, place: int, zero: bool = False) -> float:
        return self.usable(float(text), place, zero)

    def usable(self, number: float, place: int, zero: bool = True) -> float:
        if not (SMALLEST <= number <= LARGEST or (zero and number == 0.0)):
            raise self.error("this number must be positive and not extreme", place)
        return number

    def call(self, name: str, place: int, part: Part) -> Any:
        entry = _calls(part).get(name)
        if entry is None:
            raise self.error(f"unknown; known are {_known(part)}", place)
        kinds = _written_parameters(entry)
        self.expect("mark", "(", "'('")
        self.enter(place)
        given: dict[str, Any] = {}
        while not self.peek(")"):
            self.argument(entry, kinds, given)
            if not self.peek(")"):
                self.expect("mark", ",", "',' or ')'")
        self.take()
        self.depth -= 1
        values = {**entry.defaults, **given}
        if absent := [key for key in kinds if key not in values]:
            raise self.error(f"{entry.line} needs {listed(absent)}", place)
        # Nothing is fitted here, so nothing is free.
        fixed = {key: "fixed" for key in entry.parameters if key not in kinds}
        try:
            return entry.cls(**values, **fixed)
        except ValueError as error:
            raise self.error(printable(error), place) from None

    def argument(
        self, entry: KernelEntry, kinds: dict[str, ParameterKind], given: dict[str, Any]
    ) -> None:
        kind, text, place = self.tokens[self.next]
        key = list(kinds)[len(given)] if len(given) < len(kinds) else ""
        if kind == "name" and self.tokens[self.next + 1][:2] == ("mark", "="):
            key = text
            self.next += 2
        if key not in kinds or key in given:
            raise self.error(f"{entry.line} takes {listed(list(kinds))}, each once", place)
        given[key] = self.value(key, kinds[key])

    def value(self, key: str, kind: ParameterKind) -> Any:
        if kind is KERNEL:
            return _kernel(self.sum())
        if kind is FUNCTION:
            _, text, place = self.take()
            return self.call(text, place, "function")
        if kind in (SCALES, SCALES_OR_FUNCTION) and self.peek("["):
            self.take()
            return np.array(self.numbers(), dtype=np.float64)
        negative = kind is REAL and self.peek("-")
        if negative:
            self.take()
        found, text, place = self.take()
        if kind is ORDER and text == "inf":
            return math.inf
        if found != "number":
            raise self.error(f"expected a number for {key}", place)
        if kind in (REAL, COLUMN) and math.isfinite(number := float(text)):
            return -number if negative else number
        return self.number(text, place, zero=kind is NON_NEGATIVE)

    def numbers(self) -> list[float]:
        numbers: list[float] = []
        while not numbers or self.peek(","):
            if numbers:
                self.take()
            kind, text, place = self.take()
            if kind != "number":
                raise self.error("expected a number", place)
            numbers.append(self.number(text, place))
        self.expect("mark", "]", "',' or ']'")
        return numbers


def _kernel(part: Kernel) -> Kernel:
    return sk.ConstantKernel(part, "fixed") if isinstance(part, float) else part


def _write(kernel: Kernel, level: int, alone: bool) -> str:
    """Return a kernel in brackets if it binds less than ``level``: 0 sum, 1 product, 2 power.

    A constant that does not stand ``alone`` is a bare number.
    """
    if type(kernel) is sk.ConstantKernel and not alone:
        return _numeral(kernel.constant_value)
    entry = KERNELS.get(type(kernel))
    if entry is None or entry.line not in _BINDS:
        return _write_call(kernel, "kernel")
    binds = _BINDS[entry.line]
    if entry.line == "**":
        base, exponent = _write(kernel.kernel, binds + 1, alone=True), _numeral(kernel.exponent)
        return _bracketed(f"{base}**{exponent}", binds < level)
    # Two bare numbers beside each other would be read as one.
    both = type(kernel.k1) is type(kernel.k2) is sk.ConstantKernel
    left, right = _write(kernel.k1, binds, both), _write(kernel.k2, binds + 1, both)
    sign = " + " if entry.line == "+" else entry.line
    return _bracketed(f"{left}{sign}{right}", binds < level)


def _write_call(part: Any, kind: Part) -> str:
    entry = PARTS[kind].get(type(part))
    if entry is None or entry.line is None:
        raise ValueError(f"a kernel with {type(part).__name__} cannot be written in one line")
    values = read_parameters(part)
    first, *rest = (
        (key, _write_value(values[key], kind)) for key, kind in _written_parameters(entry).items()
    )
    return f"{entry.line}({', '.join([first[1], *(f'{key}={value}' for key, value in rest)])})"


def _write_value(value: Any, kind: ParameterKind) -> str:
    if kind is KERNEL:
        return _write(value, 0, alone=True)
    if kind is FUNCTION:
        return _write_call(value, "function")
    if callable(value):
        raise ValueError("a kernel with a lengthscale function cannot be written in one line")
    if np.ndim(value) == 1:
        return f"[{', '.join(_numeral(number) for number in value)}]"
    return _numeral(value)


def _written_parameters(entry: KernelEntry) -> dict[str, ParameterKind]:
    """Return the parameters that a line has: all but bounds."""
    return {key: kind for key, kind in entry.parameters.items() if kind is not BOUNDS}


def _calls(part: Part) -> dict[str, KernelEntry]:
    """Return what is written as a call, by its name and by that of its class, as sklearn prints."""
    entries = [entry for entry in PARTS[part].values() if entry.line and entry.line not in _BINDS]
    own = {str(entry.line): entry for entry in entries}
    return own | {entry.cls.__name__: entry for entry in entries}


def _known(part: Part) -> str:
    """List the names that may stand in a line."""
    return ", ".join(name for name, entry in _calls(part).items() if name == entry.line)


def _numeral(value: Any) -> str:
    """Return the shortest digits that are read as exactly this number."""
    return repr(float(value)).removesuffix(".0")


def _bracketed(text: str, needed: bool) -> str:
    return f"({text})" if needed else text
