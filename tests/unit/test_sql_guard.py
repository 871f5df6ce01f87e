"""The guard in peace: values, caps, damage around it, threads."""

import math
import os
import signal
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from helpseek.environments.sql_guard import SqlGuard, SqlLimits
from helpseek.errors import InfraError


@pytest.fixture
def database(tmp_path):
    path = tmp_path / "d.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t (n INTEGER, text TEXT)")
        connection.executemany("INSERT INTO t VALUES (?, ?)", [(n, f"row {n}") for n in range(500)])
    connection.close()
    return path


@pytest.fixture(scope="module")
def guard():
    with SqlGuard(workers=2, limits=SqlLimits(timeout_s=2, max_rows=200)) as shared:
        yield shared


def test_every_kind_of_value_comes_back_as_it_is(guard, database):
    result = guard.run(database, "SELECT NULL, 9223372036854775807, -0.5, 'ü猫\"''', x'00ff', 9e999, 1 AS n, 2 AS n")
    assert result.rows == ((None, 2**63 - 1, -0.5, "ü猫\"'", b"\x00\xff", math.inf, 1, 2),)
    assert result.columns[-2:] == ("n", "n")


def test_text_that_is_not_utf8_is_shown_with_replacements(guard, database):
    assert guard.run(database, "SELECT CAST(x'41ff42' AS TEXT)").rows == (("A\ufffdB",),)


def test_rows_are_capped_with_a_notice(guard, database):
    result = guard.run(database, "SELECT * FROM t ORDER BY n")
    assert (len(result.rows), result.truncated) == (200, True)
    assert not guard.run(database, "SELECT * FROM t WHERE n < 200").truncated


def test_bytes_are_capped(guard, database):
    limits = SqlLimits(timeout_s=2, max_rows=1000, max_output_bytes=1000)
    result = guard.run(database, "SELECT text FROM t", limits)
    assert result.truncated
    assert 0 < len(result.rows) < 200


def test_a_changed_database_is_seen(guard, database):
    assert guard.run(database, "SELECT count(*) FROM t").rows == ((500,),)
    with sqlite3.connect(database) as connection:
        connection.execute("DELETE FROM t WHERE n > 9")
    connection.close()
    assert guard.run(database, "SELECT count(*) FROM t").rows == ((10,),)


@pytest.mark.parametrize("damage", ["absent", "folder", "text"])
def test_an_unusable_database_is_no_fault_of_the_model(guard, tmp_path, damage):
    path = tmp_path / "broken.sqlite"
    if damage == "folder":
        path.mkdir()
    if damage == "text":
        path.write_text("this is not a database, whatever its name says" * 100)
    with pytest.raises(InfraError, match=r"broken\.sqlite"):
        guard.run(path, "SELECT * FROM t")


def test_many_threads_share_few_workers(guard, database):
    with ThreadPoolExecutor(64) as pool:
        results = list(pool.map(lambda n: guard.run(database, f"SELECT {n}").rows, range(400)))
    assert results == [((n,),) for n in range(400)]


def test_a_worker_killed_from_outside_is_replaced(database):
    with SqlGuard(workers=1) as guard:
        guard.run(database, "SELECT 1")
        worker = guard.idle.get()
        os.kill(worker.process.pid, signal.SIGKILL)
        guard.idle.put(worker)
        assert guard.run(database, "SELECT 2").rows == ((2,),)


def test_workers_end_with_a_killed_parent(database):
    program = """
import os, signal, sys
from pathlib import Path
from helpseek.environments.sql_guard import SqlGuard
guard = SqlGuard(workers=1)
guard.run(Path(sys.argv[1]), "SELECT 1")
worker = guard.idle.get()
print(worker.process.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run([sys.executable, "-c", program, str(database)], capture_output=True, text=True, check=False)
    pid = int(done.stdout)
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        try:
            with open(f"/proc/{pid}/stat") as file:  # noqa: PTH123
                if file.read().rsplit(")", 1)[1].split()[0] == "Z":
                    return
        except FileNotFoundError:
            return
        time.sleep(0.05)
    pytest.fail("the worker outlived its parent")


def test_closing_ends_every_worker(database):
    guard = SqlGuard(workers=3)
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda _: guard.run(database, "SELECT 1"), range(30)))
    workers = [worker for worker in list(guard.idle.queue) if worker]
    guard.close()
    assert workers
    assert all(worker.process.poll() is not None for worker in workers)
