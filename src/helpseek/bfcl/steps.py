"""What a model attempted in one step, whatever handler wrote it.

A step is the raw answer to one model call: a list of calls, prose, or a string that some handler would decode into
calls. Shapes are those of the BFCL handlers; where the inference log says what was decoded, the log decides.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from helpseek.bfcl.calls import Call, call_of_node, parse_call

Parameters = Mapping[str, tuple[str, ...]]

STRUCTURED, TEXT, PROPOSAL = "structured", "text", "proposal"
# Lists in lists are only seen one or two deep; deeper ones are not steps.
MAX_DEPTH = 4
# Longer strings are not one step's calls: the largest real ones have a few thousand characters.
MAX_CALL_TEXT = 100_000

THOUGHT = re.compile(r"^.*</think(?:ing)?>", re.DOTALL)
FENCE = re.compile(r"^```[\w-]*\n?|\n?```$")
SUFFIX = re.compile(r"<\|.*", re.DOTALL)
NAME = re.compile(r"""["'](?:name|tool_name)["']\s*:\s*["']([\w.<>|-]+)["']""")
MARKUP = re.compile(
    r"<tool_calls?>|<TOOLCALL>|<function_call>|<start_function_call>|<\|?tool_call(?:s?_begin)?\|?>|\[TOOL_CALLS\]"
    r"|<\|python_tag\|>|<\|action_start\|>|<function=|<｜tool▁calls?▁begin｜>"
)
MARKUP_END = re.compile(
    r"</tool_calls?>|</TOOLCALL>|</function_call>|<end_function_call>|</?\|?tool_calls?_?(?:end)?\|>|<\|action_end\|>"
    r"|</function>|<\|eom_id\|>|<\|eot_id\|>|<\|im_end\|>|<｜tool▁calls?▁end｜>"
)
# `name>{…}`, `call:name{…}`, `function<sep>name {…}`, `name[ARGS]{…}`, and a name on a line of its own
NAMED_BLOCK = re.compile(r"(?:call:|function<[^>]*>)?\s*([A-Za-z_][\w.]*)\s*(?:>|\n|\[ARGS\]|(?=\{))\s*(.*)", re.DOTALL)
BARE_CALL = re.compile(r"\b([A-Za-z_]\w*)\(")


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
    """One step as read. `unreadable`: why it cannot be said whether it holds calls."""

    attempts: tuple[Attempt, ...] = ()
    text: str = ""
    unreadable: str = ""


class Unreadable(Exception):
    """A step that looks like calls but cannot be read as such."""


def read_step(raw: Any, parameters: Parameters, logged: Mapping[str, Any] | None = None) -> Step:
    """One element of `result[turn]`. `logged`: the handler's entry for this step (`model_response_decoded`, `error`).

    `parameters` holds all known functions with their parameter names. Never raises.
    """
    try:
        if isinstance(raw, str):
            return _read_string(raw, parameters, logged)
        pieces = list(_flatten(raw))
        calls = tuple(attempt for piece in pieces if isinstance(piece, dict) for attempt in _of_mapping(piece))
        prose = "\n".join(_prose(piece) for piece in pieces).strip()
        if calls:
            return Step(calls, prose)
        # A list of text blocks is never decoded; whole calls in it are proposals.
        return Step(tuple(_proposals(prose, parameters)), prose)
    except Unreadable as error:
        return Step(unreadable=str(error))
    except RecursionError:
        return Step(unreadable="nested too deeply")


def _flatten(raw: Any, depth: int = 0) -> Iterator[Any]:
    if raw is None:
        return
    if isinstance(raw, str | dict):
        yield raw
    elif isinstance(raw, list) and depth < MAX_DEPTH:
        for piece in raw:
            yield from _flatten(piece, depth + 1)
    else:
        raise Unreadable(f"a step of {type(raw).__name__}, which no handler writes")


def _prose(piece: Any) -> str:
    if isinstance(piece, str):
        return piece
    text = piece.get("text") or piece.get("content")
    return text if isinstance(text, str) else ""


def _of_mapping(piece: Mapping[str, Any]) -> list[Attempt]:
    """Calls of one JSON object: `{name: arguments}`, `{"name", "arguments"}` and their kin. A text block has none."""
    for function in (piece.get("function"), piece.get("function_call"), piece):
        if isinstance(function, dict):
            named = _named(function)
            if named is not None:
                return [named]
    if isinstance(piece.get("tool_calls"), list):
        return [attempt for part in piece["tool_calls"] if isinstance(part, dict) for attempt in _of_mapping(part)]
    if "text" in piece or piece.get("type") in ("text", "thinking", "reasoning") or "content" in piece:
        return []
    if isinstance(piece.get("function"), str):
        return [_attempt(piece["function"], piece.get("arguments", piece.get("args", {})))]
    if not all(isinstance(value, dict | str | None) for value in piece.values()):
        raise Unreadable("an object that is no call of any known form")
    return [_attempt(name, arguments) for name, arguments in piece.items()]


def _named(piece: Mapping[str, Any]) -> Attempt | None:
    """`{"name": …, "arguments": …}`; Cohere writes tool_name and parameters, Anthropic input."""
    name = piece.get("name", piece.get("tool_name"))
    for key in ("arguments", "parameters", "input", "args"):
        if isinstance(name, str) and key in piece:
            return _attempt(name, piece[key])
    only_a_name = isinstance(name, str) and set(piece) <= {"name", "tool_name", "id", "type"}
    return _attempt(str(name), {}) if only_a_name and _looks_like_function(str(name)) else None


def _looks_like_function(name: str) -> bool:
    return name.replace(".", "_").isidentifier()


def _attempt(name: str, arguments: Any, form: str = STRUCTURED) -> Attempt:
    found = SUFFIX.search(name)
    suffix = found.group() if found else ""
    plain = name[: len(name) - len(suffix)].strip().rpartition(".")[2]
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


def _read_string(raw: str, parameters: Parameters, logged: Mapping[str, Any] | None) -> Step:
    if logged is not None:
        return _from_log(raw, parameters, logged)
    text = THOUGHT.sub("", raw, count=1).strip()
    if MARKUP.search(text):
        return Step(tuple(_from_markup(text, parameters)), MARKUP.split(text)[0].strip())
    calls = _whole(text, parameters)
    if calls is not None:
        return Step(tuple(calls))
    return Step(tuple(_proposals(text, parameters)), raw)


def _from_log(raw: str, parameters: Parameters, logged: Mapping[str, Any]) -> Step:
    """The log says what was decoded; where decoding failed nothing was executed, so calls in the text are proposals."""
    decoded = logged.get("model_response_decoded")
    if isinstance(decoded, list) and decoded and "error" not in logged:
        return Step(tuple(attempt for entry in decoded for attempt in _decoded(entry, parameters)), raw)
    if MARKUP.search(raw):
        try:
            broken = [attempt for attempt in _from_markup(raw, parameters) if attempt.call.raw is not None]
        except Unreadable:
            broken = []
        return Step(tuple(broken), raw)
    return Step(tuple(_proposals(raw, parameters)), raw)


def _decoded(entry: Any, parameters: Parameters) -> Iterator[Attempt]:
    """One entry of `model_response_decoded`: a call in Python syntax, or an object."""
    if isinstance(entry, dict):
        yield from _of_mapping(entry)
    elif isinstance(entry, str):
        name, _, rest = entry.partition("(")
        try:
            yield _qualified(parse_call(entry, parameters))
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            yield _attempt(name, rest.removesuffix(")") or None, TEXT)


def _qualified(call: Call) -> Attempt:
    return Attempt(Call(call.name.rpartition(".")[2], call.arguments), TEXT)


def _from_markup(text: str, parameters: Parameters) -> list[Attempt]:
    """Calls between tags; what is between them is JSON, Python calls, or broken with a name that can still be read."""
    attempts: list[Attempt] = []
    for block in MARKUP.split(text)[1:]:
        inside = FENCE.sub("", MARKUP_END.split(block)[0].strip()).strip()
        if not inside:
            continue
        calls = _whole(inside, parameters)
        if calls is None and (named := NAMED_BLOCK.match(inside)):
            calls = [_attempt(named.group(1), FENCE.sub("", named.group(2).strip()).strip(), TEXT)]
        if calls is None and (name := NAME.search(inside)):
            calls = [_attempt(name.group(1), inside, TEXT)]
        if calls is None:
            raise Unreadable("tool-call markup without a call that can be read")
        attempts.extend(calls)
    return attempts


def _whole(text: str, parameters: Parameters) -> list[Attempt] | None:
    """Calls of a string that consists of calls and nothing else; None when it is anything else."""
    if len(text) > MAX_CALL_TEXT:
        return None
    plain = FENCE.sub("", text.strip()).strip("`\n ")
    if not plain:
        return None
    for parsed in (_as_json(plain), _as_python(plain, parameters), _as_named_block(plain, parameters)):
        if parsed is not None:
            return parsed
    return None


def _as_json(text: str) -> list[Attempt] | None:
    """JSON calls: a list, one object, or objects joined by `;` or `,`."""
    if text[0] not in "[{":
        return None
    for parts in ([text], text.split(";"), [f"[{text}]"]):
        try:
            values = [json.loads(part) for part in parts if part.strip()]
        except (ValueError, RecursionError):
            continue
        objects = [piece for value in values for piece in (value if isinstance(value, list) else [value])]
        if not all(isinstance(piece, dict) for piece in objects):
            return None
        try:
            return [Attempt(a.call, TEXT, a.suffix) for piece in objects for a in _of_mapping(piece)]
        except Unreadable:
            return None
    return None


def _as_python(text: str, parameters: Parameters) -> list[Attempt] | None:
    """Python calls as prompted models write them: `[f(a=1), g()]`, brackets optional."""
    inside = text if text.startswith("[") else "[" + text
    inside = inside if inside.endswith("]") else inside + "]"
    try:
        with warnings.catch_warnings(action="ignore"):
            node = ast.parse(inside, mode="eval").body
        elements = node.elts if isinstance(node, ast.List) else [node]
        return [_qualified(call_of_node(element, parameters)) for element in elements]
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return None


def _as_named_block(text: str, parameters: Parameters) -> list[Attempt] | None:
    """A known function on the first line, its arguments as JSON below."""
    named = NAMED_BLOCK.fullmatch(text)
    if named is None or named.group(1) not in parameters:
        return None
    attempt = _attempt(named.group(1), named.group(2), TEXT)
    return None if attempt.call.raw is not None else [attempt]


def _proposals(text: str, functions: Iterable[str]) -> Iterator[Attempt]:
    """Known functions that prose mentions as calls: `…[mkdir(dir_name='x'), …`."""
    known = set(functions)
    for found in BARE_CALL.finditer(text):
        if found.group(1) in known:
            inside = text[found.end() : found.end() + 200].partition(")")[0]
            yield Attempt(Call(found.group(1), {}, raw=inside), PROPOSAL)
