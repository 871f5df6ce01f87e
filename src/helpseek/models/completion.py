"""What a chat completion says, checked: the reply, the refusal that means a full context, and everything else."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from helpseek.errors import InfraError
from helpseek.models.retry import PassingError

SHOWN_CHARACTERS = 300
# More than any context holds; sums over an episode stay within a 64-bit column.
MOST_TOKENS = 10**12
# 500: older llama.cpp servers. Not 429, whose "too many tokens" is a rate.
CONTEXT_STATUSES = frozenset({400, 413, 422, 500})
CONTEXT_WORDS = re.compile(
    r"context[ _]?(length|window|size)|maximum context|max_model_len|maximum model length|(prompt|input) is too long"
    r"|too many tokens|reduce the length|maximum number of tokens|max_new_tokens",
    re.IGNORECASE,
)
CONTEXT_TOKENS = re.compile(r"context (?:length|window|size)\D{0,20}(\d+)", re.IGNORECASE)
HINTS = {
    400: "check `sampling` and whether the server supports `mode` (tool calls need a tool parser)",
    401: "check the key in `api_key_env`",
    402: "check the account's credit",
    403: "check the rights of the key in `api_key_env`",
    404: "check `base_url` (it ends in /v1) and the name in `model`",
}


class ContextLengthExceeded(Exception):
    """The conversation no longer fits the model: a limit of the model, not of the infrastructure."""


@dataclass(frozen=True, slots=True)
class ChatReply:
    """One reply, its text free of what UTF-8 cannot hold.

    Token counts are None when the server gives none; `duration_s` includes retries. `reasoning` is what the server
    parsed out as the model's thinking; it is never read as an answer.
    """

    content: str
    tool_calls: tuple[Mapping[str, Any], ...]
    finish_reason: str | None
    input_tokens: int | None
    output_tokens: int | None
    duration_s: float
    reasoning: str = ""


def read_completion(body: Any, duration_s: float) -> ChatReply:
    """The first choice of a decoded chat completion.

    Raises `PassingError` when `body` is none, and `ContextLengthExceeded` when it holds that error under status 200.
    """
    try:
        choice = body["choices"][0]
        message = choice["message"]
        if choice.get("finish_reason") == "error":
            raise PassingError(f"the server broke off: {shown(str(choice))}")
        input_tokens, output_tokens = _token_counts(body.get("usage"))
        return ChatReply(
            content=_text(message.get("content")),
            tool_calls=_tool_calls(message.get("tool_calls")),
            finish_reason=choice.get("finish_reason"),
            input_tokens=input_tokens,
            output_tokens=output_tokens,
            duration_s=duration_s,
            reasoning=_text(message.get("reasoning_content") or message.get("reasoning")),
        )
    except (KeyError, IndexError, TypeError, AttributeError, RecursionError):
        if isinstance(body, Mapping) and "error" in body and CONTEXT_WORDS.search(str(body["error"])):
            raise ContextLengthExceeded(shown(str(body["error"]))) from None
        raise PassingError(f"not a chat completion: {shown(str(body))}") from None


def refusal(who: str, status: int, text: str, max_tokens: int | None) -> ContextLengthExceeded | InfraError:
    """The error of a reply whose `status` no retry will change, with what to check."""
    problem = f"HTTP {status}: {shown(text)}"
    if means_full_context(status, text):
        limit = CONTEXT_TOKENS.search(text)
        if limit and max_tokens is not None and max_tokens >= int(limit[1]):
            return InfraError(f"{who}: {problem}; `sampling.max_tokens` alone fills the context: make it smaller")
        return ContextLengthExceeded(f"{who}: {problem}")
    return InfraError(f"{who}: {problem}; {HINTS.get(status, 'check the request')}")


def means_full_context(status: int, text: str) -> bool:
    """Whether a server refused because the conversation is longer than the model's context."""
    return status in CONTEXT_STATUSES and CONTEXT_WORDS.search(text) is not None


def shown(text: str) -> str:
    """The start of `text` on one line, for messages."""
    return " ".join(text.split())[:SHOWN_CHARACTERS] or "(empty)"


def storable(text: str) -> str:
    """`text` with each lone surrogate replaced: JSON can hold them, UTF-8 and Parquet cannot."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _text(content: Any) -> str:
    """Message content as text: some servers give a list of parts, and null when there is none."""
    if content is None:
        return ""
    if isinstance(content, list):
        return "".join(_text(part.get("text")) for part in content)
    if not isinstance(content, str):
        raise TypeError(f"content is a {type(content).__name__}")
    return storable(content)


def _tool_calls(calls: Any) -> tuple[Mapping[str, Any], ...]:
    if calls is not None and not (isinstance(calls, list) and all(isinstance(call, dict) for call in calls)):
        raise TypeError("tool_calls is no list of objects")
    return tuple(json.loads(storable(json.dumps(calls, ensure_ascii=False)))) if calls else ()


def _token_counts(usage: Any) -> tuple[int | None, int | None]:
    """Input and output tokens; (None, None) when not counted, as also zero input tokens mean."""
    if not isinstance(usage, Mapping):
        return None, None
    counted, written = usage.get("prompt_tokens"), usage.get("completion_tokens")
    if not isinstance(counted, int) or not 0 < counted <= MOST_TOKENS:
        return None, None
    return counted, written if isinstance(written, int) and 0 <= written <= MOST_TOKENS else None
