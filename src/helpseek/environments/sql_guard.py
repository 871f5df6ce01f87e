"""Run untrusted SQL in guarded child processes: `SqlGuard` is a pool of `sql_worker`s shared by many episodes."""

from __future__ import annotations

import json
import os
import queue
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

from helpseek.environments import sql_worker
from helpseek.errors import InfraError

SqlValue = None | int | float | str | bytes
Status = Literal["ok", "error", "refused", "timeout", "memory"]

# The child ends itself at limit + grace; the parent waits a little longer before it kills it.
KILL_AFTER_S = sql_worker.GRACE_S + 0.5
START_S = 60.0
HEAD = struct.Struct(">I")
# Most replies fit the first read; a larger buffer would cost a memory mapping per query.
FIRST_READ_BYTES = 8 * 1024
CHUNK_BYTES = 256 * 1024
# JSON writes a control character in six bytes and a NULL cell in at most eight: no honest reply is longer.
JSON_BYTES_PER_BYTE = 8
JSON_ENVELOPE_BYTES = 64 * 1024


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
    `duration_s` is the time in a worker, without the wait for one to be free.
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
    """One child process, used by one thread at a time. It dies with the thread that makes it (see `die_with`)."""

    def __init__(self, memory_mb: int) -> None:
        arguments = [str(memory_mb * 1024 * 1024), str(os.getpid())]
        self.socket, theirs = socket.socketpair()
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-X", "utf8", sql_worker.__file__, *arguments],
                stdin=theirs.fileno(),
                stdout=theirs.fileno(),
                stderr=subprocess.DEVNULL,
                env={},
                cwd="/",
                start_new_session=True,
            )

    def receive(self, wait_s: float, max_bytes: int = JSON_ENVELOPE_BYTES) -> dict[str, Any]:
        """Read one message. Raises `TimeoutError` after `wait_s`, `WorkerDied` at the worker's end, `InfraError`."""
        deadline = time.monotonic() + wait_s
        data = bytearray()
        while len(data) < HEAD.size:
            data += self._read(FIRST_READ_BYTES, deadline)
        size = HEAD.unpack_from(data)[0]
        if size > max_bytes:
            raise InfraError(f"the SQL worker announced a reply of {size} bytes; at most {max_bytes} are possible")
        while len(data) < HEAD.size + size:
            data += self._read(CHUNK_BYTES, deadline)
        message: dict[str, Any] = json.loads(data[HEAD.size :])
        return message

    def ask(self, request: Mapping[str, Any], wait_s: float, max_bytes: int) -> dict[str, Any]:
        """Send one request and read its reply. Raises as `receive`."""
        payload = json.dumps(request).encode()
        self.socket.settimeout(wait_s)
        try:
            self.socket.sendall(HEAD.pack(len(payload)) + payload)
        except ConnectionError:
            raise WorkerDied(self.end()) from None
        return self.receive(wait_s, max_bytes)

    def _read(self, size: int, deadline: float) -> bytes:
        self.socket.settimeout(max(0.001, deadline - time.monotonic()))
        try:
            data = self.socket.recv(size)
        except ConnectionError:
            data = b""
        if not data:
            raise WorkerDied(self.end())
        return data

    def end(self) -> int:
        """Kill the process unless it ended by itself; return its return code."""
        self.process.kill()
        return self.process.wait()


@dataclass(slots=True, eq=False)
class Slot:
    """A place for one worker, which is started at the first query and again after each death."""

    worker: Worker | None = None

    def clear(self) -> None:
        """End the worker, so that nobody reads what is left of its last reply."""
        if self.worker is not None:
            self.worker.end()
            self.worker.socket.close()
            self.worker = None


@dataclass(slots=True)
class FairPool:
    """Hands slots to threads in order of arrival; a `queue.Queue` lets a late thread overtake the waiting ones."""

    free: list[Slot]
    waiting: deque[queue.SimpleQueue[Slot]] = field(default_factory=deque)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self) -> Slot:
        with self.lock:
            if self.free:
                return self.free.pop()
            turn: queue.SimpleQueue[Slot] = queue.SimpleQueue()
            self.waiting.append(turn)
        return turn.get()

    def put(self, slot: Slot) -> None:
        with self.lock:
            if self.waiting:
                self.waiting.popleft().put(slot)
            else:
                self.free.append(slot)


class SqlGuard:
    """Context manager over `workers` child processes; `run` may be called from any number of threads.

    The memory cap of a child is the one of `limits`; the other bounds can differ per query.
    """

    def __init__(self, workers: int = 2, limits: SqlLimits | None = None) -> None:
        self.limits = limits or SqlLimits()
        self.slots = tuple(Slot() for _ in range(workers))
        self.pool = FairPool(list(self.slots))
        # A worker dies with the thread that started it, so that thread must live as long as the guard.
        self.starter = ThreadPoolExecutor(1, thread_name_prefix="sql-starter")
        self.closed = False
        self.lock = threading.Lock()

    def __enter__(self) -> SqlGuard:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def run(self, database: Path, sql: str, limits: SqlLimits | None = None) -> SqlResult:
        """Run one statement on `database` (read-only).

        Raises `InfraError` when the database itself is unusable, no worker can be started, or the guard is closed.
        """
        limits = limits or self.limits
        if len(sql) > sql_worker.MAX_SQL_BYTES:
            return _result(sql_worker.failure("error", "the query is too long"), 0.0)
        request = {
            "database": str(database.absolute()),
            "sql": sql,
            "timeout_s": limits.timeout_s,
            "max_rows": limits.max_rows,
            "max_cell_bytes": limits.max_cell_bytes,
            "max_output_bytes": limits.max_output_bytes,
        }
        slot = self.pool.take()
        try:
            start = time.perf_counter()
            reply = self._ask(slot, request, limits)
            if reply["status"] == "broken":
                raise InfraError(f"{database}: {reply['error']}")
            return _result(reply, time.perf_counter() - start)
        finally:
            if self.closed:
                slot.clear()
            self.pool.put(slot)

    def _ask(self, slot: Slot, request: Mapping[str, Any], limits: SqlLimits) -> dict[str, Any]:
        """Ask a worker; one that dies of anything but a limit gets a second try in a fresh process."""
        max_bytes = JSON_BYTES_PER_BYTE * limits.max_output_bytes + JSON_ENVELOPE_BYTES
        for attempt in (1, 2):
            worker = slot.worker or self._start(slot)
            try:
                reply = worker.ask(request, limits.timeout_s + KILL_AFTER_S, max_bytes)
            except TimeoutError:
                slot.clear()
                return sql_worker.failure("timeout", "the query took too long")
            except WorkerDied as death:
                slot.clear()
                self._check_open()
                if death.returncode == -signal.SIGALRM:
                    return sql_worker.failure("timeout", "the query took too long")
                if attempt == 2 and death.returncode >= 0:
                    raise InfraError(f"the SQL worker failed ({death})") from None
            except BaseException:
                slot.clear()
                raise
            else:
                if reply["status"] == "memory":  # the next query must not start with what this one left behind
                    slot.clear()
                return reply
        return sql_worker.failure("memory", "the query ended its process, most likely for lack of memory")

    def _start(self, slot: Slot) -> Worker:
        """Start a worker in `slot` and wait until it is ready. Raises `InfraError` when it does not become so."""
        with self.lock:
            self._check_open()
            slot.worker = self.starter.submit(Worker, self.limits.memory_mb).result()
        try:
            slot.worker.receive(START_S)
        except (TimeoutError, WorkerDied) as error:
            slot.clear()
            self._check_open()
            raise InfraError(
                f"the SQL worker does not start ({error}); memory_mb = {self.limits.memory_mb} may be too low"
            ) from None
        except BaseException:
            slot.clear()
            raise
        return slot.worker

    def _check_open(self) -> None:
        if self.closed:
            raise InfraError("the SQL guard is closed")

    def close(self) -> None:
        """End every worker at once; a query that is running or waiting raises `InfraError`. May be called again."""
        with self.lock:
            self.closed = True
            for worker in [slot.worker for slot in self.slots]:
                if worker is not None:
                    worker.end()
        with self.pool.lock:
            for slot in self.pool.free:
                slot.clear()
        self.starter.shutdown()


def _result(reply: Mapping[str, Any], duration_s: float) -> SqlResult:
    return SqlResult(
        status=reply["status"],
        columns=tuple(reply["columns"]),
        rows=tuple(tuple(_value(cell) for cell in row) for row in reply["rows"]),
        truncated=reply["truncated"],
        error=reply["error"],
        duration_s=duration_s,
    )


def _value(cell: Any) -> SqlValue:
    return bytes.fromhex(cell["b"]) if isinstance(cell, dict) else cell
