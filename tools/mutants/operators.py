"""Kinds of mutants beside those of mutmut, for what a slip in privacy code would look like."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst
import libcst.matchers as m
from mutmut.mutation import file_mutation, mutators

#: Bounds that are taken from the wrong side.
OTHER_SIDE = {
    "max": "min",
    "min": "max",
    "maximum": "minimum",
    "minimum": "maximum",
    "ceil": "floor",
    "floor": "ceil",
    "any": "all",
    "all": "any",
}

#: How a string of SQL begins.
SQL = re.compile(r"\W*(SELECT|INSERT|UPDATE|CREATE|PRAGMA|BEGIN|COMMIT|ROLLBACK|WHERE)\b")
#: An error that is made here and raised elsewhere.
AN_ERROR = m.Call(func=m.Name(value=m.MatchRegex(r"[A-Z]\w*(Error|Tampered|Failed|Exceeded)")))


def other_side(node: cst.Call) -> Iterator[cst.Call]:
    """``max(a, b)`` becomes ``min(a, b)``, ``np.maximum`` ``np.minimum``, and so on."""
    name = node.func.attr if isinstance(node.func, cst.Attribute) else node.func
    if isinstance(name, cst.Name) and name.value in OTHER_SIDE:
        yield node.with_deep_changes(name, value=OTHER_SIDE[name.value])


def forgotten_call(node: cst.Expr) -> Iterator[cst.Pass]:
    """A call whose result is not used, such as a check or a commit, is left out."""
    if m.matches(node.value, m.Call()):
        yield cst.Pass()


def forced_condition(node: cst.If | cst.While) -> Iterator[cst.If | cst.While]:
    """``if c:`` becomes ``if (c) and False:`` and ``if (c) or True:``; loops only the first."""
    test = node.test.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
    choices: list[tuple[cst.BaseBooleanOp, str]] = [(cst.And(), "False")]
    if isinstance(node, cst.If):
        choices.append((cst.Or(), "True"))
    for operator, literal in choices:
        forced = cst.BooleanOperation(left=test, operator=operator, right=cst.Name(literal))
        yield node.with_changes(test=forced)


def string(node: cst.BaseString) -> Iterator[cst.BaseString]:
    """What mutmut makes of a string, but no SQL in other letters, which is the same SQL."""
    for mutant in mutators.operator_string(node):
        before, after = (getattr(each, "value", "") for each in (node, mutant))
        if not (SQL.match(before) and before.casefold() == after.casefold()):
            yield mutant


def install() -> None:
    """Add these kinds to those of mutmut, and leave the wording of error messages alone."""
    operators = mutators.mutation_operators
    operators[:] = [each for each in operators if each[1] is not mutators.operator_string]
    operators.extend(  # type: ignore[attr-defined]
        [
            (cst.BaseString, string),
            (cst.Call, other_side),
            (cst.Expr, forgotten_call),
            (cst.If, forced_condition),
            (cst.While, forced_condition),
        ]
    )
    visitor = file_mutation.MutationVisitor
    skips = visitor._skip_node_and_children

    def skip(self: file_mutation.MutationVisitor, node: cst.CSTNode) -> bool:
        if isinstance(node, cst.Raise) or m.matches(node, AN_ERROR):
            # Parts of a message; the mutant that raises without one, ValueError(None), stays.
            strings = {n for n in file_mutation._walk(node) if isinstance(n, cst.SimpleString)}
            self.wording = strings | getattr(self, "wording", set())
        return node in getattr(self, "wording", ()) or skips(self, node)

    visitor._skip_node_and_children = skip


class Desugar(cst.CSTTransformer):
    """Write ``@decorator`` as ``f = decorator(f)``, which is the same: mutmut skips the former."""

    def leave_FunctionDef(
        self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef
    ) -> cst.FunctionDef | cst.FlattenSentinel[cst.BaseStatement]:
        decorators = [decorator.decorator for decorator in updated_node.decorators]
        names = {d.value for d in decorators if isinstance(d, cst.Name)}
        # mutmut knows the first two, and nothing happens in an overload.
        if not decorators or names & {"staticmethod", "classmethod", "overload"}:
            return updated_node
        value: cst.BaseExpression = updated_node.name
        for decorator in reversed(decorators):
            value = cst.Call(func=decorator, args=[cst.Arg(value)])
        target = cst.AssignTarget(updated_node.name)
        again = cst.SimpleStatementLine([cst.Assign([target], value)])
        return cst.FlattenSentinel([updated_node.with_changes(decorators=[]), again])


def desugared(source: str) -> str:
    """Return the same program without decorators that would hide functions from mutmut."""
    return cst.parse_module(source).visit(Desugar()).code
