"""A small OpenAI-compatible server for tests and benchmarks: it answers at once, or breaks in a chosen way.

In a test: `with EndpointServer(answer) as server: ... server.base_url`. For a benchmark, in a process of its own:
`python tests/endpoint_server.py` prints its address and answers each SQL episode with four fixed steps.
"""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Reply:
    """What the server sends: a chat message, or any `body` with any `status`, late, cut short or never."""

    content: str | None = ""
    tool_calls: tuple[Mapping[str, Any], ...] = ()
    finish_reason: str = "stop"
    usage: bool = True
    status: int = 200
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    delay_s: float = 0.0
    reset: bool = False
    truncate: bool = False

    def payload(self, request: Mapping[str, Any]) -> bytes:
        if self.body is not None:
            return self.body
        message: dict[str, Any] = {"role": "assistant", "content": self.content}
        if self.tool_calls:
            message["tool_calls"] = self.tool_calls
        reply: dict[str, Any] = {"choices": [{"index": 0, "message": message, "finish_reason": self.finish_reason}]}
        if self.usage:
            prompt = sum(len(str(m.get("content") or "").split()) for m in request["messages"])
            reply["usage"] = {"prompt_tokens": prompt, "completion_tokens": len((self.content or "").split())}
        return json.dumps(reply).encode()


Answer = Callable[[Mapping[str, Any]], Reply]


class EndpointServer:
    """Context manager: serves `answer` on a free local port; `requests` keeps what was asked."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.requests: list[Mapping[str, Any]] = []
        self.headers: list[str] = []
        self.ready = threading.Event()
        self.thread = threading.Thread(target=asyncio.run, args=(self._run(),), daemon=True)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def __enter__(self) -> EndpointServer:
        self.thread.start()
        assert self.ready.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        self.loop.call_soon_threadsafe(self.stop.set)
        self.thread.join(10)

    async def _run(self) -> None:
        self.loop, self.stop = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        self.ready.set()
        await self.stop.wait()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = int(re.search(rb"(?i)content-length: (\d+)", head)[1])  # type: ignore[index]
                request = json.loads(await reader.readexactly(length))
                self.requests.append(request)
                self.headers.append(head.decode("latin-1"))
                if not await self._send(writer, self.answer(request), request):
                    break
        except (asyncio.IncompleteReadError, asyncio.CancelledError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _send(self, writer: asyncio.StreamWriter, reply: Reply, request: Mapping[str, Any]) -> bool:
        if reply.delay_s:
            await asyncio.sleep(reply.delay_s)
        if reply.reset:
            writer.transport.abort()
            return False
        body = reply.payload(request)
        lines = [f"HTTP/1.1 {reply.status} X", "Content-Type: application/json", f"Content-Length: {len(body)}"]
        lines += [f"{name}: {value}" for name, value in reply.headers.items()]
        writer.write("\r\n".join([*lines, "", ""]).encode() + (body[: len(body) // 2] if reply.truncate else body))
        await writer.drain()
        return not reply.truncate


def four_steps(request: Mapping[str, Any]) -> Reply:
    """The script of the throughput benchmark: look, query, query, submit."""
    turn = sum(message["role"] == "assistant" for message in request["messages"])
    database = re.search(r"Database: (\S+)", request["messages"][1]["content"])
    command = (
        f"get_database_info {database[1] if database else 'db'}",
        "execute_sql \"SELECT name, sql FROM sqlite_master WHERE type = 'table'\"",
        'execute_sql "SELECT 1 AS one, 2 AS two"',
        'submit_sql "SELECT 1 AS one"',
    )[min(turn, 3)]
    return Reply(f"Next step.\n```\n{command}\n```")


if __name__ == "__main__":
    with EndpointServer(four_steps) as server:
        print(server.base_url, flush=True)
        server.requests = type("Forgetful", (list,), {"append": lambda self, item: None})()  # keep memory flat
        server.headers = server.requests
        server.thread.join()
