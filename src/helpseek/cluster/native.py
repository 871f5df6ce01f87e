"""The native specification of a DRMAA job: Snakemake's resources in the spelling of slurm-drmaa or of Grid Engine.

A rule asks in logical units (gpu, mem_mb, runtime, nodes, tasks); a profile's `default-resources` name the site.
slurm-drmaa reads fewer spellings than sbatch, and some of them otherwise; they are all here and nowhere else:
a bare number after `-t` is refused and `5:00` is five hours; a GPU needs `gres:` twice; `--gpus` and `--export` do not
exist; an output path given beside the native specification is taken for a folder.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Literal

from helpseek.errors import UserError, nearest

System = Literal["slurm", "sge"]
SYSTEMS: tuple[System, ...] = ("slurm", "sge")

# One word that no shell and no option reader takes apart. A leading `-` would make an option of a value.
WORD = re.compile(r"[A-Za-z0-9_./@%][A-Za-z0-9_.,:=@%/+-]*")
# Slurm combines features with these.
CONSTRAINT = re.compile(r"[A-Za-z0-9_(\[][A-Za-z0-9_.,:=@*&|()\[\]-]*")
OPTIONS = re.compile(r"[A-Za-z0-9_.,:=@%/+*&|()\[\]-]+")
# Where the number of the batch job goes in a log's path; Slurm's spelling.
JOB_NUMBER = "%j"
# Options that a site cannot add, with what to write instead.
REFUSED_EXTRA: Mapping[System, Mapping[str, str]] = {
    "slurm": {
        "--gpus": "slurm-drmaa does not know it; use the resource gpu",
        "-G": "slurm-drmaa does not know it; use the resource gpu",
        "--export": "slurm-drmaa does not know it; the whole environment is exported anyway",
        "-t": "use the resource runtime, in minutes",
        "--time": "use the resource runtime, in minutes",
        "-o": "the executor names the log",
        "--output": "the executor names the log",
    },
    "sge": {"-o": "the executor names the log", "-j": "the executor names the log"},
}


def native_specification(resources: Mapping[str, object], threads: int, log: str, *, system: System) -> str:
    """Return the options of one job as one line.

    `resources`: runtime in minutes, mem_mb in megabytes a job, gpu, nodes and tasks as counts; the site's names
    slurm_partition, slurm_account, gpu_partition (instead of the former for a job with GPUs), gpu_model, qos,
    constraint (Slurm), sge_pe and sge_memory (Grid Engine), and native_extra, which is added as it is. Absent, None, 0
    and '' all mean "not asked for". `log`: path of the job's output, `%j` in it becomes the job's number.

    Raises `UserError` naming the resource when a value is no count or holds a character that could be read as
    another option or by a shell.
    """
    spell = _slurm if system == "slurm" else _sge
    if not WORD.fullmatch(log):
        raise UserError(f"log {log!r}: expected a path without spaces, quotes or shell characters")
    return " ".join([*spell(resources, threads, log), *_extra(resources, system)])


def system_of(resources: Mapping[str, object], drm: str) -> System:
    """The system that the resource drmaa_system names, else the one that a DRMAA library calls itself (`drm`)."""
    named = _word(resources, "drmaa_system")
    found = [system for system in SYSTEMS if system == named or (not named and system in drm.lower())]
    if not found:
        named = named or drm
        raise UserError(f"resource drmaa_system: {named!r} is none of {', '.join(SYSTEMS)}{nearest(named, SYSTEMS)}")
    return found[0]


def _slurm(resources: Mapping[str, object], threads: int, log: str) -> Iterator[str]:
    gpus, model = _count(resources, "gpu"), _word(resources, "gpu_model")
    partition = (gpus and _word(resources, "gpu_partition")) or _word(resources, "slurm_partition")
    minutes, megabytes = _count(resources, "runtime"), _count(resources, "mem_mb")
    nodes, tasks = _count(resources, "nodes"), _count(resources, "tasks")
    if partition:
        yield f"-p {partition}"
    if account := _word(resources, "slurm_account"):
        yield f"-A {account}"
    if minutes:
        yield f"-t {_clock(minutes)}"
    if megabytes:
        yield f"--mem={megabytes}"
    yield f"-c {threads}"
    if gpus:
        yield "--gres=gres:" + ":".join(["gpu", *([model] if model else []), str(gpus)])
    if nodes:
        yield f"-N {nodes}"
    if tasks:
        yield f"-n {tasks}"
    if qos := _word(resources, "qos"):
        yield f"--qos={qos}"
    if constraint := _word(resources, "constraint", CONSTRAINT):
        yield f"--constraint={constraint}"
    yield f"-o {log}"


def _sge(resources: Mapping[str, object], threads: int, log: str) -> Iterator[str]:
    # The submitting environment, as Slurm passes it by itself.
    yield "-V"
    minutes, megabytes, gpus = _count(resources, "runtime"), _count(resources, "mem_mb"), _count(resources, "gpu")
    # All on one host; several hosts need a parallel environment of the site, by native_extra.
    slots = threads * (_count(resources, "tasks") or 1)
    asked = {
        "h_rt": _clock(minutes) if minutes else "",
        # Resident memory by default, which every Grid Engine knows: h_vmem counts address space, of which torch takes
        # many times what it uses, and mem_free is refused at submission where the site has not made it a consumable.
        # A limit holds for each slot.
        _word(resources, "sge_memory") or "h_rss": f"{-(-megabytes // slots)}M" if megabytes else "",
        "gpu": str(gpus or ""),
    }
    if any(asked.values()):
        yield "-l " + ",".join(f"{name}={value}" for name, value in asked.items() if value)
    if slots > 1:
        yield f"-pe {_word(resources, 'sge_pe') or 'smp'} {slots}"
    yield f"-o {log.replace(JOB_NUMBER, '$JOB_ID')} -j y"


def _extra(resources: Mapping[str, object], system: System) -> Iterator[str]:
    for option in str(resources.get("native_extra") or "").split():
        if not OPTIONS.fullmatch(option):
            raise UserError(f"resource native_extra: {option!r} holds a character that is not allowed in an option")
        name = option.partition("=")[0]
        if reason := REFUSED_EXTRA[system].get(name):
            raise UserError(f"resource native_extra: {name} cannot be given here: {reason}")
        yield option


def _clock(minutes: int) -> str:
    return f"{minutes // 60}:{minutes % 60:02d}:00"


def _count(resources: Mapping[str, object], name: str) -> int:
    value = resources.get(name)
    text = str(value or 0).strip()
    if isinstance(value, bool) or not re.fullmatch(r"[0-9]+", text, re.ASCII):
        raise UserError(f"resource {name}: expected a whole number, not {value!r}")
    return int(text)


def _word(resources: Mapping[str, object], name: str, allowed: re.Pattern[str] = WORD) -> str:
    value = resources.get(name)
    text = "" if value is None else str(value)
    if text and not allowed.fullmatch(text):
        raise UserError(f"resource {name}: expected one word without spaces, quotes or shell characters, not {value!r}")
    return text
