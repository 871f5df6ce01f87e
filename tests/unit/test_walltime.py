"""Save and leave: SIGTERM and a near time limit are seen, and a shard keeps what it has."""

import os
import signal
import stat
import subprocess
import sys
import time

import pytest

from helpseek.cluster.scheduler import own_job, parse_duration, time_left_s
from helpseek.cluster.walltime import EXIT_CODE, leave_in_time


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("5:00", 300),
        ("1:00:00", 3600),
        ("2-03:04:05", 183845),
        ("0:00", 0),
        ("UNLIMITED", None),
        ("INVALID", None),
        ("", None),
        ("NOT_SET", None),
    ],
)
def test_slurms_durations(text, seconds):
    assert parse_duration(text) == seconds


@pytest.fixture
def squeue(tmp_path, monkeypatch):
    def answer(text):
        program = tmp_path / "squeue"
        program.write_text(f"#!/bin/sh\necho '{text}'\n")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)

    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    return answer


def test_time_left(squeue, monkeypatch):
    squeue("1:40")
    assert time_left_s() == 100
    assert own_job() == "slurm:7"
    squeue("")
    assert time_left_s() is None
    monkeypatch.delenv("SLURM_JOB_ID")
    assert time_left_s() is None
    assert own_job() == ""
    monkeypatch.setenv("JOB_ID", "9")
    assert own_job() == "sge:9"


def test_leaves_before_the_limit(squeue):
    squeue("0:01")
    start = time.monotonic()
    with leave_in_time() as leave:
        assert leave.wait(5)
    assert 0.5 < time.monotonic() - start < 2
    squeue("10:00:00")
    with leave_in_time() as leave:
        assert not leave.wait(0.2)


def test_sigterm_asks_once_and_kills_the_second_time():
    with leave_in_time() as leave:
        os.kill(os.getpid(), signal.SIGTERM)
        assert leave.wait(2)
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_leaving_for_a_retry_does_not_wait_for_threads():
    code = (
        "import threading, time\nfrom helpseek.cluster.walltime import exit_for_retry\n"
        "threading.Thread(target=time.sleep, args=(60,)).start()\nexit_for_retry('saved 3 of 9')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=20, check=False)
    assert done.returncode == EXIT_CODE
    assert done.stderr == "saved 3 of 9\n"
