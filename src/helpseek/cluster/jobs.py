"""The Slurm jobs of one working directory, those of a master that is gone included.

A Snakemake that was killed leaves its jobs running, and its successor submits them a second time. Shards are locked, so
nothing is written twice; but the second job waits in an allocation of its own. Better to settle the orphans first.
"""

from __future__ import annotations

import getpass
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from helpseek.cluster.master import living_master
from helpseek.cluster.scheduler import query
from helpseek.errors import UserError

# Free text comes last, so that nothing in it can shift another field.
FORMAT = "%i|%T|%M|%l|%R|%V|%j|%Z|%k"
ENDED = {"COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED", "BOOT_FAIL"}
POLL_S = 5.0


@dataclass(frozen=True, slots=True)
class ClusterJob:
    """One job as `squeue` shows it. `elapsed` and `limit` are Slurm's [days-]h:m:s; `where` is its nodes, or why
    it waits; `work` is rule and wildcards."""

    number: str
    state: str
    elapsed: str
    limit: str
    where: str
    work: str
    orphan: bool

    @property
    def ended(self) -> bool:
        return self.state in ENDED


def workflow_jobs(folder: Path, *, ended: bool = False) -> list[ClusterJob]:
    """This user's jobs whose working directory is `folder`; with `ended`, those that Slurm still remembers too.

    Raises `UserError` when Slurm does not answer.
    """
    states = "all" if ended else "PD,R,CF,CG,S,ST,RQ,SI,SO,RH,RS"
    listed = query(
        "squeue", "--noheader", "--array", f"--user={getpass.getuser()}", f"--states={states}", f"--format={FORMAT}"
    )
    if listed is None:
        raise UserError("squeue does not answer; run this where jobs are submitted (`helpseek doctor` says more)")
    master = living_master(folder)
    return parse_jobs(listed, folder, master[1] if master else None)


def parse_jobs(listed: str, folder: Path, master_since: float | None) -> list[ClusterJob]:
    """Jobs of `folder` in squeue's lines of `FORMAT`; orphans are those submitted before `master_since` (or all)."""
    jobs = []
    for line in listed.splitlines():
        number, state, elapsed, limit, where, submitted, name, workdir, comment = line.strip().split("|", 8)
        # The Slurm executor puts the rule in the comment, DRMAA executors name the jobscript.
        if not (comment.startswith(("rule_", "group_")) or name.startswith("snakejob.")):
            continue
        if Path(workdir).resolve() != folder.resolve():
            continue
        orphan = master_since is None or datetime.fromisoformat(submitted).timestamp() < int(master_since)
        work = comment if comment.startswith(("rule_", "group_")) else name
        work = work.removeprefix("rule_").replace("_wildcards_", " ")
        jobs.append(ClusterJob(number, state, elapsed, limit, where, work, orphan))
    return jobs


def cancel(jobs: Collection[ClusterJob]) -> None:
    """End `jobs`: SIGTERM first, so that a shard saves what it has. Raises `UserError` when Slurm refuses."""
    if jobs and query("scancel", *(job.number for job in jobs)) is None:
        raise UserError("scancel failed; try it by hand: scancel " + " ".join(job.number for job in jobs))


def wait_for(
    folder: Path, jobs: Sequence[ClusterJob], tell: Callable[[str], None], poll_s: float = POLL_S
) -> list[ClusterJob]:
    """Wait until all `jobs` have ended; return them in their last known state. `tell` hears when the number changes."""
    last = {job.number: job for job in jobs}
    told = -1
    while True:
        # Slurm forgets a job some minutes after its end; the last state seen stands for it then.
        listed = {job.number: job for job in workflow_jobs(folder, ended=True)}
        last = {number: listed.get(number, job) for number, job in last.items()}
        left = sum(number in listed and not job.ended for number, job in last.items())
        if left != told:
            tell(f"{left} of {len(jobs)} jobs still wait or run")
            told = left
        if not left:
            return list(last.values())
        time.sleep(poll_s)
