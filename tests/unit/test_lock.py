"""The lock across hosts: one owner at a time, dead owners replaced, living ones waited for or refused."""

import json
import multiprocessing
import os
import socket
import stat
import subprocess
import sys
import threading
import time

import pytest

from helpseek.cluster import lock as lock_module
from helpseek.cluster.lock import FileLock, LostLock, Owner, is_gone
from helpseek.errors import UserError


@pytest.fixture
def path(tmp_path):
    return tmp_path / "shard.lock"


def owner(**changes):
    fields = {"token": "t", "host": socket.gethostname(), "pid": os.getpid(), "born": "", "job": ""}
    return Owner(**fields | changes)


def write(path, holder):
    path.write_text(json.dumps({name: getattr(holder, name) for name in Owner.__slots__}))


def test_held_then_free(path):
    with FileLock(path) as lock:
        lock.check()
        assert json.loads(path.read_text())["pid"] == os.getpid()
        with pytest.raises(UserError, match=rf"held by process {os.getpid()} on "), FileLock(path, wait=False):
            pass
    assert not list(path.parent.iterdir())


def test_a_dead_owner_on_this_host_is_replaced(path, capsys):
    done = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True)
    write(path, owner(pid=int(done.stdout), born="123"))
    with FileLock(path, wait=False) as lock:
        lock.check()
    assert "is gone; going on in its place" in capsys.readouterr().err


def test_a_reused_pid_is_not_the_owner(path):
    write(path, owner(born="1"))
    with FileLock(path, wait=False):
        pass


@pytest.mark.parametrize("content", ["", "{", "[]", '{"token": "x"}'])
def test_an_unreadable_lock_is_replaced(path, content):
    path.write_text(content)
    with FileLock(path, wait=False):
        pass


def fake_squeue(folder, script):
    program = folder / "squeue"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)


def test_another_host_is_asked_about_through_its_job(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    there = owner(host="elsewhere", job="slurm:17")
    fake_squeue(tmp_path, "echo '16 16'; echo '17 17'")
    assert not is_gone(there, age_s=1e9)
    fake_squeue(tmp_path, "echo '16 16'")
    assert is_gone(there, age_s=0)
    fake_squeue(tmp_path, "exit 1")
    assert not is_gone(there, age_s=10)
    assert is_gone(there, age_s=1e9)


def test_another_host_without_a_job_is_judged_by_its_silence():
    there = owner(host="elsewhere")
    assert not is_gone(there, age_s=10)
    assert is_gone(there, age_s=lock_module.STALE_AFTER_S + 1)


def test_a_living_owner_is_waited_for(path, capsys):
    first = FileLock(path)
    first.__enter__()
    threading.Timer(0.3, first.__exit__, (None, None, None)).start()
    with FileLock(path, wait=True, poll_s=0.05) as second:
        second.check()
    assert "waiting for process" in capsys.readouterr().err


def test_who_lost_the_lock_must_not_write(path):
    with FileLock(path) as lock:
        write(path, owner(token="other", host="elsewhere"))
        with pytest.raises(LostLock, match="taken over by process"):
            lock.check()
        path.unlink()
        with pytest.raises(LostLock, match="gone"):
            lock.check()
    write(path, owner(token="other"))


def test_leaving_does_not_remove_anothers_lock(path):
    with FileLock(path):
        write(path, owner(token="other"))
    assert json.loads(path.read_text())["token"] == "other"


def compete(path, log, rounds):
    for _ in range(rounds):
        with FileLock(path, wait=True, poll_s=0.001), log.open("a") as file:
            file.write("in\n")
            file.flush()
            time.sleep(0.001)
            file.write("out\n")


def test_many_processes_are_inside_one_at_a_time(path, tmp_path):
    write(path, owner(pid=2**22, born="1"))
    log = tmp_path / "log"
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=compete, args=(path, log, 15)) for _ in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0, 0, 0, 0]
    assert log.read_text().split() == ["in", "out"] * 60


def test_a_killed_process_leaves_a_lock_that_the_next_takes(path):
    code = (
        "from helpseek.cluster.lock import FileLock\nfrom pathlib import Path\nimport sys, time\n"
        "with FileLock(Path(sys.argv[1])):\n    print('in', flush=True)\n    time.sleep(60)"
    )
    process = subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"in\n"
    with pytest.raises(UserError, match="held by"), FileLock(path, wait=False):
        pass
    process.kill()
    process.wait()
    with FileLock(path, wait=False):
        pass
