"""Run untrusted SQL in guarded child processes: `SqlGuard` is a pool of `sql_worker`s shared by many episodes."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import select
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

from helpseek.environments import sql_worker
from helpseek.errors import InfraError

SqlValue = None | int | float | str | bytes
Status = Literal["ok", "error", "refused", "timeout", "memory"]

# The child ends itself at limit + grace; the parent waits a little longer before it kills it.
KILL_AFTER_S = sql_worker.GRACE_S + 0.5


@dataclass(frozen=True, slots=True)
class SqlLimits:
    """Bounds of one query: seconds, megabytes of address space, rows, bytes of a cell and of the whole result."""

    timeout_s: float = 30.0
    memory_mb: int = 1024
    max_rows: int = 200
    max_cell_bytes: int = 10_000_000
    max_output_bytes: int = 50_000_000


@dataclass(frozen=True, slots=True)
class SqlResult:
    """What a query gave. `truncated`: a cap cut the rows. `error` is set unless `status` is ok.

    error: SQLite's own message; refused: the authorizer; timeout and memory: a limit.
    """

    status: Status
    columns: tuple[str, ...]
    rows: tuple[tuple[SqlValue, ...], ...]
    truncated: bool
    error: str | None
    duration_s: float


class WorkerDied(Exception):
    """A worker ended in the middle of a request, with this return code."""

    def __init__(self, returncode: int) -> None:
        super().__init__(f"return code {returncode}")
        self.returncode = returncode


class Worker:
    """One child process, used by one thread at a time."""

    def __init__(self, memory_mb: int) -> None:
        command = [sys.executable, "-I", "-S", sql_worker.__file__, str(memory_mb * 1024 * 1024)]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={},
            cwd="/",
            start_new_session=True,
            bufsize=0,
        )

    def ask(self, request: Mapping[str, Any], wait_s: float) -> dict[str, Any]:
        """Send one request and read its reply. Raises `TimeoutError` after `wait_s`, `WorkerDied` at its end."""
        assert self.process.stdin is not None
        deadline = time.monotonic() + wait_s
        payload = json.dumps(request).encode()
        try:
            self.process.stdin.write(struct.pack(">I", len(payload)) + payload)
        except BrokenPipeError:
            raise WorkerDied(self.process.wait()) from None
        size = struct.unpack(">I", self._read(4, deadline))[0]
        reply: dict[str, Any] = json.loads(self._read(size, deadline))
        return reply

    def _read(self, size: int, deadline: float) -> bytes:
        assert self.process.stdout is not None
        parts: list[bytes] = []
        missing, descriptor = size, self.process.stdout.fileno()
        while missing:
            ready, _, _ = select.select([descriptor], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                raise TimeoutError
            part = os.read(descriptor, min(missing, 1 << 20))
            if not part:
                raise WorkerDied(self.process.wait())
            parts.append(part)
            missing -= len(part)
        return b"".join(parts)

    def kill(self) -> None:
        """End the process and free its pipes."""
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()


class SqlGuard:
    """Context manager over `workers` child processes; `run` may be called from any number of threads.

    The memory cap of a child is the one of `limits`; the other bounds can differ per query.
    """

    def __init__(self, workers: int = 2, limits: SqlLimits | None = None) -> None:
        self.limits = limits or SqlLimits()
        self.idle: queue.Queue[Worker | None] = queue.Queue()
        self.lock = threading.Lock()
        for _ in range(workers):
            self.idle.put(None)
        self.workers = workers

    def __enter__(self) -> SqlGuard:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def run(self, database: Path, sql: str, limits: SqlLimits | None = None) -> SqlResult:
        """Run one statement on `database` (read-only). Raises `InfraError` when the database itself is unusable."""
        limits = limits or self.limits
        request = {
            "database": str(database),
            "sql": sql,
            "timeout_s": limits.timeout_s,
            "max_rows": limits.max_rows,
            "max_cell_bytes": limits.max_cell_bytes,
            "max_output_bytes": limits.max_output_bytes,
        }
        start = time.perf_counter()
        reply = self._ask(request, limits)
        if reply["status"] == "broken":
            raise InfraError(f"{database}: {reply['error']}")
        return SqlResult(
            status=reply["status"],
            columns=tuple(reply["columns"]),
            rows=tuple(tuple(_value(cell) for cell in row) for row in reply["rows"]),
            truncated=reply["truncated"],
            error=reply["error"],
            duration_s=time.perf_counter() - start,
        )

    def _ask(self, request: Mapping[str, Any], limits: SqlLimits) -> dict[str, Any]:
        """Ask a worker; one that dies of anything but a limit gets a second try in a fresh process."""
        worker = self.idle.get()
        try:
            for attempt in (1, 2):
                worker = worker or Worker(self.limits.memory_mb)
                try:
                    return worker.ask(request, limits.timeout_s + KILL_AFTER_S)
                except TimeoutError:
                    worker.kill()
                    worker = None
                    return sql_worker.failure("timeout", "the query took too long")
                except WorkerDied as death:
                    worker.kill()
                    worker = None
                    if death.returncode == -signal.SIGALRM:
                        return sql_worker.failure("timeout", "the query took too long")
                    if attempt == 2:
                        return self._crashed(death)
            raise AssertionError("unreachable")
        finally:
            self.idle.put(worker)

    def _crashed(self, death: WorkerDied) -> dict[str, Any]:
        """A query that ends a fresh worker is at fault, as long as another worker can start and answer."""
        if death.returncode > 0:
            raise InfraError(
                f"the SQL worker does not start ({death}); memory_mb = {self.limits.memory_mb} may be too low"
            )
        return sql_worker.failure("memory", "the query ended its process, most likely for lack of memory")

    def close(self) -> None:
        """End every worker, running or idle."""
        for _ in range(self.workers):
            worker = self.idle.get()
            if worker is not None:
                worker.kill()


def _value(cell: Any) -> SqlValue:
    return bytes.fromhex(cell["b"]) if isinstance(cell, dict) else cell
