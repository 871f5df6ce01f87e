"""A Slurm on this host for tests: starting it, workflows on it, and what to check after each."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

from helpseek.cluster.scheduler import query

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PATIENCE_S = 150
PROGRAMS = ("slurmctld", "slurmd", "sbatch", "munged")
ACCOUNTING_PROGRAMS = ("slurmdbd", "mariadbd")
EPISODES = 12


@contextmanager
def running_slurm(folder: Path, accounting: bool) -> Iterator[None]:
    """A Slurm under `folder`; skips where its programs are absent or the user is not root."""
    needed = PROGRAMS + (ACCOUNTING_PROGRAMS if accounting else ())
    if missing := [
        program for program in needed if shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin") is None
    ]:
        pytest.skip(
            f"{', '.join(missing)} not installed (Debian: slurmctld slurmd slurm-client munge slurmdbd mariadb-server)"
        )
    if os.geteuid() != 0:
        pytest.skip("a Slurm of the test's own needs root")
    try:
        subprocess.run([HERE / "slurm-up", folder, *(["accounting"] if accounting else [])], check=True, timeout=90)
        yield
    finally:
        subprocess.run([HERE / "slurm-down", folder], check=False, timeout=60)


def profile(folder: Path, name: str = "slurm", /, without: tuple[str, ...] = (), **changes: Any) -> Path:
    """A copy of a shipped profile in `folder`: `default_resources` are merged, other keys replaced, some left out."""
    settings = yaml.safe_load((ROOT / "profiles" / name / "config.yaml").read_text())
    resources = settings["default-resources"] | {"slurm_account": "lab"} | changes.pop("default_resources", {})
    settings |= {key.replace("_", "-"): value for key, value in changes.items()}
    settings |= {
        "default-resources": resources,
        "helpseek-slurm-init-seconds-before-status-checks": 1,
        "latency-wait": 10,
    }
    path = folder / "profile"
    path.mkdir(exist_ok=True)
    (path / "config.yaml").write_text(yaml.safe_dump({key: settings[key] for key in settings if key not in without}))
    return path


@dataclass(frozen=True, slots=True)
class Workflow:
    """A working directory, its configuration, and Snakemake on it."""

    folder: Path
    config: Path

    def command(self, *arguments: str, snakefile: Path = ROOT / "Snakefile") -> list[str]:
        snakemake = [sys.executable, "-m", "snakemake", "-s", str(snakefile), "--directory", str(self.folder)]
        return [*snakemake, *arguments, "--configfile", str(self.config)]

    def start(self, *arguments: str, **options: Any) -> subprocess.Popen[str]:
        """Snakemake in the background; what it says is in `said`."""
        with (self.folder / "said.txt").open("a") as said:
            return subprocess.Popen(self.command(*arguments, **options), stdout=said, stderr=said, text=True)

    def run(self, *arguments: str, patience_s: float = PATIENCE_S, **options: Any) -> int:
        """Snakemake to its end; its exit code. Fails the test when it hangs."""
        return ended(self.start(*arguments, **options), patience_s)

    @property
    def said(self) -> str:
        return (self.folder / "said.txt").read_text()

    @property
    def journalled(self) -> list[str]:
        """Episode ids in the journals, one for each time an episode was run to its end."""
        lines = [line for path in self.folder.glob("results/episodes/**/*.jsonl") for line in path.open()]
        return [json.loads(line)["episode"]["episode_id"] for line in lines if line.endswith("\n")]

    def wait_for_episodes(self, number: int = 2) -> None:
        wait_until(lambda: len(self.journalled) >= number, f"{number} episodes in {self.folder}: {self.said[-2000:]}")

    def jobs(self, *states: str) -> list[tuple[str, ...]]:
        """Slurm's record of this directory's jobs: number, state, memory, node, comment."""
        listed = query("squeue", "-h", "-r", "-t", ",".join(states) or "all", "-o", "%i|%T|%m|%N|%Z|%k") or ""
        cells = [line.split("|") for line in listed.splitlines()]
        return [(*row[:4], row[5]) for row in sorted(cells, key=_by_number) if row[4] == str(self.folder)]

    def evaluations(self) -> list[tuple[str, ...]]:
        return [job for job in self.jobs() if "evaluate" in job[4]]

    def gpus(self) -> list[int]:
        """GPUs that each evaluation got, as Slurm took the request."""
        shown = [query("scontrol", "show", "job", job[0]) or "" for job in self.evaluations()]
        return [int(found[1]) for text in shown if (found := re.search(r"TresPer\w+=gres:gpu:(?:\D\w*:)?(\d+)", text))]

    def check_complete(self) -> None:
        """Every episode is there once and was run once; no job, process or lock is left."""
        assert len(self.journalled) == EPISODES, self.said[-3000:]
        assert [count for count in Counter(self.journalled).values() if count > 1] == []
        tables = [pd.read_parquet(path) for path in self.folder.glob("results/episodes/*/*/*/?.parquet")]
        assert sorted(pd.concat(tables).episode_id) == sorted(self.journalled)
        self.check_nothing_is_left()

    def check_nothing_is_left(self) -> None:
        wait_until_none(lambda: self.jobs("PD", "R", "CG"))
        wait_until_none(lambda: processes_in(self.folder))
        assert not list(self.folder.glob("results/**/*.lock"))


def _by_number(cells: list[str]) -> tuple[int, int]:
    job, _, task = cells[0].partition("_")
    return int(job), int(task or 0)


def ended(process: subprocess.Popen[str], patience_s: float = PATIENCE_S) -> int:
    try:
        return process.wait(patience_s)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def processes_in(folder: Path) -> list[str]:
    """Command lines of the processes that work in `folder`."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cwd").readlink() == folder:
                found.append((process / "cmdline").read_text().replace("\0", " "))
        except OSError:
            continue
    return found


def wait_until(condition: Callable[[], Any], what: str, patience_s: float = PATIENCE_S) -> None:
    deadline = time.monotonic() + patience_s
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {patience_s:.0f} s: {what}")
        time.sleep(0.3)


def wait_until_none(left: Callable[[], list[Any]], patience_s: float = 30) -> None:
    deadline = time.monotonic() + patience_s
    while found := left():
        assert time.monotonic() < deadline, f"left after {patience_s:.0f} s: {found}"
        time.sleep(0.3)


def scontrol(*arguments: str) -> None:
    assert query("scontrol", *arguments) is not None, arguments


def without_traceback(text: str) -> bool:
    return not re.search(r"^Traceback", text, re.MULTILINE)
