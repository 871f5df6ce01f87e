"""The child process that runs an agent's SQL: read-only, under an authorizer whitelist, limits and timers.

Started by `sql_guard` as a bare script of the standard library. One request at a time on standard input, one reply on
standard output, each a four-byte length and JSON. Measured (SQLite 3.40): `mode=ro` alone lets ATTACH and VACUUM INTO
create files, and a progress handler does not stop a single opcode such as a huge printf; hence the authorizer, the file
size limit of zero, and a kernel timer that ends the process whatever it is doing.

`random()`, `randomblob()` and the current time are allowed: they reach nothing outside SQLite, and honest queries
use them. A query that depends on them is not reproducible, which is its author's choice.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import resource
import signal
import sqlite3
import struct
import sys
import time
from collections import OrderedDict
from functools import partial
from urllib.parse import quote

GRACE_S = 0.5
KEPT_CONNECTIONS = 16
OPCODES_BETWEEN_CHECKS = 5_000
MAX_SQL_BYTES = 200_000
MAX_MESSAGE = 1_000
PR_SET_PDEATHSIG = 1

ALLOWED_ACTIONS = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE}
ALLOWED_PRAGMAS = {"table_info", "table_xinfo", "table_list", "index_list", "index_info", "foreign_key_list"}
# Built-in table-valued functions; SQLite declares one at its first use in a way that looks like a write to a whitelist.
TABLE_FUNCTIONS = (*(f"pragma_{name}" for name in sorted(ALLOWED_PRAGMAS)), "json_each", "json_tree")
REFUSED_FUNCTIONS = {"load_extension", "readfile", "writefile", "edit", "fts3_tokenizer", "fsdir", "lsmode"}
ALLOWED = "only reading is allowed: SELECT, WITH, VALUES, EXPLAIN, and PRAGMA " + ", ".join(sorted(ALLOWED_PRAGMAS))
LIMITS = {
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: MAX_SQL_BYTES,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 500,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 200,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 2_000,
    sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER: 1_000,
    sqlite3.SQLITE_LIMIT_VDBE_OP: 1_000_000,
    sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 1,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}
BROKEN_DATABASE = ("SQLITE_NOTADB", "SQLITE_CORRUPT", "SQLITE_CANTOPEN", "SQLITE_IOERR")
# Codes of these families that a query can cause on a sound database.
FAULT_OF_THE_QUERY = {"SQLITE_CORRUPT_VTAB", "SQLITE_IOERR_NOMEM"}

Reply = dict[str, object]


class BrokenDatabase(Exception):
    """The database cannot be used as it lies on disk, whatever the query."""


def authorize(action: int, first: str | None, second: str | None, _database: str | None, _trigger: str | None) -> int:
    """Whitelist: reading, functions that stay inside SQLite, and the pragmas that describe a schema."""
    allowed = (
        action in ALLOWED_ACTIONS
        or (action == sqlite3.SQLITE_FUNCTION and (second or "").lower() not in REFUSED_FUNCTIONS)
        or (action == sqlite3.SQLITE_PRAGMA and (first or "").lower() in ALLOWED_PRAGMAS)
    )
    return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY


def connect(path: str, max_cell_bytes: int) -> sqlite3.Connection:
    """Open `path` read-only and lock every door; `immutable` keeps SQLite from making files beside it.

    Raises `BrokenDatabase` when a write-ahead log holds changes, since an immutable reader would not see them.
    """
    with contextlib.suppress(FileNotFoundError):
        if os.stat(f"{path}-wal").st_size:  # noqa: PTH116 - the child starts faster without pathlib
            raise BrokenDatabase("its write-ahead log holds changes; run `PRAGMA wal_checkpoint(TRUNCATE)` on it")
    uri = f"file:{quote(os.fsencode(path))}?mode=ro&immutable=1"
    # No statement cache: its size would depend on the queries of other episodes.
    connection = sqlite3.connect(uri, uri=True, isolation_level=None, cached_statements=0)
    connection.text_factory = partial(str, encoding="utf-8", errors="replace")
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
        try:
            stat = os.stat(path)  # noqa: PTH116 - as above
        except OSError as error:
            raise BrokenDatabase(f"the database cannot be opened: {error.strerror}") from None
        key = (path, stat.st_dev, stat.st_ino, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size, max_cell_bytes)
        if key not in self.open:
            self.open[key] = connect(path, max_cell_bytes)
            if len(self.open) > KEPT_CONNECTIONS:
                self.open.popitem(last=False)[1].close()
        self.open.move_to_end(key)
        return self.open[key]


def answer(connections: Connections, request: dict[str, object]) -> Reply:
    """Run one request and describe what happened; see `SqlResult` in sql_guard for the meaning of a status."""
    try:
        connection = connections.get(str(request["database"]), int(str(request["max_cell_bytes"])))
        deadline = time.monotonic() + float(str(request["timeout_s"]))
        connection.set_progress_handler(lambda: time.monotonic() > deadline, OPCODES_BETWEEN_CHECKS)
        return fetch(connection, request)
    except BrokenDatabase as error:
        return failure("broken", str(error))
    except UnicodeEncodeError:
        return failure("error", "the query holds characters that are not valid Unicode")
    except (sqlite3.Error, sqlite3.Warning, ValueError) as error:
        return failure(*explain(error))


def fetch(connection: sqlite3.Connection, request: dict[str, object]) -> Reply:
    """Execute and read rows until the row or byte cap."""
    max_rows, max_bytes = int(str(request["max_rows"])), int(str(request["max_output_bytes"]))
    cursor = connection.cursor()
    try:
        cursor.execute(str(request["sql"]))
        if cursor.description is None:
            return failure("error", "there is no query in this statement")
        columns, truncated = [column[0] for column in cursor.description], False
        budget = max_bytes - content_bytes(columns)
        rows: list[list[object]] = []
        for row in cursor:
            budget -= content_bytes(row)
            if len(rows) == max_rows or budget < 0:
                truncated = True
                break
            rows.append([{"b": value.hex()} if isinstance(value, bytes) else value for value in row])
        if budget < 0 and not rows:
            return failure("error", f"one row is larger than a whole result may be ({max_bytes} bytes)")
        return {"status": "ok", "columns": columns, "rows": rows, "truncated": truncated, "error": None}
    finally:
        cursor.close()


def content_bytes(values: list[object] | tuple[object, ...]) -> int:
    """Size of values in bytes: text as UTF-8, eight for a number or NULL."""
    size = 0
    for value in values:
        if isinstance(value, str):
            size += len(value) if value.isascii() else len(value.encode())
        else:
            size += len(value) if isinstance(value, bytes) else 8
    return size


def explain(error: Exception) -> tuple[str, str]:
    """Status and message of a failed statement."""
    name, message = getattr(error, "sqlite_errorname", ""), str(error)
    if name == "SQLITE_AUTH" or message.startswith("not authorized"):
        return "refused", f"{message}: {ALLOWED}"
    if name == "SQLITE_INTERRUPT":
        return "timeout", "the query took too long"
    if name in ("SQLITE_NOMEM", "SQLITE_IOERR_NOMEM"):
        return "memory", "the query needs too much memory"
    if name.startswith(BROKEN_DATABASE) and name not in FAULT_OF_THE_QUERY:
        return "broken", message
    return "error", message


def failure(status: str, message: str) -> Reply:
    return {"status": status, "columns": [], "rows": [], "truncated": False, "error": message[:MAX_MESSAGE]}


def encode(reply: Reply) -> bytes:
    """The reply as JSON; infinities are written as Python's own `Infinity`, which its reader takes back."""
    return json.dumps(reply, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace")


def handle(connections: Connections, payload: bytes) -> bytes:
    """One request in, one reply out, within the request's time; memory that runs out anywhere is the query's doing."""
    with contextlib.suppress(MemoryError):
        request = json.loads(payload)
        signal.setitimer(signal.ITIMER_REAL, request["timeout_s"] + GRACE_S)
        return encode(answer(connections, request))
    return encode(failure("memory", "the query needs too much memory"))


def die_with(parent: int) -> None:
    """Have Linux kill this process when the thread that started it ends; elsewhere the end of its input must do."""
    if sys.platform != "linux":
        return
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG) failed")
    if os.getppid() != parent:
        sys.exit("the parent died first")


def confine(memory_bytes: int) -> None:
    """Limits of the process itself: no file can grow, no core is dumped, memory is capped."""
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def serve(memory_bytes: int, parent: int) -> None:
    """Say that it is ready, then answer requests until standard input ends."""
    die_with(parent)
    confine(memory_bytes)
    connections = Connections()
    source, sink = sys.stdin.buffer, sys.stdout.buffer

    def send(reply: bytes) -> None:
        sink.write(struct.pack(">I", len(reply)))
        sink.write(reply)
        sink.flush()

    send(b"{}")
    while len(head := source.read(4)) == 4:
        reply = handle(connections, source.read(struct.unpack(">I", head)[0]))
        signal.setitimer(signal.ITIMER_REAL, 0)
        send(reply)


if __name__ == "__main__":
    serve(*map(int, sys.argv[1:]))
