"""Would Slurm take this profile's jobs, and would the workflow see them end?"""

from __future__ import annotations

import getpass
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from helpseek.cluster.doctor.findings import Finding, error, ok, skipped, warning
from helpseek.cluster.doctor.profile import SLURM_EXECUTORS, Profile
from helpseek.cluster.scheduler import ask, parse_duration
from helpseek.cluster.slurm import slurm_resources
from helpseek.errors import UserError, nearest

PROGRAMS = ("sbatch", "squeue", "scancel", "scontrol", "sinfo", "srun")
DEFAULT_CONFS = (Path("/etc/slurm/slurm.conf"), Path("/run/slurm/conf/slurm.conf"))
# The executor looks at its jobs this rarely when nothing ends.
LONGEST_PAUSE_S = 180
LEAST_MEMORY_MB = 1000


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition of `sinfo`: its longest job in minutes (None: no limit), and its generic resources."""

    limit: float | None
    gres: str


def check_slurm(profile: Profile) -> Iterator[Finding]:
    """Findings about Slurm and, where the profile uses it, about the profile."""
    used = profile.executor in SLURM_EXECUTORS
    absent = [program for program in PROGRAMS if shutil.which(program) is None]
    if absent:
        found = f"{', '.join(absent)} not found"
        fix = "run this on a login node of the cluster, or load its module (often `module load slurm`)"
        yield error("Slurm", found, fix) if used else skipped("Slurm", f"{found}; needed only for a Slurm profile")
        return
    answer = ask("scontrol", "show", "config")
    if not answer.ok:
        fix = (
            "ask whether slurmctld is up: `scontrol ping`; SLURM_CONF must name the cluster's slurm.conf, if it is set"
        )
        found = f"slurmctld does not answer: {answer.text[:200]}"
        yield error("Slurm", found, fix) if used else skipped("Slurm", found)
        return
    slurm = parse_config(answer.output)
    yield ok("Slurm", f"version {slurm.get('SLURM_VERSION', 'unknown')} answers")
    if used:
        yield from check_settings(profile, slurm)
        yield from check_conf(profile)
        yield from check_site(profile, slurm)
    else:
        yield skipped("Slurm profile", "no Slurm profile given; add `--profile profiles/slurm` to check one")


def parse_config(shown: str) -> dict[str, str]:
    """`scontrol show config` as a map."""
    pairs = (line.partition("=") for line in shown.splitlines() if "=" in line)
    return {name.strip(): value.strip() for name, _, value in pairs}


def parse_partitions(listed: str) -> dict[str, Partition]:
    """`sinfo -h -o %R|%l|%G`: partition -> limit and generic resources of all its nodes."""
    found: dict[str, Partition] = {}
    for line in listed.splitlines():
        name, limit, gres = line.strip().split("|", 2)
        minutes = None if limit in ("infinite", "n/a") else (parse_duration(limit) or 0) / 60
        before = found[name].gres if name in found else ""
        found[name] = Partition(minutes, ",".join(part for part in (before, gres) if part and part != "(null)"))
    return found


def check_settings(profile: Profile, slurm: Mapping[str, str]) -> Iterator[Finding]:
    """Would the workflow see its jobs end, and run them again?"""
    key = f"{profile.executor}-status-command"
    accounting = "slurmdbd" in slurm.get("AccountingStorageType", "none")
    status = profile.setting("status-command") or ("sacct" if shutil.which("sacct") else "squeue")
    if status != "squeue":
        found = "cancelled jobs are never noticed" if accounting else "accounting is off, so no job's end is ever seen"
        report = warning if accounting else error
        yield report("status command", f"{status}: {found}", f"set `{key}: squeue` in {profile.path}")
    else:
        remembered = re.match(r"\d+", slurm.get("MinJobAge", ""))
        if remembered and int(remembered[0]) <= LONGEST_PAUSE_S:
            found = f"Slurm forgets jobs {remembered[0]} s after their end, and the executor may look every 180 s"
            fix = f"set `{key}: sacct` in {profile.path}" if accounting else "ask for MinJobAge=300 in slurm.conf"
            yield error("status command", found, fix)
        else:
            yield ok("status command", "squeue")
    yield ok("accounting", "slurmdbd") if accounting else ok("accounting", "off, which squeue does not need")
    if not profile.setting("no-requeue"):
        found = "Slurm queues a lost node's jobs again, beside the workflow"
        yield warning("requeue", found, f"set `{profile.executor}-no-requeue: true` in {profile.path}")
    if not profile.settings.get("retries"):
        found = "a job that leaves before its time limit is not submitted again"
        yield warning("retries", found, f"set `retries: 3` in {profile.path}")
    if profile.setting("array-jobs") and int(profile.settings.get("jobs") or 0) < 300:
        found = f"`jobs: {profile.settings.get('jobs')}` with job arrays: the executor waits for ever for the others"
        yield error("job arrays", found, f"set `jobs: 1000` in {profile.path}")
    if profile.minutes("mem_mb") < LEAST_MEMORY_MB:
        found = f"mem_mb {profile.resources.get('mem_mb')}: Snakemake alone may take more"
        yield error("memory", found, f"set `mem_mb: {LEAST_MEMORY_MB}` in `default-resources` of {profile.path}")


def check_conf(profile: Profile) -> Iterator[Finding]:
    """Would a job's own step find the cluster?"""
    steps = profile.executor == "slurm" or profile.setting("array-jobs")
    if steps and os.environ.get("SLURM_CONF") and not any(conf.exists() for conf in DEFAULT_CONFS):
        found = "SLURM_CONF is set, jobs start their steps without it, and no slurm.conf is in a default place"
        fix = f"have {DEFAULT_CONFS[0]} link to {os.environ['SLURM_CONF']} on every node, or use no job arrays"
        yield error("slurm.conf", found, fix)


def check_site(profile: Profile, slurm: Mapping[str, str]) -> Iterator[Finding]:
    """Would each kind of job be taken?"""
    partitions = parse_partitions(ask("sinfo", "--noheader", "--format=%R|%l|%G").output)
    yield from _check_account(profile, slurm)
    for kind, gpus in (("", 0), ("gpu_", 1)):
        subject = "GPU jobs" if gpus else "jobs"
        name = profile.word(f"{kind}partition" if gpus else "slurm_partition") or profile.word("slurm_partition")
        key = f"{kind}partition" if gpus else "slurm_partition"
        if name and name not in partitions:
            known = ", ".join(sorted(partitions))
            fix = f"set `{key}` in {profile.path} to one of: {known}"
            # The work without GPUs may still run.
            report = warning if gpus else error
            yield report(subject, f"no partition `{name}`{nearest(name, partitions)}", fix)
            continue
        if name:
            yield from _check_partition(profile, subject, name, partitions[name], gpus)
        yield _test_submission(profile, subject, gpus)


def _check_account(profile: Profile, slurm: Mapping[str, str]) -> Iterator[Finding]:
    account = profile.word("slurm_account")
    if "slurmdbd" not in slurm.get("AccountingStorageType", "none"):
        yield skipped("account", f"`{account}` is not checked: Slurm without accounting ignores it")
        return
    shown = ask("sacctmgr", "-nP", "show", "assoc", f"user={getpass.getuser()}", "format=account")
    known = sorted({line.strip() for line in shown.output.splitlines() if line.strip()})
    if not shown.ok or not known:
        yield warning(
            "account", f"your accounts are not shown: {shown.text[:150]}", "ask the site which account to use"
        )
    elif account not in known:
        fix = f"set `slurm_account` in {profile.path} to one of: {', '.join(known)}"
        yield error("account", f"`{account}` is not yours{nearest(account, known)}", fix)
    else:
        yield ok("account", account)


def _check_partition(profile: Profile, subject: str, name: str, partition: Partition, gpus: int) -> Iterator[Finding]:
    limit_key = "gpu_max_runtime" if gpus else "max_runtime"
    limit = profile.minutes(limit_key)
    if partition.limit is not None and (not limit or limit > partition.limit):
        asked = f"`{limit_key}` is {limit or 'no limit'}"
        found = f"partition `{name}` takes {partition.limit:.0f} minutes at most, and {asked}"
        fix = (
            f"set `{limit_key}: {partition.limit:.0f}` in {profile.path}; longer jobs would be refused or wait for ever"
        )
        yield error(subject, found, fix)
    if not gpus:
        return
    if "gpu" not in partition.gres:
        yield warning(
            subject, f"partition `{name}` has no GPUs ({partition.gres or 'no generic resources'})", _gpu_fix(profile)
        )
    elif (model := profile.word("gpu_type")) and f"gpu:{model}" not in partition.gres:
        models = sorted(set(re.findall(r"gpu:([A-Za-z]\w*)", partition.gres)))
        known = f"one of: {', '.join(models)}" if models else "''"
        fix = f"set `gpu_type` in {profile.path} to {known}"
        yield warning(subject, f"no GPUs `{model}` in partition `{name}`{nearest(model, models)}", fix)


def _gpu_fix(profile: Profile) -> str:
    return f"set `gpu_partition` in {profile.path} to one with GPUs: `sinfo -o '%R %G'` lists them"


def _test_submission(profile: Profile, subject: str, gpus: int) -> Finding:
    """Slurm's own word, through `sbatch --test-only`."""
    try:
        asked = slurm_resources({**profile.resources, "gpu": gpus, "nodes": 0, "tasks": 0})
    except UserError as mistake:
        return error(subject, str(mistake), f"change it in `default-resources` of {profile.path}")
    options = [
        *_option("--account", profile.word("slurm_account")),
        *_option("--partition", asked["slurm_partition"]),
        *_option("--time", asked["runtime"]),
        *_option("--mem", profile.resources.get("mem_mb")),
        *_option("--qos", asked["qos"]),
        *_option("--constraint", asked["constraint"]),
        *_option("--gres", asked["gres"]),
        *_option("--gpus", asked["gpu"] and ":".join(str(part) for part in (asked["gpu_model"], asked["gpu"]) if part)),
    ]
    answer = ask("sbatch", "--test-only", *options, "--wrap=true")
    # Some versions refuse with exit code 0.
    if answer.ok and "allocation failure" not in answer.text:
        return ok(subject, f"taken: sbatch {' '.join(options)}")
    by_hand = f"sbatch --test-only {' '.join(options)} --wrap=true"
    fix = f"change `default-resources` in {profile.path}; by hand: {by_hand}"
    return (warning if gpus else error)(subject, f"refused: {answer.text[:300]}", fix)


def _option(name: str, value: object) -> list[str]:
    return [f"{name}={value}"] if value not in (None, "", 0) else []
