"""Calls between tags, as models trained on tool calls write them into their text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from helpseek.bfcl.steps.attempts import TEXT, Attempt, Parameters, Unreadable, attempt
from helpseek.bfcl.steps.text import DECODER, broken, leading_json, python_lines, unfenced, whole

# More are a model caught in a loop.
MAX_BLOCKS = 1000

OPENING = (
    r"<tool_calls?>|<TOOLCALL>|<function_calls?>|<start_function_call>|<minimax:tool_call>|\[TOOL_CALLS\]"
    r"|<\|?tool_calls?(?:_section)?(?:_begin|_start)?\|?>|<｜tool▁calls?▁begin｜>|<\|python_tag\|>|<\|tools_prefix\|>"
    r"|<\|action_start\|>(?:<\|plugin\|>)?|<\|START_ACTION\|>|<function=|<(?:invoke|function) name=\"|\bto=functions\."
)
CLOSING = (
    r"</(?:tool_calls?|TOOLCALL|function_calls?|minimax:tool_call|invoke|function)>|<end_function_call>"
    r"|<\|?/?tool_calls?(?:_section)?(?:_end)?\|>|<｜tool▁calls?▁end｜>|<\|tools_suffix\|>|<\|(?:action_end|END_ACTION)\|>"
    r"|<\|(?:eom_id|eot_id|im_end|call|end)\|>"
)
# `<|tool_call|>` opens and, for lack of a slash, some models close with it too: an empty block does no harm.
TAG = re.compile(f"(?P<opening>{OPENING})|{CLOSING}")
OPENING_TAG = re.compile(OPENING)
# `name>{…}`, `name">…`, `call:name{…}`, `function<sep>name {…}`, `name[ARGS]{…}`, `functions.name:0<|…|>{…}`,
# `name<|channel|>commentary<|message|>{…}`, and a name on a line of its own
NAMED_BLOCK = re.compile(
    r"(?:call:|function<[^>]*>)?\s*(?P<name>[A-Za-z_][\w.]*)(?::\d+)?\s*"
    r"(?:\"?>|\n|\[ARGS\]|(?:<[|｜][^>\n]*>(?:\s|json|code|commentary)*)+|(?:(?:json|code)\s*)?(?=\{))\s*(?P<rest>.*)",
    re.DOTALL,
)
# Google's models quote strings with a tag of their own and leave keys bare.
QUOTE = re.compile(r'<escape>|<\|"\|>')
BARE_KEY = re.compile(r"([{,]\s*)([A-Za-z_]\w*)(\s*:)")


def has_markup(text: str) -> bool:
    """Whether a tag that opens calls occurs in `text`."""
    return OPENING_TAG.search(text) is not None


def before_markup(text: str) -> str:
    """What is said before the first call."""
    return OPENING_TAG.split(text, maxsplit=1)[0].strip()


def of_markup(text: str, parameters: Parameters) -> tuple[list[Attempt], str]:
    """Calls between tags, and why more may be there.

    What is between tags is JSON, Python calls, or broken with a name that can still be read.
    """
    attempts: list[Attempt] = []
    unreadable = ""
    for number, block in enumerate(_blocks(text)):
        if number == MAX_BLOCKS:
            return attempts, f"more than {MAX_BLOCKS} tags that open calls"
        try:
            calls = _of_block(block, parameters)
        except Unreadable as error:
            unreadable = str(error)
            continue
        attempts.extend(calls)
        if not calls and not _says_nothing(block):
            unreadable = "tool-call markup without a call that can be read"
    return attempts, unreadable


def _blocks(text: str) -> Iterator[str]:
    """What stands between an opening tag and the next tag, tags inside a JSON value not counted."""
    tag = OPENING_TAG.search(text)
    while tag is not None:
        start = tag.end()
        end = TAG.search(text, _end_of_json(text, start))
        inside = text[start : end.start() if end else len(text)].strip()
        if inside:
            yield inside
        tag = end if end is None or end.group("opening") else OPENING_TAG.search(text, end.end())


def _end_of_json(text: str, start: int) -> int:
    while start < len(text) and text[start].isspace():
        start += 1
    if text[start : start + 1] in ("[", "{"):
        try:
            return DECODER.raw_decode(text, start)[1]
        except (ValueError, RecursionError):
            return start
    return start


def _says_nothing(block: str) -> bool:
    """An empty list of calls."""
    return unfenced(block) in ("", "[]", "{}")


def _of_block(block: str, parameters: Parameters) -> list[Attempt]:
    inside = unfenced(block)
    if not inside:
        return []
    calls = whole(inside, parameters)
    if calls is None and (value := leading_json(inside)) is not None:
        # Prose may follow; what was called is clear.
        calls = whole(json.dumps(value), parameters)
    if calls is None:
        calls = python_lines(inside, parameters)
    if calls is None and (named := NAMED_BLOCK.match(inside)):
        calls = [attempt(named.group("name"), _arguments(named.group("rest")), TEXT)]
    return broken(inside) if calls is None else calls


def _arguments(written: str) -> str:
    """Arguments as JSON where they can be read so."""
    plain = unfenced(written)
    for text in (plain, _quoted(plain)):
        value = leading_json(text)
        if isinstance(value, dict):
            return json.dumps(value)
    return plain


def _quoted(text: str) -> str:
    pieces = QUOTE.split(text)
    return "".join(
        json.dumps(piece) if number % 2 else BARE_KEY.sub(r'\1"\2"\3', piece) for number, piece in enumerate(pieces)
    )
