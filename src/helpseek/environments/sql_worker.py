"""The child process that runs an agent's SQL: read-only, under an authorizer whitelist, limits and timers.

Started by `sql_guard` as a bare script of the standard library. One request at a time on standard input, one reply on
standard output, each a four-byte length and JSON. Measured (SQLite 3.40): `mode=ro` alone lets ATTACH and VACUUM INTO
create files, and a progress handler does not stop a single opcode such as a huge printf; hence the authorizer, the file
size limit of zero, and a kernel timer that ends the process whatever it is doing.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import sqlite3
import struct
import sys
import time
from collections import OrderedDict
from urllib.parse import quote

GRACE_S = 0.5
KEPT_CONNECTIONS = 16
OPCODES_BETWEEN_CHECKS = 5_000

ALLOWED_ACTIONS = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE}
ALLOWED_PRAGMAS = {"table_info", "table_xinfo", "table_list", "index_list", "index_info", "foreign_key_list"}
# Built-in table-valued functions; SQLite declares one at its first use in a way that looks like a write to a whitelist.
TABLE_FUNCTIONS = (*(f"pragma_{name}" for name in sorted(ALLOWED_PRAGMAS)), "json_each", "json_tree")
REFUSED_FUNCTIONS = {"load_extension", "readfile", "writefile", "edit", "fts3_tokenizer", "fsdir", "lsmode"}
LIMITS = {
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 200_000,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 500,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 200,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 2_000,
    sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 1,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}
BROKEN_DATABASE = {"SQLITE_NOTADB", "SQLITE_CORRUPT", "SQLITE_CANTOPEN", "SQLITE_IOERR"}


def authorize(action: int, first: str | None, second: str | None, _database: str | None, _trigger: str | None) -> int:
    """Whitelist: reading, functions that stay inside SQLite, and the pragmas that describe a schema."""
    allowed = (
        action in ALLOWED_ACTIONS
        or (action == sqlite3.SQLITE_FUNCTION and (second or "").lower() not in REFUSED_FUNCTIONS)
        or (action == sqlite3.SQLITE_PRAGMA and (first or "").lower() in ALLOWED_PRAGMAS)
    )
    return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY


def connect(path: str, max_cell_bytes: int) -> sqlite3.Connection:
    """Open `path` read-only and lock every door; `immutable` keeps SQLite from making files beside it."""
    connection = sqlite3.connect(f"file:{quote(path)}?mode=ro&immutable=1", uri=True, isolation_level=None)
    connection.text_factory = lambda data: data.decode("utf-8", "replace")
    connection.execute("PRAGMA temp_store = MEMORY")
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA query_only = ON")
    for name in TABLE_FUNCTIONS:
        with contextlib.suppress(sqlite3.OperationalError):  # SQLite may be built without it
            connection.execute(f"SELECT * FROM {name}")
    for limit, value in LIMITS.items():
        connection.setlimit(limit, value)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, max_cell_bytes)
    connection.set_authorizer(authorize)
    return connection


class Connections:
    """Recently used connections by path; a file that changed on disk is opened anew."""

    def __init__(self) -> None:
        self.open: OrderedDict[tuple[object, ...], sqlite3.Connection] = OrderedDict()

    def get(self, path: str, max_cell_bytes: int) -> sqlite3.Connection:
        stat = os.stat(path)  # noqa: PTH116 - the child starts faster without pathlib
        key = (path, stat.st_ino, stat.st_mtime_ns, stat.st_size, max_cell_bytes)
        if key not in self.open:
            self.open[key] = connect(path, max_cell_bytes)
            if len(self.open) > KEPT_CONNECTIONS:
                self.open.popitem(last=False)[1].close()
        self.open.move_to_end(key)
        return self.open[key]


def answer(connections: Connections, request: dict[str, object]) -> dict[str, object]:
    """Run one request and describe what happened; see `SqlResult` in sql_guard for the meaning of a status."""
    try:
        connection = connections.get(str(request["database"]), int(str(request["max_cell_bytes"])))
        deadline = time.monotonic() + float(str(request["timeout_s"]))
        connection.set_progress_handler(lambda: time.monotonic() > deadline, OPCODES_BETWEEN_CHECKS)
        return fetch(connection, request)
    except MemoryError:
        return failure("memory", "the query needs too much memory")
    except OSError as error:
        return failure("broken", f"the database cannot be opened: {error.strerror}")
    except (sqlite3.Error, sqlite3.Warning, ValueError) as error:
        return failure(*explain(error))


def fetch(connection: sqlite3.Connection, request: dict[str, object]) -> dict[str, object]:
    """Execute and read rows until the row or byte cap."""
    max_rows, budget = int(str(request["max_rows"])), int(str(request["max_output_bytes"]))
    cursor = connection.cursor()
    try:
        cursor.execute(str(request["sql"]))
        if cursor.description is None:
            return failure("error", "there is no query in this statement")
        columns, truncated = [column[0] for column in cursor.description], False
        rows: list[list[object]] = []
        for row in cursor:
            budget -= sum(len(value) if isinstance(value, str | bytes) else 8 for value in row)
            if len(rows) == max_rows or budget < 0:
                truncated = True
                break
            rows.append([{"b": value.hex()} if isinstance(value, bytes) else value for value in row])
        return {"status": "ok", "columns": columns, "rows": rows, "truncated": truncated, "error": None}
    finally:
        cursor.close()


def explain(error: Exception) -> tuple[str, str]:
    """Status and message of a failed statement."""
    name, message = getattr(error, "sqlite_errorname", ""), str(error)
    if name == "SQLITE_AUTH" or message.startswith("not authorized"):
        return "refused", f"{message}: only reading queries (SELECT) are allowed"
    if name == "SQLITE_INTERRUPT":
        return "timeout", "the query took too long"
    if name == "SQLITE_NOMEM":
        return "memory", "the query needs too much memory"
    if any(name.startswith(broken) for broken in BROKEN_DATABASE):
        return "broken", message
    return "error", message


def failure(status: str, message: str) -> dict[str, object]:
    return {"status": status, "columns": [], "rows": [], "truncated": False, "error": message}


def confine(memory_bytes: int) -> None:
    """Limits of the process itself: no file can grow, no core is dumped, memory is capped."""
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def serve(memory_bytes: int) -> None:
    """Answer requests until standard input ends, as it does when the parent dies."""
    confine(memory_bytes)
    connections = Connections()
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    while len(head := source.read(4)) == 4:
        request = json.loads(source.read(struct.unpack(">I", head)[0]))
        signal.setitimer(signal.ITIMER_REAL, request["timeout_s"] + GRACE_S)
        reply = json.dumps(answer(connections, request)).encode()
        signal.setitimer(signal.ITIMER_REAL, 0)
        sink.write(struct.pack(">I", len(reply)) + reply)
        sink.flush()


if __name__ == "__main__":
    serve(int(sys.argv[1]))
