"""Models behind an API, as mini-swe-agent Models: how a reply becomes a command, and an output an observation.

Two modes: `tool_call` (the API's native tools, one per offered command) and `text` (one command in a fenced block).
Either way a turn is one command; anything else is a format error that the agent is told about.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol

from minisweagent.exceptions import FormatError

from helpseek.environments.commands import SQL_COMMANDS
from helpseek.models.chat import ChatReply

Mode = Literal["text", "tool_call"]

FENCED = re.compile(r"```[^\n`]*\n(.*?)\n?```", re.DOTALL)
FORMAT_HELP = "Reply with exactly one command in a fenced block, for example:\n```\n{example}\n```"
DESCRIPTIONS = {
    "get_database_info": "List the tables of a database.",
    "get_table_info": "List the columns of a table.",
    "get_column_info": "Say what a column holds.",
    "get_business_info": "Search the business notes.",
    "execute_sql": "Run a query.",
    "ask_human": "Ask the human one question.",
    "submit_sql": "Hand in the final query and end.",
}


class Chat(Protocol):
    """What a model needs of a client: `ChatClient`, or LiteLLM behind the same call."""

    def complete(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        **sampling: Any,
    ) -> ChatReply: ...


class ApiModel:
    """One model for one episode. `sampling` goes into every request, `seed` among it."""

    config: Any = None

    def __init__(self, chat: Chat, mode: Mode, offered: Sequence[str], sampling: Mapping[str, Any]) -> None:
        self.chat, self.mode, self.offered, self.sampling = chat, mode, tuple(offered), dict(sampling)
        self.tools = [tool_definition(name) for name in offered] if mode == "tool_call" else None

    def query(self, messages: list[dict[str, Any]], **_: Any) -> dict[str, Any]:
        """One turn. Raises `FormatError` when the reply is not one command, and what the client raises."""
        sent = [{key: value for key, value in message.items() if key != "extra"} for message in messages]
        reply = self.chat.complete(sent, tools=self.tools, **self.sampling)
        message: dict[str, Any] = {"role": "assistant", "content": reply.content}
        if self.mode == "tool_call" and reply.tool_calls:
            message["tool_calls"] = list(reply.tool_calls)
        extra = {
            "cost": 0.0,
            "input_tokens": reply.input_tokens,
            "output_tokens": reply.output_tokens,
            "model_s": reply.duration_s,
            "timestamp": time.time(),
        }
        read = self._read_tool_call if self.mode == "tool_call" else self._read_text
        message["extra"] = extra | {"actions": [read(reply, message, extra)]}
        return message

    def _read_text(self, reply: ChatReply, message: dict[str, Any], extra: dict[str, Any]) -> dict[str, Any]:
        blocks = [block.strip() for block in FENCED.findall(reply.content)]
        commands = [block for block in blocks if block]
        if len(commands) != 1:
            problem = f"Found {len(commands)} commands.{_cut_notice(reply)}"
            help_text = FORMAT_HELP.format(example=f"{self.offered[0]} …")
            raise self._format_error(message, extra, [{"role": "user", "content": f"{problem} {help_text}"}])
        return {"command_line": commands[0]}

    def _read_tool_call(self, reply: ChatReply, message: dict[str, Any], extra: dict[str, Any]) -> dict[str, Any]:
        calls = reply.tool_calls
        problem = f"Call exactly one tool per turn, not {len(calls)}." if len(calls) != 1 else ""
        if not problem:
            try:
                arguments = json.loads(calls[0]["function"]["arguments"] or "{}")
                if not isinstance(arguments, dict):
                    raise ValueError(f"the arguments are a {type(arguments).__name__}, not an object")
                name = calls[0]["function"]["name"]
                return {"command": name, "arguments": arguments, "tool_call_id": calls[0]["id"]}
            except (ValueError, KeyError, TypeError) as error:
                problem = f"The tool call cannot be read: {error}."
        problem += _cut_notice(reply)
        # An API refuses a conversation in which a tool call stays unanswered.
        answers = [{"role": "tool", "tool_call_id": call.get("id"), "content": problem} for call in calls]
        raise self._format_error(message, extra, answers or [{"role": "user", "content": problem}])

    def _format_error(
        self, message: dict[str, Any], extra: dict[str, Any], answers: list[dict[str, Any]]
    ) -> FormatError:
        """The error that puts the model's own reply and the answers to it into the conversation."""
        shown = message["content"] or json.dumps(message.get("tool_calls", []), ensure_ascii=False)
        return FormatError({**message, "extra": extra | {"model_response": shown}}, *answers)

    def format_message(self, **fields: Any) -> dict[str, Any]:
        return fields

    def format_observation_messages(
        self, message: dict[str, Any], outputs: list[dict[str, Any]], template_vars: dict[str, Any] | None = None
    ) -> list[dict[str, Any]]:
        """One message per output: the tool's answer, or a user message in text mode."""
        actions = message["extra"]["actions"]
        return [
            {"role": "tool", "tool_call_id": action["tool_call_id"], "content": output["output"]}
            if self.mode == "tool_call"
            else {"role": "user", "content": output["output"]}
            for action, output in zip(actions, outputs, strict=True)
        ]

    def get_template_vars(self, **_: Any) -> dict[str, Any]:
        return {}

    def serialize(self) -> dict[str, Any]:
        return {"info": {"config": {"model": {"mode": self.mode, "sampling": self.sampling}}}}


def tool_definition(name: str) -> dict[str, Any]:
    """An OpenAI tool of one command: every argument a required string."""
    properties = {argument: {"type": "string"} for argument in SQL_COMMANDS[name]}
    parameters = {"type": "object", "properties": properties, "required": list(properties)}
    function = {"name": name, "description": DESCRIPTIONS[name], "parameters": parameters}
    return {"type": "function", "function": function}


def _cut_notice(reply: ChatReply) -> str:
    return " The reply was cut at the token limit; be shorter." if reply.finish_reason == "length" else ""
