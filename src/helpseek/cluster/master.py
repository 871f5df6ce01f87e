"""The Snakemake process that drives a working directory: who it is, whether it lives, and the lock it leaves behind."""

from __future__ import annotations

import json
import shutil
import time
from dataclasses import asdict
from pathlib import Path

from helpseek.cluster.lock import Owner, is_gone

RECORD = Path(".snakemake", "helpseek_master.json")
# What `snakemake --unlock` removes.
LOCKS = Path(".snakemake", "locks")


def record_master(folder: Path) -> None:
    """Note that this process drives the workflow in `folder`, from now on."""
    path = folder / RECORD
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(asdict(Owner.here())), encoding="utf-8")


def last_master(folder: Path) -> Owner | None:
    """The last process that drove `folder`, dead or alive; None when there was none."""
    try:
        return Owner(**json.loads((folder / RECORD).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def living_master(folder: Path) -> tuple[Owner, float] | None:
    """The process that drives `folder` and when it began (seconds since the epoch); None when none does.

    One on another host, outside a batch job, cannot be asked: it counts as living while Snakemake's lock is there.
    """
    master = last_master(folder)
    if master is None:
        return None
    began = (folder / RECORD).stat().st_mtime
    silent_for = 0.0 if is_locked(folder) else time.time() - began
    return None if is_gone(master, silent_for) else (master, began)


def is_locked(folder: Path) -> bool:
    """Whether Snakemake would refuse to run in `folder`."""
    return any((folder / LOCKS).glob("*.lock"))


def unlock(folder: Path) -> None:
    """Remove the lock of a master that is gone."""
    shutil.rmtree(folder / LOCKS, ignore_errors=True)
