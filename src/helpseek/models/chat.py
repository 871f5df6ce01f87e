"""A client of OpenAI-compatible chat servers: pooled connections, patient with servers, strict with replies.

Direct HTTP because LiteLLM costs more per call than the rest of an episode's step (benchmarks/).
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import urllib3

from helpseek.errors import UserError
from helpseek.models.completion import (
    ChatReply,
    ContextLengthExceeded,
    means_full_context,
    read_completion,
    refusal,
    shown,
)
from helpseek.models.retry import PassingError, Patience, retry_after_s
from helpseek.models.secrets import read_secret

__all__ = ["ChatClient", "ChatReply", "ContextLengthExceeded"]

RETRIED_STATUSES = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529})
LONGEST_CONNECT_S = 30.0
CHUNK_BYTES = 1 << 16


class ChatClient:
    """Asks one model at `base_url`; safe to share between threads. Connects directly: proxy variables are not read.

    The key comes from the environment variable `api_key_env` and appears in no message, log or repr.
    `timeout_s` bounds one try, up to the last byte of its reply. `connections` is the pool's size: one per thread.
    Raises `UserError` when that variable is not set or `base_url` is no plain http address.
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
        extra_headers: Mapping[str, str] | None = None,
    ) -> None:
        check_base_url(base_url)
        self.url, self.model, self.timeout_s = f"{base_url.rstrip('/')}/chat/completions", model, timeout_s
        self._secret = read_secret(api_key_env)
        self._headers = {"Content-Type": "application/json", **(extra_headers or {})}
        if self._secret.value:
            self._headers["Authorization"] = f"Bearer {self._secret.value}"
        timeout = urllib3.Timeout(connect=min(LONGEST_CONNECT_S, timeout_s), read=timeout_s)
        self._pool = urllib3.PoolManager(maxsize=connections, block=False, timeout=timeout, retries=False)
        self._patience = Patience(f"{self.url} (model {model})", max_retries)

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
        return self._patience.call(lambda: self._ask(payload, start, sampling.get("max_tokens")))

    def close(self) -> None:
        """End the pauses between retries in all threads (their calls raise `InfraError`) and drop idle connections."""
        self._patience.close()
        self._pool.clear()

    def _ask(self, payload: bytes, start: float, max_tokens: int | None) -> ChatReply:
        """One try. Raises `PassingError` for what another try may cure."""
        try:
            response = self._pool.request("POST", self.url, body=payload, headers=self._headers, preload_content=False)
            data = self._read(response, time.perf_counter() + self.timeout_s)
        except urllib3.exceptions.HTTPError as error:
            raise PassingError(self._secret.masked(f"{type(error).__name__}: {error}")) from None
        if response.status == 200:
            return self._parse(data, time.perf_counter() - start)
        text = self._secret.masked(data.decode("utf-8", "replace"))
        if response.status in RETRIED_STATUSES and not means_full_context(response.status, text):
            wait_s = retry_after_s(response.headers.get("Retry-After"))
            raise PassingError(f"HTTP {response.status}: {shown(text)}", wait_s)
        raise refusal(self._patience.who, response.status, text, max_tokens)

    def _read(self, response: urllib3.BaseHTTPResponse, deadline: float) -> bytes:
        """The whole body. Servers that send blanks to keep a connection alive never trip the socket's own timeout."""
        chunks = []
        while chunk := response.read1(CHUNK_BYTES):
            chunks.append(chunk)
            if time.perf_counter() > deadline:
                response.close()
                raise PassingError(f"Timeout: no complete reply within {self.timeout_s} s")
        return b"".join(chunks)

    def _parse(self, data: bytes, duration_s: float) -> ChatReply:
        try:
            body = json.loads(data)
        except (ValueError, RecursionError):
            text = self._secret.masked(data.decode("utf-8", "replace"))
            raise PassingError(f"not a chat completion: {shown(text)}") from None
        return read_completion(body, duration_s)


def check_base_url(base_url: str) -> None:
    """Raise `UserError` unless `base_url` is an http address without credentials or a query."""
    if "@" in base_url or "?" in base_url:
        raise UserError("`base_url` must hold no user, password or query; name the key's variable in `api_key_env`")
    try:
        parts = urlsplit(base_url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise UserError(f"`base_url: {base_url}`: expected an address such as http://localhost:8000/v1")
