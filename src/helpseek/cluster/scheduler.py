"""The batch job this process runs in, and what its scheduler says about jobs."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass

QUERY_TIMEOUT_S = 30
# Slurm and Grid Engine name the job of a process like this.
JOB_VARIABLES = {"SLURM_JOB_ID": "slurm", "JOB_ID": "sge"}


def own_job(environment: Mapping[str, str] = os.environ) -> str:
    """`slurm:ID` or `sge:ID` of the batch job around this process; empty outside one."""
    return next((f"{kind}:{environment[name]}" for name, kind in JOB_VARIABLES.items() if environment.get(name)), "")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command said; `code` is None when it is absent or did not end in time, and `text` says so."""

    code: int | None
    text: str
    output: str = ""

    @property
    def ok(self) -> bool:
        return self.code == 0


def ask(*command: str, timeout_s: float = QUERY_TIMEOUT_S) -> Answer:
    """Run a command that may be absent, fail or hang. `text` is its output and errors together."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout_s, check=False)
    except subprocess.TimeoutExpired:
        return Answer(None, f"no answer within {timeout_s:.0f} s")
    except OSError as error:
        return Answer(None, f"{command[0]}: {error.strerror}")
    return Answer(done.returncode, " ".join((done.stdout + " " + done.stderr).split()), done.stdout)


def query(*command: str, timeout_s: float = QUERY_TIMEOUT_S) -> str | None:
    """Output of a scheduler's command; None when it is absent, fails, or does not answer in time."""
    answer = ask(*command, timeout_s=timeout_s)
    return answer.output if answer.ok else None


def job_is_alive(job: str) -> bool | None:
    """Whether `slurm:ID` is queued or running; None when no scheduler can say."""
    kind, _, number = job.partition(":")
    if kind != "slurm" or not number:
        return None
    # Asked by id, squeue fails for a job that it has forgotten; asked for all, it fails only when Slurm is down.
    listed = query("squeue", "--noheader", "--states=PD,R,CF,CG,S,ST,RQ,SI,SO,RH,RS", "--format=%A %i")
    return None if listed is None else number in listed.split()


def time_left_s(environment: Mapping[str, str] = os.environ) -> float | None:
    """Seconds until Slurm ends the job around this process; None outside Slurm or without a limit."""
    number = environment.get("SLURM_JOB_ID")
    answer = query("squeue", "--noheader", f"--jobs={number}", "--format=%L") if number else None
    return parse_duration(answer.split()[0]) if answer and answer.split() else None


def parse_duration(text: str) -> float | None:
    """Seconds of Slurm's `[days-][hours:]minutes:seconds`; None for UNLIMITED and whatever else is no duration."""
    found = re.fullmatch(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+)", text.strip())
    if not found:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in found.groups())
    return float(((days * 24 + hours) * 60 + minutes) * 60 + seconds)
