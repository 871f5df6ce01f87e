"""The executor `helpseek-drmaa` against a real scheduler, jobs and all.

Grid Engine (started here, as root, from Debian's packages) proves the executor, the library's wiring and exit codes; it
does not prove slurm-drmaa's reading of options. That is proven where DRMAA_LIBRARY_PATH names a slurm-drmaa.
"""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
GRID_ENGINE = Path("/usr/lib/gridengine/sge_qmaster")
GRID_ENGINE_DRMAA = Path("/usr/lib/gridengine-drmaa/lib/libdrmaa.so.1.0")
PATIENCE_S = 40

pytestmark = [pytest.mark.cluster, pytest.mark.slow]

SNAKEFILE = """
rule show:
    output: "show/{sample}.txt"
    threads: 2
    resources: gpu=1, mem_mb=1200, runtime=90
    shell: "{{ echo threads={threads} tmp={resources.tmpdir}; eval $SHOW_JOB; }} > {output}"
rule after:
    input: "show/one.txt"
    output: "after/{sample}.txt"
    shell: "cp {input} {output}"
rule exits:
    output: "exits/{sample}.txt"
    shell: "touch {output}; echo it broke; exit 3"
rule grouped:
    output: "grouped/{sample}.txt"
    group: "pair"
    shell: "exit 4"
rule impossible:
    output: "impossible/{sample}.txt"
    resources: gpu=50
    shell: "touch {output}"
rule wrong:
    output: "wrong/{sample}.txt"
    resources: gpu="two"
    shell: "touch {output}"
rule waits:
    output: "waits/{sample}.txt"
    shell: "touch started.{wildcards.sample}; sleep 120; touch {output}"
"""


@dataclass(frozen=True, slots=True)
class Cluster:
    """A scheduler: the environment its library needs, its commands, and what it shows of a job that asked for much.

    SHOW_JOB in the environment is the command for the latter, run inside the job.
    """

    environment: dict[str, str]
    queue: list[str]
    delete: str
    asked: tuple[str, ...]
    # Options that show a wildcard.
    args: str
    refusal: str

    def jobs(self):
        """Ids of this user's jobs that wait or run."""
        done = run_in(self.environment, *self.queue)
        return [line.split()[0] for line in done.stdout.splitlines() if re.match(r" *\d+ ", line)]


@pytest.fixture(scope="module", params=["sge", "slurm"])
def cluster(request, tmp_path_factory):
    if request.param == "slurm":
        yield slurm()
        return
    if not GRID_ENGINE.exists() or not GRID_ENGINE_DRMAA.exists():
        pytest.skip("Debian's gridengine-master, -exec, -client and gridengine-drmaa1.0 are not installed")
    if os.geteuid() != 0:
        pytest.skip("a Grid Engine of the test's own needs root")
    folder = tmp_path_factory.mktemp("grid-engine")
    try:
        subprocess.run([HERE / "grid-engine-up", folder, str(free_port_pair())], check=True, timeout=60)
        yield grid_engine(folder)
    finally:
        subprocess.run([HERE / "grid-engine-down", folder], check=False, timeout=60)


def grid_engine(folder):
    script = f'. "{folder}/environment"; env -0'
    environment = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True).stdout
    return Cluster(
        dict(line.split("=", 1) for line in environment.split("\0") if line) | {"SHOW_JOB": "qstat -j $JOB_ID"},
        ["qstat"],
        "qdel",
        (r"h_rt=5400,h_rss=600M,gpu=1", r"parallel environment: +smp range: 2", r"context: +sample=one"),
        " -ac sample={wildcards.sample}",
        r"no suitable queues",
    )


def slurm():
    probe = "import drmaa; session = drmaa.Session(); session.initialize(); print(session.drmsInfo); session.exit()"
    found = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=False)
    if "slurm" not in found.stdout.lower():
        pytest.skip("DRMAA_LIBRARY_PATH names no slurm-drmaa that reaches a Slurm")
    return Cluster(
        dict(os.environ) | {"SHOW_JOB": "scontrol show job $SLURM_JOB_ID"},
        ["squeue", "--me", "--noheader", "--format=%A ."],
        "scancel",
        (r"TimeLimit=01:30:00", r"MinMemoryNode=1200M", r"CPUs/Task=2", r"gres:gpu:1", r"Comment=one"),
        " --comment={wildcards.sample}",
        r"code \d+: ",
    )


def free_port_pair():
    for _ in range(50):
        with socket.socket() as first, socket.socket() as second:
            first.bind(("", 0))
            port = first.getsockname()[1]
            try:
                second.bind(("", port + 1))
            except OSError:
                continue
            return port
    raise AssertionError("no two free ports in a row")


@pytest.fixture
def folder(tmp_path):
    # Neither a workflow's folder nor its logs may depend on what a path is called.
    folder = tmp_path / "with a space"
    folder.mkdir()
    (folder / "Snakefile").write_text(SNAKEFILE)
    return folder


def command(*arguments):
    """The shipped profile, with a test's patience and no site names."""
    quick = ["--seconds-between-status-checks", "1", "--latency-wait", "5", "--retries", "0", "--show-failed-logs"]
    site = ["slurm_partition=", "slurm_account=", "gpu_partition="]
    # A list of default resources on the command line would take the place of the profile's.
    rules = ["show", "after", "exits", "grouped", "impossible", "wrong", "waits", "generate_tasks", "check_tasks"]
    site = [f"{rule}:{value}" for rule in rules for value in site]
    profile = ["--profile", str(ROOT / "profiles" / "drmaa")]
    return [sys.executable, "-m", "snakemake", *arguments, *profile, *quick, "--set-resources", *site]


def snakemake(cluster, folder, *arguments):
    """Standard output and error of a run, and its exit code."""
    done = run_in(cluster.environment, *command(*arguments), cwd=folder)
    return done.stdout + done.stderr, done.returncode


def start(cluster, folder, *arguments):
    with (folder / "said").open("w") as said:
        return subprocess.Popen(
            command(*arguments), cwd=folder, env=cluster.environment, stdout=said, stderr=subprocess.STDOUT
        )


def run_in(environment, *arguments, **options):
    return subprocess.run(
        arguments, env=environment, capture_output=True, text=True, check=False, timeout=PATIENCE_S, **options
    )


def wait_until(true, what):
    deadline = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < deadline, f"{what}: not after {PATIENCE_S} s"
        time.sleep(0.2)


def test_jobs_run_with_what_their_rules_ask_for(cluster, folder):
    said, code = snakemake(cluster, folder, "after/two.txt", "--helpseek-drmaa-args", cluster.args)
    assert code == 0, said
    shown = (folder / "after" / "two.txt").read_text()
    assert "threads=2" in shown
    for asked in cluster.asked:
        assert re.search(asked, shown), shown
    logs = sorted(path.parent.name for path in (folder / ".snakemake" / "drmaa_logs").glob("*/*.log"))
    assert logs == ["after", "show"]
    assert cluster.jobs() == []


def test_failures_are_seen_and_told_apart(cluster, folder):
    targets = "exits/a.txt", "grouped/a.txt", "impossible/a.txt", "wrong/a.txt"
    said, code = snakemake(cluster, folder, *targets)
    assert code == 1, said
    lines = said.splitlines()
    # Grid Engine's status of this job is DONE; without its exit code it would be a missing file.
    assert "the job ended with exit code 1" in said
    assert "MissingOutputException" not in said
    number = re.search(r"Submitted job \d+ \(exits\) as (\d+): ", said)[1]
    assert f"log: .snakemake/drmaa_logs/exits/{number}.log" in said
    assert "it broke" in lines
    assert not (folder / "exits" / "a.txt").exists()
    # A refusal is one line with the rule, the scheduler's words, and what it was asked; and no submission.
    [refused] = [line for line in lines if "refused" in line]
    assert re.match(rf"rule impossible: refused by the scheduler: .*{cluster.refusal}", refused)
    assert re.search(r"\(native specification: .*gpu[:=]50\b.*\)$", refused)
    assert [line for line in lines if "'two'" in line] == [
        "rule wrong: resource gpu: expected a whole number, not 'two'"
    ]
    assert len(re.findall("Submitted job", said)) == 2
    assert "group pair_grouped: the job ended with exit code 1" in said
    assert "Error in rule impossible" not in said and "Error in rule wrong" not in said


def test_options_that_name_a_missing_wildcard_are_one_line(cluster, folder):
    said, code = snakemake(cluster, folder, "exits/a.txt", "--helpseek-drmaa-args", " -x {wildcards.nothing}")
    assert code == 1
    [line] = [line for line in said.splitlines() if line.startswith("rule exits: ")]
    assert line.startswith("rule exits: helpseek-drmaa-args ' -x {wildcards.nothing}'")
    assert "Submitted" not in said


def test_a_deleted_job_is_a_failed_job(cluster, folder):
    run = start(cluster, folder, "waits/a.txt", "waits/b.txt")
    wait_until(lambda: len(list(folder.glob("started.*"))) == 2, "both jobs run")
    first, second = cluster.jobs()
    subprocess.run([cluster.delete, first, second], env=cluster.environment, check=True, capture_output=True)
    assert run.wait(PATIENCE_S) == 1
    said = (folder / "said").read_text()
    assert len(re.findall("message: the job (was deleted|was killed|ended with)", said)) == 2, said
    assert "Traceback" not in said


def test_an_interrupt_leaves_no_job(cluster, folder):
    # More than the queue has slots, so that one waits.
    run = start(cluster, folder, *(f"waits/{name}.txt" for name in "abcde"))
    wait_until(lambda: len(list(folder.glob("started.*"))) >= 2, "jobs run")
    assert len(cluster.jobs()) == 5
    run.send_signal(signal.SIGINT)
    assert run.wait(PATIENCE_S) == 1
    wait_until(lambda: cluster.jobs() == [], "no job is left")
    assert not list((folder / "waits").glob("*"))


def test_the_first_stage_of_the_real_workflow(cluster, tmp_path):
    said, code = snakemake(
        cluster, tmp_path, "tasks", "-s", str(ROOT / "Snakefile"), "--configfile", str(ROOT / "configs" / "smoke.yaml")
    )
    assert code == 0, said
    assert len(re.findall("Submitted job", said)) == 2
    assert list((tmp_path / "results").glob("tasks/**/*.parquet"))


def test_a_scheduler_that_is_silent_loses_no_job(cluster):
    # A restart of slurmctld is not to be staged here; the library's exception for it is raised instead.
    script = """
import drmaa, snakemake_executor_plugin_helpseek_drmaa as plugin
from types import SimpleNamespace as N
def wait(*_): raise drmaa.InternalException("code 1: unable to contact slurm controller")
watcher, job = N(session=N(wait=wait)), N(external_jobid="1", aux={})
assert plugin.Executor._failure(watcher, job) is None
job.aux["silent_since"] -= plugin.SILENCE_S
print(plugin.Executor._failure(watcher, job))
"""
    done = run_in(cluster.environment, sys.executable, "-c", script)
    assert done.stdout == ("the scheduler has not answered for 600 s: code 1: unable to contact slurm controller\n"), (
        done.stderr
    )


@pytest.mark.parametrize(
    ("library", "said"),
    [(None, "DRMAA_LIBRARY_PATH names the scheduler's libdrmaa.so"), ("/nonexistent/libdrmaa.so", "does not load")],
)
def test_without_a_library_the_run_ends_with_the_remedy(folder, library, said):
    environment = {name: value for name, value in os.environ.items() if name != "DRMAA_LIBRARY_PATH"}
    environment |= {"DRMAA_LIBRARY_PATH": library} if library else {}
    done = run_in(environment, *command("exits/a.txt"), cwd=folder)
    assert done.returncode == 1
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_dry_run_needs_no_library(folder):
    environment = {name: value for name, value in os.environ.items() if name != "DRMAA_LIBRARY_PATH"}
    done = run_in(environment, *command("exits/a.txt", "-n"), cwd=folder)
    assert done.returncode == 0, done.stderr


def test_the_scripts_say_what_is_missing(tmp_path):
    script = (HERE / "grid-engine-up").read_text().replace("/usr/lib/gridengine", str(tmp_path))
    done = run_in(os.environ, "bash", "-c", script, "grid-engine-up", str(tmp_path))
    assert done.returncode == 1
    assert "is absent; install the packages" in done.stderr
