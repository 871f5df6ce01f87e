"""A client of OpenAI-compatible chat servers: pooled connections, patient with servers, strict with replies.

Direct HTTP because LiteLLM costs more per call than the rest of an episode's step (benchmarks/).
"""

from __future__ import annotations

import json
import logging
import os
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import urllib3

from helpseek.errors import InfraError, UserError

RETRIED_STATUSES = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529})
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 60.0
SHOWN_CHARACTERS = 300
CONTEXT_WORDS = (
    "context length",
    "context_length",
    "maximum context",
    "context window",
    "too many tokens",
    "max_model_len",
)

log = logging.getLogger(__name__)


class ContextLengthExceeded(Exception):
    """The conversation no longer fits the model: a limit of the model, not of the infrastructure."""


@dataclass(frozen=True, slots=True)
class ChatReply:
    """One reply. Token counts are None when the server gives none; `duration_s` includes retries."""

    content: str
    tool_calls: tuple[Mapping[str, Any], ...]
    finish_reason: str | None
    input_tokens: int | None
    output_tokens: int | None
    duration_s: float


class ChatClient:
    """Asks one model at `base_url`; safe to share between threads.

    The key comes from the environment variable `api_key_env` and appears in no message, log or repr.
    Raises `UserError` when that variable is not set.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        api_key_env: str | None = None,
        timeout_s: float = 300.0,
        max_retries: int = 8,
        connections: int = 8,
    ) -> None:
        self.url, self.model, self.max_retries = f"{base_url.rstrip('/')}/chat/completions", model, max_retries
        self._headers = {"Content-Type": "application/json"}
        if api_key_env is not None:
            key = os.environ.get(api_key_env)
            if not key:
                raise UserError(f"`api_key_env: {api_key_env}`: that environment variable is not set")
            self._headers["Authorization"] = f"Bearer {key}"
        timeout = urllib3.Timeout(connect=min(30.0, timeout_s), read=timeout_s)
        self.pool = urllib3.PoolManager(maxsize=connections, block=False, timeout=timeout, retries=False)

    def complete(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        **sampling: Any,
    ) -> ChatReply:
        """Ask for one completion; keys of `sampling` go into the request, None values are left out.

        Raises `ContextLengthExceeded`, or `InfraError` when the server refuses or `max_retries` were not enough.
        """
        body = {"model": self.model, "messages": messages, **{k: v for k, v in sampling.items() if v is not None}}
        if tools:
            body["tools"] = tools
        payload = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        start = time.perf_counter()
        for attempt in range(self.max_retries + 1):
            problem, wait_s = "", None
            try:
                response = self.pool.request("POST", self.url, body=payload, headers=self._headers)
                if response.status == 200:
                    return _parse(response.data, time.perf_counter() - start)
                problem = f"HTTP {response.status}: {_shown(response.data)}"
                if response.status not in RETRIED_STATUSES:
                    self._refuse(response.status, response.data, problem)
                wait_s = _retry_after(response.headers.get("Retry-After"))
            except urllib3.exceptions.HTTPError as error:
                problem = f"{type(error).__name__}: {error}"
            except UnreadableReply as error:
                problem = str(error)
            if attempt < self.max_retries:
                pause = wait_s if wait_s is not None else _pause(attempt)
                log.warning("%s: %s; retry %d in %.1f s", self.url, problem, attempt + 1, pause)
                time.sleep(pause)
        raise InfraError(
            f"{self.url} (model {self.model}): gave up after {self.max_retries + 1} tries; last: {problem}"
        )

    def _refuse(self, status: int, data: bytes, problem: str) -> None:
        """Raise for a status that no retry will change."""
        if status in (400, 413, 422) and any(word in data.decode("utf-8", "replace").lower() for word in CONTEXT_WORDS):
            raise ContextLengthExceeded(problem)
        hints = {
            401: "check the key in `api_key_env`",
            403: "check the key's rights",
            404: "check `base_url` and `model`",
        }
        raise InfraError(f"{self.url} (model {self.model}): {problem}; {hints.get(status, 'check the request')}")


class UnreadableReply(Exception):
    """A reply with status 200 that is no chat completion."""


def _parse(data: bytes, duration_s: float) -> ChatReply:
    try:
        content = json.loads(data)
        choice = content["choices"][0]
        message = choice["message"]
        usage = content.get("usage") or {}
        return ChatReply(
            content=message.get("content") or "",
            tool_calls=tuple(message.get("tool_calls") or ()),
            finish_reason=choice.get("finish_reason"),
            input_tokens=usage.get("prompt_tokens"),
            output_tokens=usage.get("completion_tokens"),
            duration_s=duration_s,
        )
    except (ValueError, KeyError, IndexError, TypeError, AttributeError):
        raise UnreadableReply(f"not a chat completion: {_shown(data)}") from None


def _shown(data: bytes) -> str:
    return " ".join(data.decode("utf-8", "replace").split())[:SHOWN_CHARACTERS] or "(empty body)"


def _retry_after(header: str | None) -> float | None:
    """Seconds a server asks to wait, capped; None when it does not say (dates are treated as not saying)."""
    try:
        return None if header is None else min(max(float(header), 0.0), LONGEST_PAUSE_S)
    except ValueError:
        return None


def _pause(attempt: int) -> float:
    """Exponential back-off with full jitter, in seconds."""
    return random.uniform(0.5, 1.0) * min(FIRST_PAUSE_S * 2**attempt, LONGEST_PAUSE_S)
