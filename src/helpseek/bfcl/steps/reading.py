"""Reading one step: by its shape, and by the handler's log where that says what was decoded."""

from __future__ import annotations

import ast
import dataclasses
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from helpseek.bfcl.steps.attempts import (
    PROPOSAL,
    TEXT,
    Attempt,
    Parameters,
    Step,
    Unreadable,
    attempt,
    of_mapping,
)
from helpseek.bfcl.steps.markup import before_markup, has_markup, of_markup
from helpseek.bfcl.steps.text import broken_json, calls_of, proposals, whole

# Lists in lists are only seen one or two deep; deeper ones are not steps.
MAX_DEPTH = 4
THOUGHT_TAG = re.compile(
    r"(?P<opening><(?:think|thinking|thought|reasoning)>|<\|thought_start\|>|<\|START_THINKING\|>|\[THINK\]|<unused94>)"
    r"|</(?:think|thinking|thought|reasoning)>|<\|thought_end\|>|<\|END_THINKING\|>|\[/THINK\]|<unused95>"
)


def read_step(raw: Any, parameters: Parameters, logged: Mapping[str, Any] | None = None) -> Step:
    """One element of `result[turn]`. `logged`: the handler's entry for this step (`model_response_decoded`, `error`).

    `parameters` holds all known functions with their parameter names. Never raises.
    """
    try:
        if isinstance(raw, str):
            return _read_string(raw, parameters, logged)
        pieces = list(_flatten(raw))
        calls = tuple(one for piece in pieces if isinstance(piece, dict) for one in of_mapping(piece))
        prose = "\n".join(_prose(piece) for piece in pieces).strip()
        if calls:
            return Step(calls, prose)
        # A list of text blocks is never decoded; whole calls in it are proposals.
        return Step(tuple(proposals(prose, parameters)), prose)
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


def _read_string(raw: str, parameters: Parameters, logged: Mapping[str, Any] | None) -> Step:
    text = _without_thought(raw)
    if logged is not None:
        return _from_log(raw, text, parameters, logged)
    # As a whole first: what looks like a tag may stand inside an argument.
    for candidate in dict.fromkeys((raw, text)):
        calls = whole(candidate, parameters)
        if calls is not None:
            return Step(tuple(calls))
    if has_markup(text):
        attempts, unreadable = of_markup(text, parameters)
        return Step(tuple(attempts), before_markup(text), unreadable)
    return Step((*broken_json(text), *proposals(text, parameters)), raw)


def _without_thought(raw: str) -> str:
    """What a model says outside its thoughts. A thought that nothing opens began with the answer, as some chat
    templates write the opening tag themselves; one that nothing closes is kept."""
    said: list[str] = []
    start, opened = 0, -1
    for tag in THOUGHT_TAG.finditer(raw):
        if tag.group("opening"):
            opened = tag.start() if opened < 0 else opened
            continue
        if opened < 0:
            said.clear()
        else:
            said.append(raw[start:opened])
        start, opened = tag.end(), -1
    return "".join([*said, raw[start:]]).strip()


def _from_log(raw: str, text: str, parameters: Parameters, logged: Mapping[str, Any]) -> Step:
    """The log says what was decoded; where decoding failed nothing was executed, so calls in the text are proposals."""
    decoded = logged.get("model_response_decoded")
    if isinstance(decoded, list) and decoded and "error" not in logged:
        return Step(tuple(one for entry in decoded for one in _decoded(entry, parameters)), raw)
    try:
        written = of_markup(text, parameters)[0] if has_markup(text) else broken_json(text)
    except Unreadable:
        written = []
    return Step((*_not_executed(written), *proposals(text, parameters)), raw)


def _not_executed(attempts: Iterable[Attempt]) -> Iterator[Attempt]:
    """Broken calls were attempted and failed; whole ones that the handler did not take for calls are proposals."""
    for one in attempts:
        yield one if one.call.raw is not None else dataclasses.replace(one, form=PROPOSAL)


def _decoded(entry: Any, parameters: Parameters) -> Iterator[Attempt]:
    """One entry of `model_response_decoded`: a call in Python syntax, or an object."""
    if isinstance(entry, dict):
        yield from of_mapping(entry)
    elif isinstance(entry, str):
        name, _, rest = entry.partition("(")
        try:
            with warnings.catch_warnings(action="ignore"):
                node = ast.parse(entry.strip(), mode="eval").body
            yield from calls_of(node, parameters)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            yield attempt(name, rest.removesuffix(")") or None, TEXT)
