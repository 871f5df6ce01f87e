"""A call of a function: as gold trajectories write it, as models attempt it, and what it does to the world."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

WORLD, SESSION, READ = "world", "session", "read"


@dataclass(frozen=True, slots=True)
class Call:
    """One call; `arguments` by parameter name. `raw` holds them as written when they cannot be read."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    raw: str | None = None

    @property
    def text(self) -> str:
        """As people write it: `name(argument=value)`."""
        try:
            inside = self.raw if self.raw is not None else ", ".join(f"{k}={v!r}" for k, v in self.arguments.items())
        except ValueError:
            # Python refuses to write out an integer of thousands of digits.
            inside = "…"
        return f"{self.name}({inside})"


def parse_call(text: str, parameters: Mapping[str, tuple[str, ...]]) -> Call:
    """One call in Python syntax. Positional arguments get the names that `parameters` has for the function.

    Raises `ValueError` when `text` is not a single call.
    """
    return call_of_node(ast.parse(text.strip(), mode="eval").body, parameters)


def call_of_node(node: ast.AST, parameters: Mapping[str, tuple[str, ...]]) -> Call:
    """`parse_call` of a parsed expression."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name | ast.Attribute):
        raise ValueError("not a call of a named function")
    name = ast.unparse(node.func)
    order = parameters.get(name.rpartition(".")[2], ())
    arguments: dict[str, Any] = {}
    for place, value in enumerate(node.args):
        arguments[order[place] if place < len(order) else str(place)] = _value(value)
    for keyword in node.keywords:
        arguments[keyword.arg or "**"] = _value(keyword.value)
    return Call(name, arguments)


def _value(node: ast.expr) -> Any:
    """A literal as itself, anything else as its source."""
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError):
        return ast.unparse(node)


@dataclass(frozen=True, slots=True)
class Effects:
    """What each function does to the world: function -> kind (`world`, `session` or `read`), with its conditions.

    `only_with`: functions that act only when a parameter is given (`echo` writes only with a file name).
    `counted`: kinds that count as acting. `also` and `never` overrule the derivation by function.
    """

    kinds: Mapping[str, str]
    only_with: Mapping[str, str] = field(default_factory=dict)
    counted: frozenset[str] = frozenset({WORLD})
    also: frozenset[str] = frozenset()
    never: frozenset[str] = frozenset()

    def kind(self, call: Call) -> str:
        """Kind of one call; `read` for a function that is not known."""
        parameter = self.only_with.get(call.name)
        if parameter is not None and not _given(call, parameter):
            return READ
        return self.kinds.get(call.name, READ)

    def acts(self, call: Call) -> bool:
        """Whether the call counts as acting on the world."""
        if call.name in self.also or call.name in self.never:
            return call.name in self.also
        return self.kind(call) in self.counted

    def acting(self, calls: Iterable[Call]) -> tuple[Call, ...]:
        """Those of `calls` that count as acting."""
        return tuple(call for call in calls if self.acts(call))


def _given(call: Call, parameter: str) -> bool:
    if call.raw is not None:
        return parameter in call.raw
    return call.arguments.get(parameter) is not None
