"""Attempted calls, and how one JSON object is read as calls."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from helpseek.bfcl.calls import Call

Parameters = Mapping[str, tuple[str, ...]]

STRUCTURED, TEXT, PROPOSAL = "structured", "text", "proposal"
ARGUMENTS = ("arguments", "parameters", "input", "args")
SUFFIX = re.compile(r"<\|.*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Attempt:
    """One call that a model wrote. `call.name` is without class and leaked suffix; `call.raw`: unreadable arguments."""

    call: Call
    form: str = STRUCTURED
    """structured: calls by the API; text: decoded from a string; proposal: inside prose, so never executed."""
    suffix: str = ""
    """Leaked markup after the name, such as `<|channel|>commentary`."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step as read. `unreadable`: why it cannot be said whether it holds more calls than `attempts`."""

    attempts: tuple[Attempt, ...] = ()
    text: str = ""
    unreadable: str = ""


class Unreadable(Exception):
    """A step that looks like calls but cannot be read as such."""


def of_mapping(piece: Mapping[str, Any]) -> list[Attempt]:
    """Calls of one JSON object: `{name: arguments}`, `{"name", "arguments"}` and their kin. A text block has none.

    Raises `Unreadable` for an object of no known form.
    """
    for function in (piece.get("function"), piece.get("function_call"), piece):
        if isinstance(function, dict):
            named = _named(function)
            if named is not None:
                return [named]
    if isinstance(piece.get("tool_calls"), list):
        return [call for part in piece["tool_calls"] if isinstance(part, dict) for call in of_mapping(part)]
    if "text" in piece or piece.get("type") in ("text", "thinking", "reasoning") or "content" in piece:
        return []
    if isinstance(piece.get("function"), str):
        return [attempt(piece["function"], piece.get("arguments", piece.get("args", {})))]
    if _names_a_function(piece.get("name", piece.get("tool_name"))):
        # The name is there and the arguments are under a key that no handler knows.
        return [Attempt(Call(plain_name(_name(piece)), {}, raw=json.dumps(piece, ensure_ascii=False)))]
    if not all(isinstance(value, dict | str | None) for value in piece.values()):
        raise Unreadable("an object that is no call of any known form")
    return [attempt(name, arguments) for name, arguments in piece.items()]


def _named(piece: Mapping[str, Any]) -> Attempt | None:
    """`{"name": …, "arguments": …}`; Cohere writes tool_name and parameters, Anthropic input."""
    name = piece.get("name", piece.get("tool_name"))
    for key in ARGUMENTS:
        if isinstance(name, str) and key in piece:
            return attempt(name, piece[key])
    only_a_name = set(piece) <= {"name", "tool_name", "id", "type"}
    return attempt(_name(piece), {}) if only_a_name and _names_a_function(name) else None


def _name(piece: Mapping[str, Any]) -> str:
    return str(piece.get("name", piece.get("tool_name")))


def _names_a_function(name: Any) -> bool:
    return isinstance(name, str) and plain_name(name).isidentifier()


def plain_name(name: str) -> str:
    """A function's name without the class before it and the markup after it."""
    return SUFFIX.sub("", name).strip().rpartition(".")[2]


def attempt(name: str, arguments: Any, form: str = STRUCTURED) -> Attempt:
    """One call; arguments that are no object, also after decoding, stay as written."""
    found = SUFFIX.search(name)
    suffix = found.group() if found else ""
    plain = plain_name(name)
    if arguments is None or arguments == "":
        arguments = {}
    if isinstance(arguments, str):
        try:
            value = json.loads(arguments)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            return Attempt(Call(plain, {}, raw=arguments), form, suffix)
        arguments = value
    if not isinstance(arguments, dict):
        return Attempt(Call(plain, {}, raw=str(arguments)), form, suffix)
    return Attempt(Call(plain, arguments), form, suffix)
