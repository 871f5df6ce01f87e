"""A small OpenAI-compatible server for tests and benchmarks: it answers at once, or breaks in a chosen way.

In a test: `with EndpointServer(answer) as server: ... server.base_url`. For a benchmark, in a process of its own:
`python tests/endpoint_server.py --port 0 --script four_steps` prints its address first.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

CONTENT_LENGTH = re.compile(rb"(?i)\r\ncontent-length: *(\d+)")


@dataclass(frozen=True)
class Reply:
    """What the server sends: a chat message, or any `body` with any `status`; late, in drips, cut short or never.

    `delay_s` is the wait before the first byte, `drip_s` the wait before each of ten parts of the body.
    """

    content: Any = ""
    tool_calls: Any = ()
    finish_reason: str = "stop"
    usage: bool = True
    status: int = 200
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    fields: Mapping[str, Any] = field(default_factory=dict)
    delay_s: float = 0.0
    drip_s: float = 0.0
    reset: bool = False
    truncate: bool = False

    def payload(self, request: Mapping[str, Any]) -> bytes:
        """The body; one word counts as one token. `fields` are added to the message."""
        if self.body is not None:
            return self.body
        message: dict[str, Any] = {"role": "assistant", "content": self.content, **self.fields}
        if self.tool_calls:
            message["tool_calls"] = self.tool_calls
        reply: dict[str, Any] = {
            "id": "chatcmpl-0",
            "object": "chat.completion",
            "created": 0,
            "model": request["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": self.finish_reason}],
        }
        if self.usage:
            prompt = sum(len(str(m.get("content") or "").split()) for m in request["messages"])
            written = len(str(self.content or "").split())
            reply["usage"] = {"prompt_tokens": prompt, "completion_tokens": written, "total_tokens": prompt + written}
        return json.dumps(reply).encode()


Answer = Callable[[Mapping[str, Any]], Reply]


def tool_call(name: str, arguments: Any, id: str | None = "call_1") -> dict[str, Any]:
    """A native tool call; `arguments` are sent as JSON text, unless they are text already."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {"id": id, "type": "function", "function": {"name": name, "arguments": text}}


def in_turn(*replies: Reply) -> Answer:
    """An answer function that gives `replies` one after another, the last one for ever."""
    rest = list(replies)
    return lambda request: rest.pop(0) if len(rest) > 1 else rest[0]


class EndpointServer:
    """Context manager: serves `answer` on a local port (0: a free one); with `keep`, remembers what was asked.

    An exception in `answer` is sent as status 400, so that a wrong test fails instead of retrying.
    """

    def __init__(self, answer: Answer, *, port: int = 0, keep: bool = True) -> None:
        self.answer, self.port, self.keep = answer, port, keep
        self.requests: list[Mapping[str, Any]] = []
        self.headers: list[str] = []
        self.connections = 0
        self.ready = threading.Event()
        self.thread = threading.Thread(target=asyncio.run, args=(self._run(),), daemon=True)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def __enter__(self) -> EndpointServer:
        self.thread.start()
        assert self.ready.wait(10), "the server did not start"
        return self

    def __exit__(self, *_: object) -> None:
        self.loop.call_soon_threadsafe(self.stop.set)
        self.thread.join(10)

    async def _run(self) -> None:
        self.loop, self.stop = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._serve, "127.0.0.1", self.port, backlog=512)
        self.port = server.sockets[0].getsockname()[1]
        self.ready.set()
        await self.stop.wait()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = CONTENT_LENGTH.search(head)
                request = json.loads(await reader.readexactly(int(length[1]) if length else 0))
                if self.keep:
                    self.requests.append(request)
                    self.headers.append(head.decode("latin-1"))
                if not await self._send(writer, self._reply(request), request):
                    break
        except (asyncio.IncompleteReadError, asyncio.CancelledError, ConnectionError):
            pass
        finally:
            writer.close()

    def _reply(self, request: Mapping[str, Any]) -> Reply:
        try:
            return self.answer(request)
        except Exception as error:  # noqa: BLE001 - any mistake of a test is to be seen
            return Reply(status=400, body=repr(error).encode())

    async def _send(self, writer: asyncio.StreamWriter, reply: Reply, request: Mapping[str, Any]) -> bool:
        """Send `reply`; whether the connection stays open."""
        if reply.delay_s:
            await asyncio.sleep(reply.delay_s)
        if reply.reset:
            writer.transport.abort()
            return False
        body = reply.payload(request)
        lines = [f"HTTP/1.1 {reply.status} X", "Content-Type: application/json", f"Content-Length: {len(body)}"]
        lines += [f"{name}: {value}" for name, value in reply.headers.items()]
        head = "\r\n".join([*lines, "", ""]).encode()
        if reply.drip_s:
            writer.write(head)
            size = len(body) // 10 + 1
            for start in range(0, len(body), size):
                await asyncio.sleep(reply.drip_s)
                writer.write(body[start : start + size])
        else:
            writer.write(head + (body[: len(body) // 2] if reply.truncate else body))
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


def hello(request: Mapping[str, Any]) -> Reply:
    """The same short answer to everything."""
    return Reply("hello")


SCRIPTS: Mapping[str, Answer] = {"four_steps": four_steps, "hello": hello}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=0, help="0: a free port")
    parser.add_argument("--script", choices=sorted(SCRIPTS), default="four_steps", help="what it answers")
    arguments = parser.parse_args()
    with EndpointServer(SCRIPTS[arguments.script], port=arguments.port, keep=False) as server:
        print(server.base_url, flush=True)
        server.thread.join()


if __name__ == "__main__":
    main()
