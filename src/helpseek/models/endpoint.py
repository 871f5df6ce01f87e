"""Models behind an API, as mini-swe-agent Models: how a reply becomes a command, and an output an observation.

Two modes: `tool_call` (the API's native tools, one per offered command) and `text` (one command in a fenced block).
Either way a turn is one command; anything else is a format error that the agent is told about.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol

from minisweagent.exceptions import FormatError

from helpseek.models.actions import (
    Action,
    UnreadableCommand,
    raw_text,
    read_text,
    read_tool_calls,
    replayable,
    tool_definition,
)
from helpseek.models.chat import ChatReply

Mode = Literal["text", "tool_call"]

# Several chat APIs and templates refuse an assistant turn that says nothing, and all later turns with it.
NOTHING_SAID = "(empty reply)"
CUT_NOTICE = " The reply was cut at the token limit; be shorter."


class Chat(Protocol):
    """What a model needs of a client: `ChatClient`, or LiteLLM behind the same call."""

    model: str

    def complete(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        **sampling: Any,
    ) -> ChatReply: ...


class ApiModel:
    """One model for one episode. `sampling` goes into every request, `seed` among it."""

    def __init__(self, chat: Chat, mode: Mode, offered: Sequence[str], sampling: Mapping[str, Any]) -> None:
        self.chat, self.mode, self.offered, self.sampling = chat, mode, tuple(offered), dict(sampling)
        self.tools = [tool_definition(name) for name in offered] if mode == "tool_call" else None
        self.config: Any = {"model": chat.model, "mode": mode, "sampling": self.sampling}

    def query(self, messages: list[dict[str, Any]], **_: Any) -> dict[str, Any]:
        """One turn: the assistant's message, whose `extra` holds `actions`, tokens and times (seconds).

        Raises `FormatError` when the reply is not one command, and what the client raises. The error's first message
        is the reply, with the same `extra` and the raw text under `model_response`: it was paid for and is traced.
        """
        sent = [{key: value for key, value in message.items() if key != "extra"} for message in messages]
        reply = self.chat.complete(sent, tools=self.tools, **self.sampling)
        extra: dict[str, Any] = {
            "cost": 0.0,
            "input_tokens": reply.input_tokens,
            "output_tokens": reply.output_tokens,
            "model_s": reply.duration_s,
            "finish_reason": reply.finish_reason,
            "timestamp": time.time(),
        }
        if reply.reasoning:
            extra["reasoning"] = reply.reasoning
        message: dict[str, Any] = {"role": "assistant", "content": reply.content}
        if self.mode == "tool_call" and (calls := replayable(reply.tool_calls, turn=len(messages))):
            message["tool_calls"] = calls
        try:
            return message | {"extra": extra | {"actions": [self._read(reply, message)]}}
        except UnreadableCommand as error:
            problem = str(error) + (CUT_NOTICE if reply.finish_reason == "length" else "")
            extra |= {"actions": [], "interrupt_type": "FormatError", "model_response": raw_text(reply)}
            raise FormatError(*_rejected(message, extra, problem)) from None

    def _read(self, reply: ChatReply, message: Mapping[str, Any]) -> Action:
        if self.mode == "text":
            return read_text(reply.content, self.offered)
        return read_tool_calls(reply.tool_calls, message.get("tool_calls", ()), self.offered)

    def format_message(self, **fields: Any) -> dict[str, Any]:
        return fields

    def format_observation_messages(
        self, message: dict[str, Any], outputs: list[dict[str, Any]], template_vars: dict[str, Any] | None = None
    ) -> list[dict[str, Any]]:
        """One message per output: the tool's answer, or a user message in text mode."""
        if self.mode == "text":
            return [{"role": "user", "content": output["output"]} for output in outputs]
        actions = message["extra"]["actions"]
        return [
            {"role": "tool", "tool_call_id": action["tool_call_id"], "content": output["output"]}
            for action, output in zip(actions, outputs, strict=True)
        ]

    def get_template_vars(self, **_: Any) -> dict[str, Any]:
        return {}

    def serialize(self) -> dict[str, Any]:
        kind = f"{type(self).__module__}.{type(self).__name__}"
        return {"info": {"config": {"model": self.config, "model_type": kind}}}


def _rejected(message: dict[str, Any], extra: dict[str, Any], problem: str) -> list[dict[str, Any]]:
    """The reply and what the agent is told about it; every tool call is answered, since APIs refuse one that is not."""
    calls = message.get("tool_calls", ())
    answers = [{"role": "tool", "tool_call_id": call["id"], "content": problem} for call in calls]
    said = message if message["content"] or calls else message | {"content": NOTHING_SAID}
    return [said | {"extra": extra}, *(answers or [{"role": "user", "content": problem}])]
