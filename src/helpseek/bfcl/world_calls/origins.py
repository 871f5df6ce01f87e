"""Where a value comes from: which attribute of the API object, or parameter, it is part of.

An origin is a root with a depth: 0 when changing the value changes what the root holds, 1 when the value is a new
container whose elements belong to the root (a copy, a slice, a comprehension).
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

Origin = tuple[str, int]
Origins = frozenset[Origin]
NONE: Origins = frozenset()

# Methods of built-in containers that change them.
MUTATORS = frozenset(
    "append extend insert remove pop popitem clear sort reverse update setdefault add discard appendleft popleft "
    "difference_update intersection_update symmetric_difference_update __setitem__ __delitem__".split()
)
# Methods that give out elements of their object.
GIVES_ELEMENTS = frozenset({"get", "pop", "popitem", "setdefault", "popleft"})
# Methods and functions that give a new container of the same elements.
GIVES_CONTAINER = frozenset({"copy", "values", "items", "list", "dict", "tuple", "set", "sorted", "reversed"})
GIVES_CONTAINER |= {"enumerate", "zip", "filter", "iter"}
GIVES_ELEMENT_OF_ARGUMENT = frozenset({"next", "min", "max"})


def root(name: str) -> Origins:
    """The value is what `name` holds."""
    return frozenset({(name, 0)})


def elements(origins: Iterable[Origin]) -> Origins:
    """Origins of an element of a value."""
    return frozenset((name, 0) for name, _ in origins)


def container(origins: Iterable[Origin]) -> Origins:
    """Origins of a new container with the elements of a value."""
    return frozenset((name, 1) for name, _ in origins)


def holding(origins: Iterable[Origin]) -> Origins:
    """Origins of a new container that holds a value itself."""
    return frozenset((name, 1) for name, depth in origins if depth == 0)


def roots(origins: Iterable[Origin]) -> frozenset[str]:
    """Roots that change when the value changes."""
    return frozenset(name for name, depth in origins if depth == 0)


def is_failure(block: list[ast.stmt]) -> bool:
    """Whether a block ends by refusing: it raises, or returns a dict with an error."""
    last = block[-1] if block else None
    if isinstance(last, ast.Raise):
        return True
    value = last.value if isinstance(last, ast.Return) else None
    keys = value.keys if isinstance(value, ast.Dict) else []
    return any(isinstance(key, ast.Constant) and key.value == "error" for key in keys)


def terminates(block: list[ast.stmt]) -> bool:
    """Whether nothing after the block runs once the block does."""
    last = block[-1] if block else None
    if isinstance(last, ast.If):
        return bool(last.orelse) and terminates(last.body) and terminates(last.orelse)
    return isinstance(last, ast.Return | ast.Raise | ast.Continue | ast.Break)


def given_when(test: ast.expr, outcome: bool) -> frozenset[str]:
    """Names that hold a value when `test` has turned out as `outcome`: `if x`, `if x is None`, `not`, `and`, `or`."""
    match test:
        case ast.Name(id=name):
            return frozenset({name}) if outcome else frozenset()
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return given_when(operand, not outcome)
        case ast.Compare(left=ast.Name(id=name), ops=[op], comparators=[ast.Constant(value=None)]):
            return frozenset({name}) if outcome is isinstance(op, ast.IsNot | ast.NotEq) else frozenset()
        case ast.BoolOp(op=op, values=values) if outcome is isinstance(op, ast.And):
            return frozenset().union(*(given_when(value, outcome) for value in values))
    return frozenset()
