"""`helpseek jobs`: whose jobs squeue shows, and what becomes of orphans, against a small squeue of the test's own."""

import json
import os
import subprocess
import sys
import time
from dataclasses import asdict, replace
from datetime import datetime
from pathlib import Path

import pytest

from helpseek.cluster.jobs import parse_jobs
from helpseek.cluster.lock import Owner
from helpseek.cluster.master import LOCKS, RECORD, living_master, record_master

RUN = "5d7c1936-560f-4aaf-b945-f6a053ec5ffe"


def line(number, state, folder, comment, submitted="2026-12-01T16:52:35", name=RUN):
    return f"{number}|{state}|0:06|10:00|n1|{submitted}|{name}|{folder}|{comment}\n"


def test_only_jobs_of_the_folder_s_workflow_are_listed(tmp_path):
    listed = (
        line(1, "RUNNING", tmp_path, "rule_evaluate_wildcards_m_t_tool_0")
        + line(2, "RUNNING", tmp_path / "other", "rule_evaluate_wildcards_m_t_tool_0")
        + line(3, "RUNNING", tmp_path, "(null)", name="someone's own job")
        + line(4, "PENDING", tmp_path, "(null)", name="snakejob.evaluate.7.sh")
        + line("5_2", "RUNNING", tmp_path, "group_a|b")
    )
    jobs = parse_jobs(listed, tmp_path, None)
    assert [(job.number, job.work) for job in jobs] == [
        ("1", "evaluate m_t_tool_0"),
        ("4", "snakejob.evaluate.7.sh"),
        ("5_2", "group_a|b"),
    ]
    assert all(job.orphan for job in jobs)


def test_a_job_from_before_the_living_master_is_an_orphan(tmp_path):
    listed = line(1, "RUNNING", tmp_path, "rule_a", "2026-12-01T10:00:00") + line(
        2, "RUNNING", tmp_path, "rule_b", "2026-12-01T12:00:01"
    )
    since = datetime.fromisoformat("2026-12-01T12:00:01").timestamp() + 0.5
    assert [job.orphan for job in parse_jobs(listed, tmp_path, since)] == [True, False]


def test_a_master_lives_as_long_as_its_process(tmp_path):
    assert living_master(tmp_path) is None
    record_master(tmp_path)
    owner, since = living_master(tmp_path)
    assert owner.pid == os.getpid()
    assert abs(since - time.time()) < 5
    write_master(tmp_path, replace(owner, born="1"))
    assert living_master(tmp_path) is None


def test_a_master_on_another_login_node_counts_while_its_lock_is_there(tmp_path):
    write_master(tmp_path, replace(Owner.here(), host="elsewhere", job=""))
    os.utime(tmp_path / RECORD, (0, 0))
    assert living_master(tmp_path) is None
    lock(tmp_path)
    assert living_master(tmp_path) is not None


def write_master(folder, owner):
    (folder / RECORD).parent.mkdir(exist_ok=True)
    (folder / RECORD).write_text(json.dumps(asdict(owner)))


def lock(folder):
    (folder / LOCKS).mkdir(parents=True)
    (folder / LOCKS / "0.input.lock").write_text("")


SQUEUE = """#!/bin/sh
# Job 7 runs for two calls, then ends; job 8 waits until it is cancelled.
cd "{folder}"
calls=$(cat calls 2> /dev/null || echo 0)
echo $((calls + 1)) > calls
case "$*" in *--states=all*) ended=yes ;; esac
state=RUNNING
[ "$calls" -lt 2 ] || state={end}
line='7|%s|0:06|10:00|n1|2026-12-01T16:52:35|{run}|{folder}|rule_a\\n'
[ $state = RUNNING ] || [ -n "$ended" ] && printf "$line" $state
[ -e cancelled ] || printf '8|PENDING|0:00|10:00|(Resources)|2026-12-01T16:52:35|{run}|{folder}|rule_b\\n'
exit 0
"""


@pytest.fixture
def cluster(tmp_path):
    """A function that puts commands of a small cluster on PATH; job 7 ends as asked."""

    def make(end="COMPLETED"):
        tools = tmp_path / "tools"
        tools.mkdir()
        (tools / "squeue").write_text(SQUEUE.format(folder=tmp_path, run=RUN, end=end))
        (tools / "scancel").write_text(f'#!/bin/sh\necho "$@" >> "{tmp_path}/cancelled"\n')
        for tool in tools.iterdir():
            tool.chmod(0o755)
        return dict(os.environ) | {"PATH": f"{tools}:{os.environ['PATH']}"}

    return make


def helpseek(folder, environment, *arguments):
    command = [sys.executable, "-m", "helpseek.cli", "jobs", "--directory", str(folder), *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)


def test_the_list_says_which_jobs_are_orphans(tmp_path, cluster):
    done = helpseek(tmp_path, cluster())
    assert done.returncode == 0, done.stderr
    assert "No Snakemake runs in this directory." in done.stdout
    assert [row.split() for row in done.stdout.splitlines() if row[0].isdigit()] == [
        ["7", "RUNNING", "0:06", "10:00", "n1", "orphan", "a"],
        ["8", "PENDING", "0:00", "10:00", "(Resources)", "orphan", "b"],
    ]
    assert "helpseek jobs adopt" in done.stdout


def test_adopting_waits_for_what_runs_cancels_what_waits_and_unlocks(tmp_path, cluster):
    lock(tmp_path)
    done = helpseek(tmp_path, cluster(), "adopt")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "cancelled").read_text().split() == ["8"]
    assert "1 of 1 jobs still wait or run" in done.stderr
    assert not (tmp_path / LOCKS).exists()


def test_an_orphan_that_fails_is_named_with_exit_code_1(tmp_path, cluster):
    done = helpseek(tmp_path, cluster("TIMEOUT"), "adopt")
    assert done.returncode == 1
    assert "job 7 (a) ended as TIMEOUT" in done.stderr


def test_adopting_under_a_living_master_is_refused(tmp_path, cluster):
    record_master(tmp_path)
    done = helpseek(tmp_path, cluster(), "adopt")
    assert done.returncode == 1
    assert f"process {os.getpid()}" in done.stderr
    assert not (tmp_path / "cancelled").exists()


def test_cancelling_ends_every_orphan(tmp_path, cluster):
    done = helpseek(tmp_path, cluster("CANCELLED"), "cancel")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "cancelled").read_text().split() == ["7", "8"]


def test_without_slurm_it_is_one_line(tmp_path):
    done = helpseek(tmp_path, {"PATH": str(Path("/nowhere")), "USER": "me"})
    assert done.returncode == 1
    assert "squeue does not answer" in done.stderr
    assert "Traceback" not in done.stderr
