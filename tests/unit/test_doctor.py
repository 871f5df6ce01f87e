"""The doctor: right advice on machines that lack things, from small commands that say what Slurm 22.05 says."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from helpseek.cluster.doctor.machine import check_sandbox

ROOT = Path(__file__).resolve().parents[2]
SMOKE = ROOT / "configs" / "smoke.yaml"

CONFIG = """Configuration data as of 2026-12-01T17:38:26
AccountingStorageType   = accounting_storage/{storage}
MinJobAge               = {age} sec
SLURM_VERSION           = 22.05.8
"""
SINFO = """main|infinite|(null)
gpu|10:00:00|gpu:fake:2
gpu|10:00:00|(null)
short|1-00:00:00|(null)
"""


class Cluster:
    """Commands of a cluster that is not there, in a folder for PATH."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.tools = folder, folder / "tools"
        self.tools.mkdir()
        # What the doctor itself needs.
        for program in ("sh", "cat", "sleep"):
            (self.tools / program).symlink_to(f"/bin/{program}")

    def says(self, program, text="", code=0, error=""):
        answer = self.tools / f"{program}.txt"
        answer.write_text(text)
        script = f'#!/bin/sh\ncat "{answer}"\necho "{error}" >&2\nexit {code}\n'
        self._write(program, script)
        return self

    def hangs(self, program):
        self._write(program, "#!/bin/sh\nexec sleep 60\n")
        return self

    def slurm(self, storage="slurmdbd", age=300):
        for program in ("squeue", "scancel", "srun"):
            self.says(program)
        self.says("sbatch", error="sbatch: Job 5 to start at 2026-12-01T17:37:14 using 1 processors on nodes n1")
        self.says("scontrol", CONFIG.format(storage=storage, age=age))
        self.says("sinfo", SINFO)
        self.says("sacctmgr", "lab\nroot\n")
        return self

    def _write(self, program, script):
        (self.tools / program).unlink(missing_ok=True)
        (self.tools / program).write_text(script)
        (self.tools / program).chmod(0o755)

    def profile(self, name="slurm", without=(), resources=None, **changes):
        settings = yaml.safe_load((ROOT / "profiles" / name / "config.yaml").read_text())
        settings["default-resources"] |= {"gpu_max_runtime": 600} | (resources or {})
        settings |= {key.replace("_", "-"): value for key, value in changes.items()}
        folder = self.folder / "profile"
        folder.mkdir(exist_ok=True)
        (folder / "config.yaml").write_text(yaml.safe_dump({k: v for k, v in settings.items() if k not in without}))
        return folder

    def doctor(self, *arguments, configs=(SMOKE,), environment=None):
        """Exit code and findings by subject (the last of each)."""
        done = self.run("--json", *arguments, configs=configs, environment=environment)
        assert "Traceback" not in done.stderr, done.stderr
        return done.returncode, {finding["subject"]: finding for finding in json.loads(done.stdout)}

    def run(self, *arguments, configs=(SMOKE,), environment=None):
        command = [sys.executable, "-m", "helpseek.cli", "doctor", "--base", str(ROOT / "config.yaml")]
        command += [*map(str, arguments), "--directory", str(self.folder)]
        command += [word for config in configs for word in ("--configfile", str(config))]
        environment = {"PATH": str(self.tools), "USER": "me", "HOME": str(self.folder)} | (environment or {})
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=90, check=False)


@pytest.fixture
def cluster(tmp_path):
    return Cluster(tmp_path)


def test_a_laptop_without_slurm_bwrap_or_hub_may_run(cluster):
    code, found = cluster.doctor()
    assert code == 0
    assert found["Slurm"]["status"] == "skipped"
    assert found["sandbox"]["status"] == "warning"
    assert "apt-get install bubblewrap" in found["sandbox"]["fix"]


def test_a_slurm_profile_without_slurm_fails_with_where_to_go(cluster):
    code, found = cluster.doctor("--profile", cluster.profile())
    assert code == 1
    assert found["Slurm"]["status"] == "error"
    assert "sbatch, squeue, scancel, scontrol, sinfo, srun not found" in found["Slurm"]["found"]
    assert "login node" in found["Slurm"]["fix"]


def test_a_good_site_has_no_findings(cluster):
    code, found = cluster.slurm().doctor("--profile", cluster.profile())
    assert code == 0, found
    assert [f for f in found.values() if f["status"] == "error"] == []
    assert "--partition=gpu" in found["GPU jobs"]["found"]
    assert "--gpus=1" in found["GPU jobs"]["found"]
    assert found["account"]["found"] == "lab"


@pytest.mark.parametrize(
    ("resources", "subject", "said", "fix"),
    [
        ({"slurm_partition": "mian"}, "jobs", "did you mean `main`", "`slurm_partition`"),
        ({"slurm_account": "labs"}, "account", "did you mean `lab`", "one of: lab, root"),
        ({"slurm_partition": "short", "max_runtime": 0}, "jobs", "1440 minutes at most", "`max_runtime: 1440`"),
        ({"mem_mb": 500}, "memory", "500", "mem_mb: 1000"),
        ({"gpu_spelling": "gre"}, "jobs", "did you mean `gres`", "default-resources"),
    ],
)
def test_a_wrong_site_value_is_named_with_its_fix(cluster, resources, subject, said, fix):
    profile = cluster.profile(resources=resources)
    done = cluster.slurm().run("--profile", profile)
    assert done.returncode == 1, done.stdout
    lines = done.stdout.splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith(f"FAIL  {subject}:"))
    assert said in lines[at]
    assert fix in lines[at + 1]


@pytest.mark.parametrize(
    ("resources", "said"),
    [
        ({"gpu_partition": "gpus"}, "did you mean `gpu`"),
        ({"gpu_partition": "main"}, "has no GPUs"),
        ({"gpu_type": "fke"}, "did you mean `fake`"),
    ],
)
def test_a_wrong_gpu_is_a_warning_as_work_without_gpus_may_run(cluster, resources, said):
    done = cluster.slurm().run("--profile", cluster.profile(resources=resources))
    assert done.returncode == 0, done.stdout
    assert any(line.startswith("warn  GPU jobs:") and said in line for line in done.stdout.splitlines()), done.stdout


def test_slurm_s_own_refusal_is_repeated(cluster):
    cluster.slurm().says("sbatch", error="allocation failure: Invalid qos specification")
    code, found = cluster.doctor("--profile", cluster.profile(resources={"qos": "fast"}))
    assert code == 1
    assert "Invalid qos specification" in found["jobs"]["found"]
    assert "--qos=fast" in found["jobs"]["fix"]


@pytest.mark.parametrize(
    ("storage", "age", "status", "code"),
    [
        ("none", 300, "squeue", 0),
        ("none", 300, "sacct", 1),
        ("slurmdbd", 300, "sacct", 0),
        ("slurmdbd", 10, "squeue", 1),
    ],
)
def test_a_workflow_that_would_wait_for_ever_is_an_error(cluster, storage, age, status, code):
    profile = cluster.profile(helpseek_slurm_status_command=status)
    found_code, found = cluster.slurm(storage, age).doctor("--profile", profile)
    assert found_code == code, found
    if code:
        assert found["status command"]["status"] == "error"


def test_settings_that_were_left_out_are_missed(cluster):
    profile = cluster.profile(without=("retries", "helpseek-slurm-no-requeue"))
    _, found = cluster.slurm().doctor("--profile", profile)
    assert found["retries"]["status"] == found["requeue"]["status"] == "warning"


def test_arrays_with_few_jobs_are_an_error(cluster):
    profile = cluster.profile("examples/gpus-arrays", jobs=20, resources={"slurm_partition": "main"})
    code, found = cluster.slurm().doctor("--profile", profile)
    assert code == 1
    assert "jobs: 1000" in found["job arrays"]["fix"]


def test_a_controller_that_hangs_is_one_finding(cluster):
    cluster.slurm().hangs("scontrol")
    code, found = cluster.doctor("--profile", cluster.profile())
    assert code == 1
    assert "no answer within 30 s" in found["Slurm"]["found"]


def test_a_sandbox_that_cannot_be_made_is_an_error_only_for_swe_tasks(cluster, monkeypatch):
    cluster.says("bwrap", code=1, error="bwrap: No permissions to create new namespace")
    code, found = cluster.doctor()
    assert (code, found["sandbox"]["status"]) == (0, "warning")
    assert "user namespaces" in found["sandbox"]["fix"]
    monkeypatch.setenv("PATH", str(cluster.tools))
    assert [finding.status for finding in check_sandbox(needed=True)] == ["error"]


def test_drmaa_without_its_library(cluster):
    profile = cluster.profile("drmaa")
    code, found = cluster.doctor("--profile", profile)
    assert code == 1
    assert "DRMAA_LIBRARY_PATH is not set" in found["DRMAA library"]["found"]
    _, found = cluster.doctor("--profile", profile, environment={"DRMAA_LIBRARY_PATH": "/nowhere/libdrmaa.so"})
    assert "no such file" in found["DRMAA library"]["found"]
    wrong = cluster.folder / "libdrmaa.so"
    wrong.write_text("no library")
    _, found = cluster.doctor("--profile", profile, environment={"DRMAA_LIBRARY_PATH": str(wrong)})
    assert "does not reach a scheduler" in found["DRMAA library"]["found"]


def test_what_models_need_is_checked(cluster, tmp_path):
    overlay = tmp_path / "models.yaml"
    overlay.write_text(
        "models:\n"
        '  far: {backend: endpoint, model: m, base_url: "http://127.0.0.1:9/v1"}\n'
        "  paid: {backend: litellm, model: a/b, api_key_env: NO_SUCH_KEY}\n"
        "evaluate: {models: [far, paid]}\n"
    )
    code, found = cluster.doctor(configs=[SMOKE, overlay])
    assert code == 1
    assert found["model far"]["status"] == "warning"
    assert found["model paid"]["fix"].startswith("export NO_SUCH_KEY=")


def test_a_profile_that_does_not_exist_is_one_line(cluster):
    done = cluster.run("--profile", ROOT / "profiles" / "slrum")
    assert done.returncode == 1
    assert "did you mean" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_an_error(cluster):
    cluster.folder.chmod(0o500)
    code, found = cluster.doctor()
    assert code == 1
    assert found["working directory"]["status"] == "error"
