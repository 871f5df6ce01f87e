"""Calls in a string: strings that are calls and nothing else, broken ones, and calls that prose mentions."""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Iterable, Iterator
from typing import Any

from helpseek.bfcl.calls import Call, call_of_node
from helpseek.bfcl.steps.attempts import PROPOSAL, TEXT, Attempt, Parameters, Unreadable, attempt, of_mapping

# Longer strings are not one step's calls: the largest real ones have a few thousand characters.
MAX_CALL_TEXT = 100_000

FENCE = re.compile(r"^```[\w-]*\s*|\s*```$")
NAME = re.compile(r"""["'](?:name|tool_name)["']\s*:\s*["']([\w.<>|-]+)["']""")
# A string that begins as JSON calls do.
JSON_START = re.compile(
    r"""\[?\s*\{\s*["'](?:name|tool_name)["']\s*:\s*["'][\w.]+["']\s*,\s*["'](?:arguments|parameters)["']"""
)
CALL_START = re.compile(r"[\[{]|[A-Za-z_][\w.]*\(")
NAME_LINE = re.compile(r"([A-Za-z_][\w.]*)[ \t]*\r?\n\s*(?=\{)")
BARE_CALL = re.compile(r"\b([A-Za-z_]\w*)\(")
DECODER = json.JSONDecoder()


def unfenced(text: str) -> str:
    """`text` without the code fence, backticks and blanks around it."""
    return FENCE.sub("", text.strip()).strip("`\r\n\t ")


def whole(text: str, parameters: Parameters) -> list[Attempt] | None:
    """Calls of a string that consists of calls and nothing else; None when it is anything else.

    Raises `Unreadable` when it begins as calls do and is too long to be read.
    """
    plain = unfenced(text)
    if not plain:
        return None
    if len(plain) > MAX_CALL_TEXT:
        if CALL_START.match(plain):
            raise Unreadable(f"begins as a call does, and has {len(plain)} characters")
        return None
    for parsed in (_as_json(plain), as_python(plain, parameters), _as_named_block(plain, parameters)):
        if parsed is not None:
            return parsed
    return None


def _as_json(text: str) -> list[Attempt] | None:
    """JSON calls: a list, one object, or objects joined by `;` or `,`; in Python's spelling too, as Llama's handler."""
    if text[0] not in "[{":
        return None
    values = _values(text)
    if values is None:
        return None
    objects = [piece for value in values for piece in (value if isinstance(value, list) else [value])]
    if not all(isinstance(piece, dict) for piece in objects):
        return None
    try:
        return [Attempt(one.call, TEXT, one.suffix) for piece in objects for one in of_mapping(piece)]
    except Unreadable:
        return None


def _values(text: str) -> list[Any] | None:
    for parts in ([text], text.split(";"), [f"[{text}]"]):
        try:
            return [json.loads(part) for part in parts if part.strip()]
        except (ValueError, RecursionError):
            continue
    try:
        with warnings.catch_warnings(action="ignore"):
            return list(ast.literal_eval(f"[{text}]"))
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return None


def as_python(text: str, parameters: Parameters) -> list[Attempt] | None:
    """Python calls as prompted models write them: `[f(a=1), g()]`, brackets optional."""
    inside = text if text.startswith("[") else "[" + text
    inside = inside if inside.endswith("]") else inside + "]"
    return _calls_of_source(inside, "eval", parameters)


def python_lines(text: str, parameters: Parameters) -> list[Attempt] | None:
    """Python calls, one a line, as MiniCPM writes them between its tags."""
    return _calls_of_source(text, "exec", parameters) or None


def _calls_of_source(source: str, mode: str, parameters: Parameters) -> list[Attempt] | None:
    try:
        with warnings.catch_warnings(action="ignore"):
            tree = ast.parse(source, mode=mode)
        return [one for node in _elements(tree) for one in calls_of(node, parameters)]
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return None


def _elements(tree: ast.AST) -> list[ast.AST]:
    """The expressions that must all be calls. Raises `ValueError` for a statement that is none."""
    if isinstance(tree, ast.Expression):
        return list(tree.body.elts) if isinstance(tree.body, ast.List) else [tree.body]
    statements = list(ast.iter_child_nodes(tree))
    if not all(isinstance(statement, ast.Expr) for statement in statements):
        raise ValueError("a statement that is no expression")
    return [statement.value for statement in statements if isinstance(statement, ast.Expr)]


def calls_of(node: ast.AST, parameters: Parameters) -> list[Attempt]:
    """The call `node`, and the calls of known functions among its arguments: BFCL executes those as well.

    Raises `ValueError` when `node` is no call.
    """
    inner = [
        call
        for part in ast.walk(node)
        if part is not node and isinstance(part, ast.Call) and isinstance(part.func, ast.Name | ast.Attribute)
        for call in [call_of_node(part, parameters)]
        if call.name.rpartition(".")[2] in parameters
    ]
    return [_qualified(call) for call in [call_of_node(node, parameters), *inner]]


def _qualified(call: Call) -> Attempt:
    return Attempt(Call(call.name.rpartition(".")[2], call.arguments), TEXT)


def _as_named_block(text: str, parameters: Parameters) -> list[Attempt] | None:
    """A known function on the first line, its arguments as JSON below; GLM's handler reads no further."""
    named = NAME_LINE.match(text)
    if named is None or named.group(1).rpartition(".")[2] not in parameters:
        return None
    value = leading_json(text[named.end() :])
    return [attempt(named.group(1), value, TEXT)] if isinstance(value, dict) else None


def leading_json(text: str) -> Any:
    """The JSON object or list that `text` begins with; None when there is none."""
    if not text.startswith(("{", "[")):
        return None
    try:
        return DECODER.raw_decode(text)[0]
    except (ValueError, RecursionError):
        return None


def broken(text: str) -> list[Attempt]:
    """Calls whose names can be read in JSON that cannot."""
    names = dict.fromkeys(found.group(1) for found in NAME.finditer(text))
    return [attempt(name, text, TEXT) for name in names]


def broken_json(text: str) -> list[Attempt]:
    """`broken` of a string that begins as JSON calls do, without markup that says so."""
    plain = unfenced(text)
    return broken(plain) if JSON_START.match(plain) else []


def proposals(text: str, functions: Iterable[str]) -> Iterator[Attempt]:
    """Known functions that prose mentions as calls: `…[mkdir(dir_name='x'), …`."""
    known = set(functions)
    for found in BARE_CALL.finditer(text):
        if found.group(1) in known:
            inside = text[found.end() : found.end() + 200].partition(")")[0]
            yield Attempt(Call(found.group(1), {}, raw=inside), PROPOSAL)
