"""How a model's reply names one command: a fenced block in its text, or one native tool call."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from helpseek.environments.commands import SQL_COMMANDS
from helpseek.errors import nearest
from helpseek.models.completion import ChatReply, storable

Action = dict[str, Any]
ToolCall = Mapping[str, Any]

FENCED = re.compile(r"^[ \t]*```[^\n`]*\n(.*?)```", re.DOTALL | re.MULTILINE)
FORMAT_HELP = "Reply with exactly one command in a fenced block, for example:\n```\n{example}\n```\nCommands: {names}."
THOUGHT, THOUGHT_END = "<think>", "</think>"

ARGUMENTS: Mapping[str, tuple[str, ...]] = {**SQL_COMMANDS, "bash": ("command",), "submit": ()}
DESCRIPTIONS = {
    "get_database_info": "List the tables of a database.",
    "get_table_info": "List the columns of a table.",
    "get_column_info": "Say what a column holds.",
    "get_business_info": "Search the business notes.",
    "execute_sql": "Run a query.",
    "ask_human": "Ask the human one question.",
    "submit_sql": "Hand in the final query and end.",
    "bash": "Run a shell command in the repository.",
    "submit": "Hand in the repository as it is and end.",
}


class UnreadableCommand(ValueError):
    """A reply that is not exactly one offered command; the message is shown to the agent."""


def read_text(content: str, offered: Sequence[str]) -> Action:
    """`{"command_line": …}` of the one fenced block whose first word is an offered command.

    The language tag does not matter, and neither do blocks that hold something else, such as a draft query. Where
    `bash` is offered, every block is a command. Thinking in `<think>` tags is not read.
    Raises `UnreadableCommand` unless there is exactly one command.
    """
    blocks = [block.strip() for block in FENCED.findall(without_thinking(content))]
    commands = [block for block in blocks if block and ("bash" in offered or _first_word(block) in offered)]
    if len(commands) == 1:
        return {"command_line": commands[0]}
    if commands:
        problem = f"Found {len(commands)} commands in one reply."
    elif blocks and (word := _first_word(blocks[0])):
        problem = f"Unknown command `{word[:50]}`{nearest(word[:50], offered)}."
    else:
        problem = "Found no command."
    example = " ".join([offered[0], *(f'"<{argument}>"' for argument in ARGUMENTS[offered[0]])])
    raise UnreadableCommand(f"{problem} {FORMAT_HELP.format(example=example, names=', '.join(offered))}")


def read_tool_calls(calls: Sequence[ToolCall], replayed: Sequence[ToolCall], offered: Sequence[str]) -> Action:
    """`{"command": name, "arguments": {…}, "tool_call_id": …}` of the one call; `replayed` are `replayable(calls)`.

    Raises `UnreadableCommand` for any other number of calls, an unknown name, or arguments that are no JSON object.
    """
    if len(calls) != 1:
        raise UnreadableCommand(f"Call exactly one tool per turn, not {len(calls)}. Tools: {', '.join(offered)}.")
    if not replayed:
        raise UnreadableCommand(f"The tool call has no name. Tools: {', '.join(offered)}.")
    name = replayed[0]["function"]["name"]
    if name not in offered:
        raise UnreadableCommand(
            f"Unknown tool `{name[:50]}`{nearest(name[:50], offered)}. Tools: {', '.join(offered)}."
        )
    arguments = _arguments(calls[0])
    if arguments is None:
        needed = ", ".join(ARGUMENTS[name]) or "none"
        raise UnreadableCommand(f"The arguments of `{name}` must be one JSON object with the keys: {needed}.")
    return {"command": name, "arguments": arguments, "tool_call_id": replayed[0]["id"]}


def replayable(calls: Sequence[ToolCall], turn: int) -> list[dict[str, Any]]:
    """`calls` as they can be sent back in the conversation: named, with an id, their arguments a JSON object.

    Servers decode the arguments of past calls, and answer 400 to this and every later turn when one does not decode.
    """
    kept = []
    for number, call in enumerate(calls):
        function = call.get("function")
        if isinstance(function, Mapping) and isinstance(function.get("name"), str) and function["name"]:
            given = function.get("arguments")
            sendable = isinstance(given, str) and bool(given) and _arguments(call) is not None
            arguments = given if sendable else json.dumps(_arguments(call) or {}, ensure_ascii=False)
            identity = call["id"] if isinstance(call.get("id"), str) and call["id"] else f"call_{turn}_{number}"
            kept.append({**call, "id": identity, "type": "function", "function": {**function, "arguments": arguments}})
    return kept


def tool_definition(name: str) -> dict[str, Any]:
    """An OpenAI tool of one command: every argument a required string."""
    properties = {argument: {"type": "string"} for argument in ARGUMENTS[name]}
    parameters = {"type": "object", "properties": properties, "required": list(properties)}
    function = {"name": name, "description": DESCRIPTIONS[name], "parameters": parameters}
    return {"type": "function", "function": function}


def raw_text(reply: ChatReply) -> str:
    """All that a reply said, tool calls as JSON, for traces."""
    calls = [json.dumps(call, ensure_ascii=False) for call in reply.tool_calls]
    return "\n".join([reply.content, *calls] if reply.content else calls)


def without_thinking(content: str) -> str:
    """What follows the thinking; chat templates may have opened it already, and a cut reply never closes it."""
    if THOUGHT_END in content:
        return content.rpartition(THOUGHT_END)[2]
    return "" if content.lstrip().startswith(THOUGHT) else content


def _first_word(block: str) -> str:
    return block.split(maxsplit=1)[0] if block.strip() else ""


def _arguments(call: ToolCall) -> dict[str, Any] | None:
    """The decoded arguments of a call (none given: no arguments), or None when they are no JSON object."""
    given = call["function"].get("arguments")
    try:
        decoded = json.loads(given) if isinstance(given, str) and given.strip() else given or {}
        # Escapes in the decoded text may be lone surrogates, which no table can store.
        clean = json.loads(storable(json.dumps(decoded, ensure_ascii=False)))
    except (ValueError, RecursionError):
        return None
    return clean if isinstance(clean, dict) else None
