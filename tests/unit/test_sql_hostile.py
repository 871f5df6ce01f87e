"""Hostile SQL: whatever an agent sends, the database stays as it is, nothing is written, and the guard answers on."""

import hashlib
import resource
import sqlite3
import time
from pathlib import Path

import pytest

from helpseek.environments.sql_guard import SqlGuard, SqlLimits

LIMIT_S = 1.0
MEMORY_MB = 256
LIMITS = SqlLimits(timeout_s=LIMIT_S, memory_mb=MEMORY_MB, max_rows=200)
STOPPED = {"refused", "error", "timeout", "memory"}
# Some builds answer these at once, which is as good.
HARMLESS = {*STOPPED, "ok"}

SOME = "WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r WHERE i < 9)"
ENDLESS = "WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r)"

# name -> (statement, the statuses that count as defended)
ATTACKS = {
    "attach a new file": ("ATTACH DATABASE '{folder}/evil.db' AS e", {"refused"}),
    "attach another database": ("ATTACH DATABASE '{folder}/other.sqlite' AS o", {"refused"}),
    "attach by URI": ("ATTACH 'file:{folder}/evil.db?mode=rwc' AS e", {"refused"}),
    "detach": ("DETACH DATABASE main", {"refused", "error"}),
    "vacuum into a copy": ("VACUUM INTO '{folder}/copy.db'", {"refused", "error"}),
    "vacuum": ("VACUUM", {"refused", "error"}),
    "writable schema": ("PRAGMA writable_schema = ON", {"refused"}),
    "query_only off": ("PRAGMA query_only = OFF", {"refused"}),
    "trusted schema on": ("PRAGMA trusted_schema = ON", {"refused"}),
    "journal mode": ("PRAGMA journal_mode = WAL", {"refused"}),
    "temp store directory": ("PRAGMA temp_store_directory = '{folder}'", {"refused"}),
    "data store directory": ("PRAGMA data_store_directory = '{folder}'", {"refused"}),
    "database list": ("PRAGMA database_list", {"refused"}),
    "mmap": ("PRAGMA mmap_size = 1000000000000", {"refused"}),
    "huge cache": ("PRAGMA cache_size = 1000000000", {"refused"}),
    "limit of memory": ("PRAGMA hard_heap_limit = 0", {"refused"}),
    "load an extension": ("SELECT load_extension('/lib/x86_64-linux-gnu/libc.so.6')", {"refused", "error"}),
    "read a file": ("SELECT readfile('/etc/passwd')", {"refused", "error"}),
    "write a file": ("SELECT writefile('{folder}/evil.txt', 'x')", {"refused", "error"}),
    "list a folder": ("SELECT * FROM fsdir('/')", {"refused", "error"}),
    "start an editor": ("SELECT edit('x', 'sh')", {"refused", "error"}),
    "tokenizer pointer": ("SELECT fts3_tokenizer('simple', x'4141414141414141')", {"refused", "error"}),
    "read a CSV file": ("CREATE VIRTUAL TABLE temp.t USING csv(filename='/etc/passwd')", {"refused", "error"}),
    "full-text table": ("CREATE VIRTUAL TABLE temp.f USING fts5(x)", {"refused", "error"}),
    "zip file": ("SELECT * FROM zipfile('{folder}/evil.zip')", {"refused", "error"}),
    "insert": ("INSERT INTO secret VALUES (99)", {"refused"}),
    "update": ("UPDATE secret SET x = 0", {"refused"}),
    "delete": ("DELETE FROM secret", {"refused"}),
    "drop": ("DROP TABLE secret", {"refused"}),
    "create": ("CREATE TABLE t AS SELECT 1", {"refused"}),
    "temporary table": ("CREATE TEMP TABLE t AS SELECT 1", {"refused"}),
    "temporary view": ("CREATE TEMP VIEW secret AS SELECT 0 AS x", {"refused"}),
    "trigger": ("CREATE TEMP TRIGGER t AFTER INSERT ON secret BEGIN SELECT 1; END", {"refused"}),
    "edit the schema table": ("UPDATE sqlite_schema SET sql = ''", {"refused", "error"}),
    "insert behind a WITH": ("WITH a AS (SELECT 1) INSERT INTO secret SELECT * FROM a", {"refused"}),
    "replace": ("REPLACE INTO secret VALUES (1)", {"refused"}),
    "returning": ("DELETE FROM secret RETURNING x", {"refused"}),
    "transaction": ("BEGIN EXCLUSIVE", {"refused"}),
    "savepoint": ("SAVEPOINT s", {"refused"}),
    "reindex": ("REINDEX", {"refused", "error"}),
    "analyze": ("ANALYZE", {"refused"}),
    "alter": ("ALTER TABLE secret RENAME TO s", {"refused", "error"}),
    "two statements": ("SELECT 1; DROP TABLE secret", {"error"}),
    "statement behind a comment": ("SELECT 1; -- x\n/* y */ DELETE FROM secret", {"error"}),
    "NUL byte": ("SELECT 1\0; DROP TABLE secret", {"error"}),
    "endless recursion": (f"{ENDLESS} SELECT count(*) FROM r", {"timeout"}),
    "endless rows": (f"{ENDLESS} SELECT x FROM r ORDER BY -x", {"timeout", "memory"}),
    "growing recursion": (
        "WITH RECURSIVE r(x) AS (SELECT 'aa' UNION ALL SELECT x || x FROM r) SELECT max(length(x)) FROM r",
        STOPPED,
    ),
    "cross join": ("SELECT count(*) FROM big a, big b, big c, big d WHERE a.x + b.x + c.x + d.x < 0", {"timeout"}),
    "printf in one opcode": ("SELECT length(printf('%.*c', 900000000, 'x'))", STOPPED),
    "format width": ("SELECT length(format('%900000000s', 'x'))", HARMLESS),
    "zeroblob": ("SELECT zeroblob(2000000000)", {"error", "memory"}),
    "many zeroblobs": (f"{ENDLESS} SELECT group_concat(hex(zeroblob(1000000))) FROM r", STOPPED),
    "randomblob": ("SELECT hex(randomblob(1000000000))", {"error", "memory"}),
    "replace bomb": (
        "SELECT length(replace(replace(hex(zeroblob(900000)), '0', hex(zeroblob(900000))), '0', 'xxxxxxxxxx'))",
        STOPPED,
    ),
    "slow LIKE": (f"SELECT count(*) FROM big WHERE hex(zeroblob(2000)) LIKE '{'%0' * 900}1'", HARMLESS),
    "slow GLOB": (f"SELECT hex(zeroblob(4000000)) GLOB '{'*0' * 900}1'", HARMLESS),
    "deep nesting": (f"SELECT {'(' * 3000}1{')' * 3000}", {"error", "memory"}),
    "long sum": (f"SELECT {'+'.join(['1'] * 60000)}", {"error", "memory"}),
    "many compound selects": (" UNION ALL ".join(["SELECT 1"] * 5000), {"error"}),
    "huge statement": (f"SELECT '{'x' * 3000000}'", {"error"}),
    "window over endless rows": (f"{ENDLESS} SELECT sum(x) OVER (ORDER BY x DESC) FROM r", {"timeout", "memory"}),
    "json of endless rows": (f"{ENDLESS} SELECT json_group_array(x) FROM r", STOPPED),
    "sort of a cross join": ("SELECT a.x, b.x, c.x FROM big a, big b, big c ORDER BY a.x * b.x - c.x", STOPPED),
    "dbstat": ("SELECT * FROM dbstat", HARMLESS),
    "lone surrogate": ("SELECT '\ud800'", {"error"}),
    "attach in memory": ("ATTACH ':memory:' AS m", {"refused"}),
    "attach by an expression": ("ATTACH '{folder}/' || 'evil.db' AS e", {"refused"}),
    "pragma in odd spelling": ('/* x */ pRaGmA\n\t"main".[journal_mode]\n= wal', {"refused"}),
    "pragma by a comment": ("-- SELECT 1\nPRAGMA user_version = 7", {"refused"}),
    "pragma as a table": ("SELECT * FROM pragma_journal_mode('wal')", {"refused", "error"}),
    "pragma as a table, query_only": ("SELECT * FROM pragma_query_only(0)", {"refused", "error"}),
    "pragma as a table, heap limit": ("SELECT * FROM pragma_hard_heap_limit(0)", {"refused", "error"}),
    "integrity check": ("PRAGMA integrity_check", {"refused"}),
    "explain a write": ("EXPLAIN DELETE FROM secret", {"refused"}),
    "quoted names": ('INSERT INTO "main".[secret](`x`) VALUES (1)', {"refused"}),
    "a function quoted": ("SELECT \"load_extension\"('x')", {"refused", "error"}),
    "a function in capitals": ("SELECT LOAD_EXTENSION('x', 'y')", {"refused", "error"}),
    "an upsert": ("INSERT INTO secret VALUES (1) ON CONFLICT DO UPDATE SET x = 0", {"refused", "error"}),
    "commit": ("COMMIT", {"refused"}),
    "rollback to": ("ROLLBACK TO s", {"refused", "error"}),
    "drop the schema table": ("DROP TABLE sqlite_schema", {"refused", "error"}),
    "insert into the temporary schema": (
        "INSERT INTO sqlite_temp_schema VALUES ('table', 'a', 'a', 0, '')",
        {"refused", "error"},
    ),
    "generate_series": ("SELECT sum(value) FROM generate_series(1, 1e15)", {"error"}),
    "rtree check": ("SELECT rtreecheck('secret')", {"refused", "error"}),
    "four-byte cells": (f"{SOME} SELECT replace(hex(zeroblob(1200000)), '0', '\U0001f600') FROM r", HARMLESS),
    "cells that JSON escapes": (f"{SOME} SELECT replace(hex(zeroblob(4900000)), '0', char(1)) FROM r", HARMLESS),
    "cells of bytes": (f"{SOME} SELECT zeroblob(9900000) FROM r", HARMLESS),
    "wide rows of blobs": (f"SELECT {', '.join(['zeroblob(9900000)'] * 1900)}", {"error", "memory"}),
    "long column names": (f'SELECT {", ".join(["a.*"] * 1900)} FROM (SELECT 1 AS "{"n" * 90000}") a', STOPPED),
    "a long error message": (f"SELECT {'n' * 190000} FROM secret", {"error"}),
    "many variables": ("SELECT ?250000", {"error"}),
    "huge IN list": (f"SELECT count(*) FROM big WHERE x IN ({', '.join(['1'] * 60000)})", HARMLESS),
    "many values": (f"VALUES {', '.join(['(1)'] * 49000)}", HARMLESS),
    "deep JSON": (f"SELECT json_extract(replace('{'x' * 90000}', 'x', '['), '$')", {"error", "memory"}),
    "JSON path bomb": (
        "SELECT count(*) FROM big a, json_each('[1,2,3]') b, big c, json_tree('[[1]]') d, big e",
        {"timeout"},
    ),
    "recursive view of JSON": (
        "WITH RECURSIVE r(j) AS (SELECT '[1]' UNION ALL SELECT json_array(j, j) FROM r) SELECT max(length(j)) FROM r",
        STOPPED,
    ),
    "sum over every frame": (
        "SELECT sum(length(group_concat_all)) FROM (SELECT group_concat(hex(zeroblob(1000))) OVER "
        "(ORDER BY a.x ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS group_concat_all "
        "FROM big a, big b)",
        STOPPED,
    ),
    "distinct of a cross join": (
        "SELECT count(DISTINCT a.x * 10000000 + b.x * 3000 + c.x) FROM big a, big b, big c",
        STOPPED,
    ),
    "correlated subqueries": (
        "SELECT (SELECT count(*) FROM big b WHERE b.x > a.x AND EXISTS "
        "(SELECT 1 FROM big c, big d WHERE c.x + d.x = -b.x)) FROM big a",
        STOPPED,
    ),
    "nested EXISTS": (f"SELECT {'EXISTS(SELECT ' * 400}1{')' * 400}", HARMLESS),
    "comments without end": ("SELECT 1 " + "/*" * 90000, HARMLESS),
    "unicode quotes": ("SELECT ‘1’; DROP TABLE secret", {"error"}),
    "shell commands": (".shell touch {folder}/evil", {"error"}),
    "dot output": (".output {folder}/evil", {"error"}),
}


@pytest.fixture(scope="module")
def arena(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile") / "a folder?with #odd%20name"
    folder.mkdir()
    path = folder / "target.sqlite"
    for file in (path, folder / "other.sqlite"):
        with sqlite3.connect(file) as connection:
            connection.execute("CREATE TABLE secret (x INTEGER)")
            connection.execute("INSERT INTO secret VALUES (42)")
            connection.execute("CREATE TABLE big (x INTEGER)")
            connection.executemany("INSERT INTO big VALUES (?)", [(n,) for n in range(3000)])
        connection.close()
    with SqlGuard(workers=1, limits=LIMITS) as guard:
        yield guard, path


def snapshot(folder):
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in folder.iterdir()}


def peak_mb(guard):
    """Most memory the worker ever held, in MB; 0 when the attack ended it."""
    worker = guard.slots[0].worker
    if worker is None:
        return 0
    status = Path(f"/proc/{worker.process.pid}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) / 1024


@pytest.mark.parametrize("name", ATTACKS)
def test_attack_is_stopped(arena, name):
    guard, path = arena
    statement, defended = ATTACKS[name]
    before = snapshot(path.parent)
    start = time.perf_counter()
    result = guard.run(path, statement.replace("{folder}", str(path.parent)))
    elapsed = time.perf_counter() - start
    assert result.status in defended, (result.status, result.error)
    assert elapsed < LIMIT_S + 2
    assert peak_mb(guard) <= MEMORY_MB
    assert snapshot(path.parent) == before
    assert len(result.error or "") < 2000
    assert guard.run(path, "SELECT x FROM secret").rows == ((42,),)


def test_state_does_not_leak_from_one_query_to_the_next(arena):
    guard, path = arena
    for name in ("query_only off", "temporary view", "transaction", "writable schema", "attach in memory"):
        guard.run(path, ATTACKS[name][0])
    assert guard.run(path, "SELECT x FROM secret").rows == ((42,),)
    assert guard.run(path, "SELECT count(*) FROM sqlite_temp_schema").rows == ((0,),)
    assert guard.run(path, "INSERT INTO secret VALUES (1)").status == "refused"


def test_long_statements_leave_no_memory_behind(arena):
    guard, path = arena
    guard.run(path, "SELECT 1")
    before = peak_mb(guard)
    for number in range(25):
        guard.run(path, f"SELECT {number} WHERE 1 IN ({', '.join(['1'] * 30000)})")
    assert 0 < peak_mb(guard) < before + 64


def test_what_honest_agents_use_is_allowed(arena):
    guard, path = arena
    for statement in (
        "PRAGMA table_info(secret)",
        "SELECT name FROM sqlite_master",
        "SELECT * FROM pragma_table_info('secret')",
        "SELECT value FROM json_each('[1, 2]')",
        "WITH a AS (SELECT x FROM big) SELECT count(*), avg(x) FROM a;  -- done",
        "SELECT date('2024-01-31', '+1 month'), printf('%.2f', 1.5), json_extract('{\"a\": 1}', '$.a')",
        "SELECT x, row_number() OVER (ORDER BY x) FROM secret",
        "EXPLAIN QUERY PLAN SELECT * FROM big",
        "VALUES (1), (2)",
    ):
        result = guard.run(path, statement)
        assert result.status == "ok", (statement, result.error)
        assert result.rows


def test_the_memory_cap_is_in_force(arena):
    guard, path = arena
    guard.run(path, "SELECT 1")
    limits = {
        name: resource.prlimit(guard.slots[0].worker.process.pid, getattr(resource, name))
        for name in ("RLIMIT_AS", "RLIMIT_FSIZE", "RLIMIT_CORE", "RLIMIT_NOFILE")
    }
    assert limits["RLIMIT_AS"] == (MEMORY_MB * 2**20, MEMORY_MB * 2**20)
    assert limits["RLIMIT_FSIZE"] == (0, 0)
    assert limits["RLIMIT_CORE"] == (0, 0)
    assert limits["RLIMIT_NOFILE"] == (64, 64)
