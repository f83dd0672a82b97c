"""Kernels in one line: ``900*RBF([25, 15]) + 10*Matern(5, nu=1.5)``, read and written.

    sum     = product {"+" product}
    product = power {"*" power}
    power   = factor ["**" number]
    factor  = number | name "(" arguments ")" | "(" sum ")"

Nothing is evaluated: names come from one table, and an error points at its place.  What
``kernel_string`` writes, ``parse_kernel`` reads as the same kernel, to the last digit; it also
reads what scikit-learn prints.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.gaussian_process import kernels as sk

from cloakgp.errors import CommandError, listed, printable
from cloakgp.gp.kernels.blend import Blend, Logistic
from cloakgp.gp.kernels.gibbs import Gibbs

Kernel = Any  # scikit-learn has no type hints

# What may stand for a parameter: its kind, and its value if it is left out (None: it must not be).
_Parameters = dict[str, tuple[str, float | None]]
_KERNELS: dict[str, tuple[Callable[..., Any], _Parameters]] = {
    "RBF": (sk.RBF, {"length_scale": ("scales", None)}),
    "Matern": (sk.Matern, {"length_scale": ("scales", None), "nu": ("order", 1.5)}),
    "RationalQuadratic": (
        sk.RationalQuadratic,
        {"length_scale": ("positive", None), "alpha": ("positive", 1.0)},
    ),
    "ExpSineSquared": (
        sk.ExpSineSquared,
        {"length_scale": ("positive", None), "periodicity": ("positive", None)},
    ),
    "DotProduct": (sk.DotProduct, {"sigma_0": ("at least 0", None)}),
    "Constant": (sk.ConstantKernel, {"constant_value": ("at least 0", None)}),
    "White": (sk.WhiteKernel, {"noise_level": ("positive", None)}),
    "Gibbs": (Gibbs, {"lengthscale": ("scales", None)}),
    "Blend": (
        Blend,
        {"k_f": ("kernel", None), "k_g": ("kernel", None), "weight": ("weight", None)},
    ),
}
_WEIGHTS: dict[str, tuple[Callable[..., Any], _Parameters]] = {
    "Logistic": (
        Logistic,
        {"center": ("real", None), "width": ("real", None), "dimension": ("column", 0.0)},
    ),
}
#: What scikit-learn prints for these.
_OTHER_NAMES = {"WhiteKernel": "White", "ConstantKernel": "Constant"}
#: Kinds of parameters that a fit could change; here nothing is fitted, so they are fixed.
_FREE = ("scales", "positive", "at least 0")

_TOKEN = re.compile(
    r"(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*)|(?P<mark>\*\*|[-+*()\[\],=])"
)
#: Kernels square their parameters, and the square has to be a float too.
_SMALLEST, _LARGEST = 1e-150, 1e150
_MOST_TOKENS, _DEEPEST = 1000, 20


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
            if found is None or len(self.tokens) >= _MOST_TOKENS:
                raise self.error("this is not allowed here" if found is None else "too long", place)
            self.tokens.append((str(found.lastgroup), found.group(), place))
            place = found.end()
        self.tokens.append(("end", "", len(text)))

    def error(self, problem: str, place: int) -> CommandError:
        # A very long kernel is shown around the place only, so that the pointer stays below it.
        start = max(0, place - 60)
        shown = "".join(c if c.isprintable() else "?" for c in self.text[start : place + 60])
        pointer = f"  {shown}\n  {' ' * (place - start)}^"
        return CommandError(f"kernel, position {place + 1}: {problem}\n{pointer}")

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
            return self.call(text, place, _KERNELS)
        if text != "(":
            raise self.error(f"expected a number, '(' or one of {', '.join(_KERNELS)}", place)
        self.enter(place)
        inside = self.sum()
        self.depth -= 1
        self.expect("mark", ")", "')'")
        return inside

    def enter(self, place: int) -> None:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise self.error("too deep; use fewer brackets", place)

    def number(self, text: str, place: int, zero: bool = False) -> float:
        return self.usable(float(text), place, zero)

    def usable(self, number: float, place: int, zero: bool = True) -> float:
        if not (_SMALLEST <= number <= _LARGEST or (zero and number == 0.0)):
            raise self.error("this number must be positive and not extreme", place)
        return number

    def call(self, name: str, place: int, table: dict[str, Any]) -> Any:
        name = _OTHER_NAMES.get(name, name)
        if name not in table:
            raise self.error(f"unknown; known are {', '.join(table)}", place)
        build, parameters = table[name]
        self.expect("mark", "(", "'('")
        self.enter(place)
        given: dict[str, Any] = {}
        while not self.peek(")"):
            self.argument(name, parameters, given)
            if not self.peek(")"):
                self.expect("mark", ",", "',' or ')'")
        self.take()
        self.depth -= 1
        values = {key: given.get(key, default) for key, (_, default) in parameters.items()}
        if absent := [key for key, value in values.items() if value is None]:
            raise self.error(f"{name} needs {listed(absent)}", place)
        fixed = {f"{key}_bounds": "fixed" for key, (kind, _) in parameters.items() if kind in _FREE}
        try:
            return build(**values, **fixed)
        except ValueError as error:
            raise self.error(printable(error), place) from None

    def argument(self, name: str, parameters: _Parameters, given: dict[str, Any]) -> None:
        _, text, place = self.tokens[self.next]
        key = list(parameters)[len(given)] if len(given) < len(parameters) else ""
        if self.tokens[self.next][0] == "name" and self.tokens[self.next + 1][:2] == ("mark", "="):
            key = text
            self.next += 2
        if key not in parameters or key in given:
            raise self.error(f"{name} takes {listed(list(parameters))}, each once", place)
        given[key] = self.value(key, parameters[key][0])

    def value(self, key: str, kind: str) -> Any:
        if kind == "kernel":
            return _kernel(self.sum())
        if kind == "weight":
            _, text, place = self.take()
            return self.call(text, place, _WEIGHTS)
        if kind == "scales" and self.peek("["):
            self.take()
            return np.array(self.numbers(), dtype=np.float64)
        negative = kind == "real" and self.peek("-")
        if negative:
            self.take()
        found, text, place = self.take()
        if kind == "order" and text == "inf":
            return math.inf
        if found != "number":
            raise self.error(f"expected a number for {key}", place)
        if kind in ("real", "column") and math.isfinite(number := float(text)):
            return -number if negative else number
        return self.number(text, place, zero=kind == "at least 0")

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
    kind = type(kernel)
    if kind is sk.ConstantKernel and not alone:
        return _numeral(kernel.constant_value)
    if kind in (sk.Sum, sk.Product):
        binds, sign = (0, " + ") if kind is sk.Sum else (1, "*")
        # Two bare numbers beside each other would be read as one.
        both = type(kernel.k1) is type(kernel.k2) is sk.ConstantKernel
        left, right = (_write(kernel.k1, binds, both), _write(kernel.k2, binds + 1, both))
        return _bracketed(f"{left}{sign}{right}", binds < level)
    if kind is sk.Exponentiation:
        base = _write(kernel.kernel, 3, alone=True)
        return _bracketed(f"{base}**{_numeral(kernel.exponent)}", level > 2)
    return _write_call(kernel, _KERNELS)


def _write_call(part: Any, table: dict[str, Any]) -> str:
    for name, (build, parameters) in table.items():
        if type(part) is build:
            values = (
                _write_value(getattr(part, key), kind) for key, (kind, _) in parameters.items()
            )
            first, *rest = zip(parameters, values, strict=True)
            return f"{name}({', '.join([first[1], *(f'{key}={value}' for key, value in rest)])})"
    raise ValueError(f"a kernel with {type(part).__name__} cannot be written in one line")


def _write_value(value: Any, kind: str) -> str:
    if kind == "kernel":
        return _write(value, 0, alone=True)
    if kind == "weight":
        return _write_call(value, _WEIGHTS)
    if callable(value):
        raise ValueError("a kernel with a lengthscale function cannot be written in one line")
    if np.ndim(value) == 1:
        return f"[{', '.join(_numeral(number) for number in value)}]"
    return _numeral(value)


def _numeral(value: Any) -> str:
    """Return the shortest digits that are read as exactly this number."""
    return repr(float(value)).removesuffix(".0")


def _bracketed(text: str, needed: bool) -> str:
    return f"({text})" if needed else text
