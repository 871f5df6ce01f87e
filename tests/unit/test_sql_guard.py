"""The guard in peace: values, caps, paths, damage around it, threads, and the life of its workers."""

import math
import os
import queue
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helpseek.environments import sql_guard
from helpseek.environments.sql_guard import FairPool, Slot, SqlGuard, SqlLimits, Worker, WorkerDied
from helpseek.environments.sql_worker import KEPT_CONNECTIONS
from helpseek.errors import InfraError

ENDLESS = "WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r) SELECT count(*) FROM r"


def make_database(path, rows=500):
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t (n INTEGER, text TEXT)")
        connection.executemany("INSERT INTO t VALUES (?, ?)", [(n, f"row {n}") for n in range(rows)])
    connection.close()
    return path


@pytest.fixture
def database(tmp_path):
    return make_database(tmp_path / "d.sqlite")


@pytest.fixture(scope="module")
def guard():
    with SqlGuard(workers=2, limits=SqlLimits(timeout_s=2, max_rows=200)) as shared:
        yield shared


def pid_of(guard):
    return guard.slots[0].worker.process.pid


def has_ended(pid, within_s=5.0):
    """Whether the process is gone, or a zombie nobody has reaped, in time."""
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z":
                return True
        except (FileNotFoundError, ProcessLookupError):
            return True
        time.sleep(0.02)
    return False


def wait_for(found, within_s=10.0):
    """The first true value of `found()`; a failure when there is none in time."""
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        if value := found():
            return value
        time.sleep(0.005)
    raise AssertionError("what the test waits for did not happen")


def wait_until_busy(guard, database, other_than=None):
    """Process id of the first worker, once it surely is in a query: it has the database open and it computes."""

    def busy():
        worker = guard.slots[0].worker
        if worker is None or worker.process.pid == other_than:
            return None
        process = Path(f"/proc/{worker.process.pid}")
        try:
            computes = (process / "stat").read_text().rsplit(")", 1)[1].split()[0] == "R"
            opened = {str(file.readlink()) for file in (process / "fd").iterdir()}
        except FileNotFoundError:
            return None
        return computes and str(database) in opened and worker.process.pid

    return wait_for(busy)


# Values and texts


def test_every_kind_of_value_comes_back_as_it_is(guard, database):
    result = guard.run(
        database, "SELECT NULL, 9223372036854775807, -0.5, 'ü猫\"''', x'00ff', 9e999, -9e999, x'', 1 AS n, 2 AS n"
    )
    assert result.rows == ((None, 2**63 - 1, -0.5, "ü猫\"'", b"\x00\xff", math.inf, -math.inf, b"", 1, 2),)
    assert result.columns[-2:] == ("n", "n")


CELLS = (
    st.none()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False)
    | st.binary(max_size=40)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(st.tuples(CELLS, CELLS), max_size=8))
def test_stored_values_equal_what_sqlite_gives_in_process(guard, tmp_path, rows):
    path = tmp_path / "values.sqlite"
    path.unlink(missing_ok=True)
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE v (a, b)")
        connection.executemany("INSERT INTO v VALUES (?, ?)", rows)
        expected = connection.execute("SELECT a, b FROM v").fetchall()
    connection.close()
    assert [tuple(map(repr, row)) for row in guard.run(path, "SELECT a, b FROM v").rows] == [
        tuple(map(repr, row)) for row in expected
    ]


def test_text_that_is_not_utf8_is_shown_with_replacements(guard, database):
    assert guard.run(database, "SELECT CAST(x'41ff42' AS TEXT)").rows == (("A\ufffdB",),)


@pytest.mark.parametrize(
    ("statement", "part_of_message"),
    [
        ("", "no query"),
        (" ; ", "no query"),
        ("-- only a comment", "no query"),
        ("SELECT 1; SELECT 2", "one statement"),
        ("SELECT 1\0", "null character"),
        ("SELECT '\ud800'", "not valid Unicode"),
        ("SELECT :name", "binding"),
        ("SELECT absent FROM t", "no such column: absent"),
        pytest.param(f"SELECT '{'x' * 300_000}'", "too long", id="300 kB"),
    ],
)
def test_a_statement_that_cannot_run_says_why(guard, database, statement, part_of_message):
    result = guard.run(database, statement)
    assert (result.status, result.rows) == ("error", ())
    assert part_of_message in result.error


@pytest.mark.parametrize(
    "statement", ["SELECT 7;", "SELECT 7 -- end", "/* a */ SELECT\n7 ; -- end\n", "\ufeffSELECT 7", "SELECT 7 /* open"]
)
def test_comments_and_a_last_semicolon_are_fine(guard, database, statement):
    assert guard.run(database, statement).rows == ((7,),)


def test_a_refusal_says_what_is_allowed(guard, database):
    result = guard.run(database, "DELETE FROM t")
    assert result.status == "refused"
    assert "SELECT" in result.error
    assert "table_info" in result.error


# Caps


def test_rows_are_capped_with_a_notice(guard, database):
    result = guard.run(database, "SELECT * FROM t ORDER BY n")
    assert (len(result.rows), result.truncated) == (200, True)
    assert not guard.run(database, "SELECT * FROM t WHERE n < 200").truncated


def test_bytes_are_capped_as_utf8(guard, database):
    limits = SqlLimits(timeout_s=2, max_rows=1000, max_output_bytes=1000)
    ascii_text, cats = (guard.run(database, f"SELECT '{text * 10}' AS c FROM t", limits) for text in "a猫")
    assert ascii_text.truncated
    assert (len(ascii_text.rows), len(cats.rows)) == (99, 33)


def test_a_row_beyond_the_byte_cap_is_an_error_not_an_empty_result(guard, database):
    limits = SqlLimits(timeout_s=2, max_output_bytes=1000)
    result = guard.run(database, "SELECT zeroblob(2000)", limits)
    assert result.status == "error"
    assert "1000 bytes" in result.error


def test_a_cell_beyond_its_cap_is_an_error(guard, database):
    limits = SqlLimits(timeout_s=2, max_cell_bytes=1000)
    assert guard.run(database, "SELECT length(hex(zeroblob(400)))", limits).rows == ((800,),)
    result = guard.run(database, "SELECT length(hex(zeroblob(600)))", limits)
    assert (result.status, result.error) == ("error", "string or blob too big")


def test_duration_leaves_out_the_wait_for_a_worker(database):
    with SqlGuard(workers=1, limits=SqlLimits(timeout_s=1)) as guard, ThreadPoolExecutor(1) as pool:
        blocker = pool.submit(guard.run, database, ENDLESS)
        wait_until_busy(guard, database)
        assert guard.run(database, "SELECT 1").duration_s < 0.5
        assert blocker.result().duration_s >= 1


# Databases


def test_a_changed_database_is_seen(guard, database):
    assert guard.run(database, "SELECT count(*) FROM t").rows == ((500,),)
    with sqlite3.connect(database) as connection:
        connection.execute("DELETE FROM t WHERE n > 9")
    connection.close()
    assert guard.run(database, "SELECT count(*) FROM t").rows == ((10,),)


def test_a_replaced_database_of_the_same_time_and_size_is_seen(guard, tmp_path):
    old, new = make_database(tmp_path / "old.sqlite", 5), make_database(tmp_path / "new.sqlite", 6)
    os.utime(old, ns=(1, 1))
    os.utime(new, ns=(1, 1))
    assert guard.run(old, "SELECT count(*) FROM t").rows == ((5,),)
    new.replace(old)
    assert guard.run(old, "SELECT count(*) FROM t").rows == ((6,),)


def test_paths_relative_and_odd(guard, database, monkeypatch):
    monkeypatch.chdir(database.parent)
    for name in ("d.sqlite", "a b?mode=rwc&x#y%20.sqlite", os.fsdecode(b"latin-\xe9.sqlite"), "猫'\".sqlite"):
        Path(name).write_bytes(database.read_bytes())
        assert guard.run(Path(name), "SELECT count(*) FROM t").rows == ((500,),), name
    assert not Path("a b").exists()


@pytest.mark.parametrize("damage", ["absent", "folder", "text", "truncated"])
def test_an_unusable_database_is_no_fault_of_the_model(guard, tmp_path, damage):
    path = tmp_path / "broken.sqlite"
    if damage == "folder":
        path.mkdir()
    if damage == "text":
        path.write_text("this is not a database, whatever its name says" * 100)
    if damage == "truncated":
        whole = make_database(path, 5000).read_bytes()
        path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InfraError, match=r"broken\.sqlite"):
        guard.run(path, "SELECT count(text) FROM t")


def test_a_write_ahead_log_is_not_silently_left_out(guard, tmp_path):
    path = tmp_path / "wal.sqlite"
    writer = sqlite3.connect(path)
    writer.execute("PRAGMA journal_mode = WAL")
    writer.execute("CREATE TABLE t (n)")
    writer.commit()
    with pytest.raises(InfraError, match="write-ahead log"):
        guard.run(path, "SELECT count(*) FROM t")
    writer.close()
    assert guard.run(path, "SELECT count(*) FROM t").rows == ((0,),)
    assert [file.name for file in tmp_path.iterdir()] == ["wal.sqlite"]


def test_old_connections_are_closed(tmp_path):
    with SqlGuard(workers=1) as guard:
        for number in range(KEPT_CONNECTIONS + 5):
            path = make_database(tmp_path / f"{number}.sqlite", number)
            assert guard.run(path, "SELECT count(*) FROM t").rows == ((number,),)
        opened = [str(file.readlink()) for file in Path(f"/proc/{pid_of(guard)}/fd").iterdir()]
        assert sum(name.endswith(".sqlite") for name in opened) == KEPT_CONNECTIONS


# Threads


def test_many_threads_share_few_workers(guard, database):
    with ThreadPoolExecutor(64) as pool:
        results = list(pool.map(lambda n: guard.run(database, f"SELECT {n}").rows, range(640)))
    assert results == [((n,),) for n in range(640)]


def test_waiting_threads_are_served_in_order_of_arrival():
    pool, served = FairPool([Slot()]), queue.SimpleQueue()
    slot = pool.take()

    def wait(number):
        mine = pool.take()
        served.put(number)
        pool.put(mine)

    threads = []
    for number in range(20):
        threads.append(threading.Thread(target=wait, args=(number,)))
        threads[-1].start()
        while len(pool.waiting) <= number:
            time.sleep(0.001)
    pool.put(slot)
    for thread in threads:
        thread.join()
    assert [served.get() for _ in threads] == list(range(20))


def test_a_late_thread_does_not_overtake_a_waiting_one():
    pool = FairPool([Slot()])
    slot = pool.take()
    waiting = threading.Thread(target=pool.take)
    waiting.start()
    while not pool.waiting:
        time.sleep(0.001)
    pool.put(slot)
    assert not pool.free
    waiting.join()


def test_many_open_files_do_not_matter(database):
    files = [os.open(os.devnull, os.O_RDONLY) for _ in range(1100)]
    try:
        with SqlGuard(workers=1) as guard:
            assert guard.run(database, "SELECT 1").rows == ((1,),)
    finally:
        for file in files:
            os.close(file)


def test_memory_of_the_parent_stays_flat(guard, database):
    def resident_pages():
        return int(Path("/proc/self/statm").read_text().split()[1])

    def many(count):
        for number in range(count):
            guard.run(database, f"SELECT {number}, text FROM t LIMIT 100")

    many(300)
    before = resident_pages()
    many(900)
    assert (resident_pages() - before) * os.sysconf("SC_PAGE_SIZE") < 4 * 2**20


# Life and death of workers


def test_a_worker_outlives_the_thread_that_first_needed_it(database):
    with SqlGuard(workers=1) as guard:
        thread = threading.Thread(target=guard.run, args=(database, "SELECT 1"))
        thread.start()
        thread.join()
        pid = pid_of(guard)
        time.sleep(0.1)
        assert guard.run(database, "SELECT 2").rows == ((2,),)
        assert pid_of(guard) == pid


def test_a_query_out_of_time_costs_no_worker(database):
    with SqlGuard(workers=1, limits=SqlLimits(timeout_s=0.3)) as guard:
        guard.run(database, "SELECT 1")
        pid = pid_of(guard)
        assert guard.run(database, ENDLESS).status == "timeout"
        assert pid_of(guard) == pid


def test_a_worker_ends_itself_in_an_opcode_that_never_yields(database):
    worker = Worker(memory_mb=256)
    slot = Slot(worker)
    try:
        worker.receive(wait_s=30)
        request = {"database": str(database), "sql": "SELECT length(printf('%.*c', 900000000, 'x'))", "timeout_s": 0.1}
        caps = {"max_rows": 1, "max_cell_bytes": 10_000_000, "max_output_bytes": 1000}
        with pytest.raises(WorkerDied) as death:
            worker.ask({**request, **caps}, wait_s=30, max_bytes=10_000)
        assert death.value.returncode == -signal.SIGALRM
    finally:
        slot.clear()


def test_a_reply_longer_than_any_honest_one_is_not_read(database, monkeypatch):
    with SqlGuard(workers=1) as guard:
        guard.run(database, "SELECT 1")
        monkeypatch.setattr(sql_guard, "JSON_ENVELOPE_BYTES", 0)
        with pytest.raises(InfraError, match="announced"):
            guard.run(database, "SELECT 1", SqlLimits(max_output_bytes=1))
        assert guard.slots[0].worker is None


def test_an_interrupted_query_leaves_no_answer_to_the_next(database):
    class Interrupted(Exception):
        pass

    def interrupt(*_):
        raise Interrupted

    previous = signal.signal(signal.SIGALRM, interrupt)
    try:
        with SqlGuard(workers=1, limits=SqlLimits(timeout_s=1)) as guard:
            guard.run(database, "SELECT 1")
            signal.setitimer(signal.ITIMER_REAL, 0.3)
            with pytest.raises(Interrupted):
                guard.run(database, ENDLESS)
            for number in range(3):
                assert guard.run(database, f"SELECT {number}").rows == ((number,),)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


def test_an_idle_worker_killed_from_outside_is_replaced(database):
    with SqlGuard(workers=1) as guard:
        guard.run(database, "SELECT 1")
        os.kill(pid_of(guard), signal.SIGKILL)
        assert guard.run(database, "SELECT 2").rows == ((2,),)


def test_a_worker_killed_in_its_query_gets_one_more_try(database):
    with SqlGuard(workers=1, limits=SqlLimits(timeout_s=1)) as guard, ThreadPoolExecutor(1) as pool:
        running = pool.submit(guard.run, database, ENDLESS)
        os.kill(wait_until_busy(guard, database), signal.SIGKILL)
        assert running.result().status == "timeout"
        assert guard.run(database, "SELECT 2").rows == ((2,),)


def test_a_query_that_loses_two_workers_is_at_fault(database):
    with SqlGuard(workers=1, limits=SqlLimits(timeout_s=20)) as guard, ThreadPoolExecutor(1) as pool:
        running = pool.submit(guard.run, database, ENDLESS)
        first = wait_until_busy(guard, database)
        os.kill(first, signal.SIGKILL)
        os.kill(wait_until_busy(guard, database, other_than=first), signal.SIGKILL)
        assert running.result().status == "memory"


def test_a_worker_that_answers_nothing_is_killed_from_outside(database):
    with SqlGuard(workers=1, limits=SqlLimits(timeout_s=0.2)) as guard:
        guard.run(database, "SELECT 1")
        stopped = pid_of(guard)
        os.kill(stopped, signal.SIGSTOP)
        assert guard.run(database, "SELECT 1").status == "timeout"
        assert has_ended(stopped)
        assert guard.run(database, "SELECT 2").rows == ((2,),)


def test_a_worker_that_cannot_start_is_an_infrastructure_error(database, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with SqlGuard(workers=1) as guard, pytest.raises(InfraError, match="does not start"):
        guard.run(database, "SELECT 1")


@pytest.mark.parametrize("moment", ["idle", "in a query"])
def test_workers_end_with_a_killed_parent(database, moment):
    program = f"""
import os, signal, sys, threading, time
from pathlib import Path
from helpseek.environments.sql_guard import SqlGuard
guard = SqlGuard(workers=1)
guard.run(Path(sys.argv[1]), "SELECT 1")
if {moment == "in a query"}:
    threading.Thread(target=guard.run, args=(Path(sys.argv[1]), {ENDLESS!r}), daemon=True).start()
    time.sleep(0.5)
print(guard.slots[0].worker.process.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run([sys.executable, "-c", program, str(database)], capture_output=True, text=True, check=False)
    assert has_ended(int(done.stdout))


def test_a_worker_has_an_empty_environment_its_own_session_and_no_foreign_files(guard, database):
    inherited = os.open(database, os.O_RDONLY)
    os.set_inheritable(inherited, True)
    try:
        with SqlGuard(workers=1) as fresh:
            fresh.run(database, "SELECT 1")
            process = Path(f"/proc/{pid_of(fresh)}")
            assert (process / "environ").read_bytes() == b""
            assert str((process / "cwd").readlink()) == "/"
            assert os.getsid(pid_of(fresh)) == pid_of(fresh)
            opened = [str(file.readlink()) for file in (process / "fd").iterdir()]
            assert opened.count(str(database)) == 1, "its own connection only"
    finally:
        os.close(inherited)


def test_closing_ends_every_worker_and_may_be_repeated(database):
    guard = SqlGuard(workers=3)
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda _: guard.run(database, "SELECT 1"), range(30)))
    processes = [slot.worker.process for slot in guard.slots if slot.worker]
    guard.close()
    guard.close()
    assert processes
    assert all(process.poll() is not None for process in processes)
    with pytest.raises(InfraError, match="closed"):
        guard.run(database, "SELECT 1")


@pytest.mark.parametrize("moment", ["starting", "in a query"])
def test_closing_does_not_wait_for_queries(database, moment):
    guard = SqlGuard(workers=1, limits=SqlLimits(timeout_s=20))
    with ThreadPoolExecutor(4) as pool:
        running = [pool.submit(guard.run, database, ENDLESS) for _ in range(4)]
        pid = wait_for(lambda: guard.slots[0].worker).process.pid
        if moment == "in a query":
            wait_until_busy(guard, database)
        start = time.monotonic()
        guard.close()
        for future in running:
            with pytest.raises(InfraError, match="closed"):
                future.result()
        assert time.monotonic() - start < 2
    assert has_ended(pid)
