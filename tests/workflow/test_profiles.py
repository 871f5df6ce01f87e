"""What the shipped profiles say, and what the paper's experiment would submit with them."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
SLURM = ["slurm", "examples/gres", "examples/gpus-arrays"]
JOBS = re.compile(r"^(\w+) +(\d+)$", re.MULTILINE)


def settings(profile):
    return yaml.safe_load((ROOT / "profiles" / profile / "config.yaml").read_text())


def dry_run(folder, profile, *arguments):
    command = [sys.executable, "-m", "snakemake", "-n", "-s", str(ROOT / "Snakefile"), "--directory", str(folder)]
    command += [*arguments, "--profile", str(ROOT / "profiles" / profile)]
    done = subprocess.run(
        [*command, "--configfile", str(ROOT / "configs" / "paper.yaml")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.mark.slow
def test_the_paper_s_experiment_is_fewer_than_300_jobs(tmp_path):
    jobs = dict(JOBS.findall(dry_run(tmp_path, "slurm")))
    assert int(jobs["evaluate"]) == 4 * 3 * 10
    assert int(jobs["total"]) < 300


@pytest.mark.parametrize("profile", SLURM)
def test_every_slurm_profile_avoids_the_executor_s_traps(profile):
    said = settings(profile)
    assert said["helpseek-slurm-status-command"] == "squeue"
    assert said["helpseek-slurm-no-requeue"] is True
    assert said["retries"] >= 2
    assert said["default-resources"]["mem_mb"] >= 1000
    if "helpseek-slurm-array-jobs" in said:
        assert said["jobs"] >= 300


def test_no_rule_retries_by_itself():
    """A rule's own retries stay inside the old allocation, with its old limits."""
    for file in [ROOT / "Snakefile", *ROOT.glob("rules/*.smk")]:
        assert "retries:" not in file.read_text(), file
