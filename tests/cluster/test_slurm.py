"""The workflow on a real Slurm, interrupted in every way a cluster knows.

Scenarios start together, each in a working directory of its own, because most of their time is waiting.
"""

import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pandas as pd
import pytest

from helpseek.cluster.scheduler import query
from tests.cluster.one_host_slurm import (
    ROOT,
    Workflow,
    ended,
    profile,
    running_slurm,
    scontrol,
    without_traceback,
)
from tests.endpoint_server import EndpointServer, Reply, four_steps

SMOKE = ROOT / "configs" / "smoke.yaml"
# Times and identities of a run; everything else must be equal.
OWN = ("duration_s", "model_s", "environment_s")

pytestmark = [pytest.mark.cluster, pytest.mark.slow]


LAUNCH = """
rule sum_ranks:
    output: "sum.txt"
    threads: 2
    resources: gpu=1, nodes=2, tasks=2
    script: "{root}/tests/cluster/launch_sum_ranks.py"
include: "{root}/workflow/cluster.smk"
"""


def delayed(request):
    """As `four_steps`, after the delay that the model's name gives."""
    reply = four_steps(request)
    return Reply(reply.content, delay_s=float(request["model"].removeprefix("delay-")))


@pytest.fixture(scope="module")
def endpoint():
    with EndpointServer(delayed, keep=False) as server:
        yield server


@pytest.fixture(scope="module")
def upstream(tmp_path_factory, endpoint):
    """A working directory with tasks and oracle, and configurations of one shard that lasts a while."""
    folder = tmp_path_factory.mktemp("upstream")
    for name, delay in (("sweep", 0.3), ("long", 1.3)):
        text = f"""
tasksets:
  smoke_sql: {{kind: generated, train: 4, held_out: 6, tasks_per_database: 3}}
models:
  slow: {{backend: endpoint, model: delay-{delay}, base_url: "{endpoint.base_url}"}}
oracle: {{judge: lexical}}
sql: {{note_search: lexical}}
evaluate: {{tasksets: [smoke_sql], models: [slow], conditions: [blocked], attempts: 2, shards: 1, concurrency: 1}}
"""
        (folder / f"{name}.yaml").write_text(text)
    shards = (folder / "sweep.yaml").read_text().replace("shards: 1", "shards: 5")
    (folder / "shards.yaml").write_text(shards)
    assert Workflow(folder, folder / "sweep.yaml").run("tasks", "oracle") == 0
    return folder


@pytest.fixture(scope="module")
def slurm(request, tmp_path_factory):
    with running_slurm(tmp_path_factory.mktemp("slurm") / "slurm", request.param == "accounting"):
        yield request.param


@pytest.fixture(scope="module")
def started(slurm, upstream, tmp_path_factory):
    """Every scenario of this kind of Slurm, begun: name -> a future of its workflow."""
    with ThreadPoolExecutor(6) as pool:

        def begin(scenario):
            folder = tmp_path_factory.mktemp(scenario.__name__)
            for item in ("results", ".snakemake"):
                # With times and Snakemake's records, so that nothing upstream runs again.
                subprocess.run(["cp", "-a", upstream / item, folder], check=True)
            return pool.submit(scenario, folder, upstream)

        yield {scenario: begin(scenario) for scenario in SCENARIOS[slurm]}


def sweep(folder, upstream, name="sweep"):
    return Workflow(folder, upstream / f"{name}.yaml")


def smoke(folder, upstream):
    """The smoke experiment, its evaluations on GPUs."""
    workflow = Workflow(folder / "smoke", SMOKE)
    workflow.folder.mkdir()
    (workflow.folder / "results").symlink_to(folder / "smoke_results")
    (folder / "smoke_results").mkdir()
    gpu = {"evaluate": {"gpu": 1}}
    code = workflow.run("tables", "--profile", str(profile(folder, set_resources=gpu)), patience_s=300)
    assert code == 0, workflow.said[-3000:]
    return workflow


def a_job_is_cancelled(folder, upstream):
    workflow = sweep(folder, upstream)
    master = workflow.start("eval", "--profile", str(profile(folder)))
    workflow.wait_for_episodes()
    assert query("scancel", workflow.evaluations()[0][0]) is not None
    assert ended(master) == 0, workflow.said[-3000:]
    return workflow


def a_cancelled_job_read_through_sacct(folder, upstream):
    """As before, without the profile's status command: the executor never sees the end."""
    workflow = sweep(folder, upstream)
    without = profile(folder, helpseek_slurm_status_command="sacct")
    master = workflow.start("eval", "--profile", str(without))
    workflow.wait_for_episodes()
    assert query("scancel", workflow.evaluations()[0][0]) is not None
    with pytest.raises(subprocess.TimeoutExpired):
        ended(master, 45)
    return workflow


def a_node_goes_down_with_requeue(folder, upstream):
    """As below, without the profile's `helpseek-slurm-no-requeue`.

    Slurm holds the job back for two minutes before it runs again; and where the executor sees the node's failure before
    that, it reads the node's name as `None assigned` and fails.
    """
    workflow = sweep(folder, upstream)
    brittle = {"slurm_partition": "brittle"}
    master = workflow.start(
        "eval", "--profile", str(profile(folder, without=("helpseek-slurm-no-requeue",), default_resources=brittle))
    )
    workflow.wait_for_episodes()
    node = workflow.evaluations()[0][3]
    scontrol("update", f"NodeName={node}", "State=DOWN", "Reason=test")
    try:
        assert ended(master, 60) != 0, workflow.said[-3000:]
    except subprocess.TimeoutExpired:
        # The other way to lose: it waits.
        pass
    finally:
        query("scancel", *(job[0] for job in workflow.evaluations()))
        query("scontrol", "update", f"NodeName={node}", "State=RESUME")
    return workflow


def a_node_goes_down(folder, upstream):
    workflow = sweep(folder, upstream)
    frail = {"slurm_partition": "frail"}
    master = workflow.start("eval", "--profile", str(profile(folder, default_resources=frail)))
    workflow.wait_for_episodes()
    node = workflow.evaluations()[0][3]
    scontrol("update", f"NodeName={node}", "State=DOWN", "Reason=test")
    try:
        assert ended(master) == 0, workflow.said[-3000:]
    finally:
        # Refused where its daemon has brought it back by itself.
        query("scontrol", "update", f"NodeName={node}", "State=RESUME")
    assert workflow.evaluations()[-1][3] != node
    return workflow


def a_job_needs_more_memory(folder, upstream):
    workflow = sweep(folder, upstream)
    little = {"evaluate": {"mem_mb": "250 * attempt"}}
    assert workflow.run("eval", "--profile", str(profile(folder, set_resources=little))) == 0, workflow.said[-3000:]
    return workflow


def a_job_needs_more_time(folder, upstream):
    workflow = sweep(folder, upstream, "long")
    short = {"evaluate": {"runtime": "attempt"}}
    assert workflow.run("eval", "--profile", str(profile(folder, set_resources=short)), patience_s=240) == 0
    return workflow


def the_master_is_killed(folder, upstream):
    """Killed and started again at once, so that two jobs want one shard."""
    workflow = sweep(folder, upstream, "long")
    arguments = ("eval", "--profile", str(profile(folder)))
    master = workflow.start(*arguments)
    workflow.wait_for_episodes()
    master.send_signal(signal.SIGKILL)
    master.wait()
    workflow.run("--unlock")
    assert workflow.run(*arguments) == 0, workflow.said[-3000:]
    return workflow


def orphans_are_adopted(folder, upstream):
    workflow = sweep(folder, upstream)
    arguments = ("eval", "--profile", str(profile(folder)))
    master = workflow.start(*arguments)
    workflow.wait_for_episodes()
    master.send_signal(signal.SIGKILL)
    master.wait()
    listed = helpseek_jobs(workflow)
    assert "orphan" in listed.stdout, listed
    adopted = helpseek_jobs(workflow, "adopt")
    assert adopted.returncode == 0, adopted
    assert workflow.run(*arguments) == 0, workflow.said[-3000:]
    return workflow


def inside_a_job(folder, upstream):
    """Snakemake itself in a batch job."""
    workflow = sweep(folder, upstream)
    command = workflow.command("eval", "--profile", str(profile(folder)))
    (folder / "master.sh").write_text("#!/bin/bash\n" + " ".join(f"'{word}'" for word in command) + "\n")
    outer = [
        "sbatch",
        "--wait",
        "-A",
        "lab",
        "--mem=1500",
        "-t",
        "10",
        "-o",
        f"{folder}/said.txt",
        f"{folder}/master.sh",
    ]
    assert subprocess.run(outer, timeout=200, check=False, capture_output=True).returncode == 0, workflow.said[-3000:]
    return workflow


def shards_in_an_array(folder, upstream):
    """Five shards, one submission."""
    workflow = sweep(folder, upstream, "shards")
    site = {"slurm_partition": "main", "qos": "", "slurm_account": "lab"}
    arrays = profile(folder, "examples/gpus-arrays", default_resources=site)
    assert workflow.run("eval", "--profile", str(arrays)) == 0, workflow.said[-3000:]
    return workflow


def gpus_as_gres(folder, upstream):
    workflow = sweep(folder, upstream)
    site = {"slurm_partition": "main", "gpu_partition": "gpu", "gpu_type": "fake", "slurm_account": "lab"}
    gres = profile(
        folder,
        "examples/gres",
        without=("precommand",),
        default_resources=site,
        set_resources={"evaluate": {"gpu": 2}},
    )
    assert workflow.run("eval", "--profile", str(gres)) == 0, workflow.said[-3000:]
    return workflow


def an_array_of_more_than_may_run(folder, upstream):
    """As before, with `jobs` below the number of shards: the executor collects for ever."""
    workflow = sweep(folder, upstream, "shards")
    site = {"slurm_partition": "main", "qos": "", "slurm_account": "lab"}
    arrays = profile(folder, "examples/gpus-arrays", default_resources=site, jobs=2)
    with pytest.raises(subprocess.TimeoutExpired):
        ended(workflow.start("eval", "--profile", str(arrays)), 40)
    return workflow


def several_nodes(folder, upstream):
    """One launcher over two nodes: the processes find each other."""
    workflow = Workflow(folder, upstream / "sweep.yaml")
    (folder / "Snakefile").write_text(LAUNCH.format(root=ROOT))
    code = workflow.run("--profile", str(profile(folder)), snakefile=folder / "Snakefile")
    assert code == 0, workflow.said[-3000:]
    return workflow


def without_accounting_through_sacct(folder, upstream):
    """Without the profile's status command: the executor asks a database that is not there."""
    workflow = sweep(folder, upstream)
    with pytest.raises(subprocess.TimeoutExpired):
        ended(workflow.start("eval", "--profile", str(profile(folder, helpseek_slurm_status_command="sacct"))), 75)
    return workflow


def refused_for_its_account(folder, upstream):
    workflow = sweep(folder, upstream)
    stranger = profile(folder, default_resources={"slurm_account": "strangers"}, retries=0)
    assert workflow.run("eval", "--profile", str(stranger)) != 0
    return workflow


def refused_for_its_time(folder, upstream):
    workflow = sweep(folder, upstream)
    short = profile(folder, default_resources={"slurm_partition": "short", "max_runtime": 0}, retries=0)
    assert workflow.run("eval", "--profile", str(short)) != 0
    return workflow


SCENARIOS = {
    "accounting": [
        a_job_needs_more_time,
        smoke,
        a_job_is_cancelled,
        the_master_is_killed,
        a_node_goes_down,
        a_cancelled_job_read_through_sacct,
        a_job_needs_more_memory,
        orphans_are_adopted,
        inside_a_job,
        refused_for_its_account,
        refused_for_its_time,
        a_node_goes_down_with_requeue,
        shards_in_an_array,
        gpus_as_gres,
        an_array_of_more_than_may_run,
        several_nodes,
    ],
    "plain": [smoke, without_accounting_through_sacct],
}


def helpseek_jobs(workflow, *arguments):
    command = [sys.executable, "-m", "helpseek.cli", "jobs", "--directory", str(workflow.folder), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


with_accounting = pytest.mark.parametrize("slurm", ["accounting"], indirect=True)
in_both = pytest.mark.parametrize("slurm", ["accounting", "plain"], indirect=True)


@pytest.fixture(scope="module")
def local_smoke(tmp_path_factory):
    """The same experiment on local cores."""
    workflow = Workflow(tmp_path_factory.mktemp("local"), SMOKE)
    assert workflow.run("tables") == 0, workflow.said[-3000:]
    return workflow


@in_both
def test_slurm_and_local_cores_give_the_same_rows(started, local_smoke):
    workflow = started[smoke].result()
    names = sorted(path.relative_to(local_smoke.folder) for path in local_smoke.folder.glob("results/**/*.parquet"))
    assert len(names) > 40
    for name in names:
        here, there = (pd.read_parquet(folder / name) for folder in (local_smoke.folder, workflow.folder))
        compared = [column for column in here.columns if column not in OWN]
        pd.testing.assert_frame_equal(here[compared], there[compared])
    assert len(workflow.evaluations()) == 12
    assert workflow.gpus() == [1] * 12
    assert all(job[1] == "COMPLETED" for job in workflow.jobs())
    workflow.check_nothing_is_left()


@with_accounting
@pytest.mark.parametrize(
    "scenario", [a_job_is_cancelled, a_node_goes_down, a_job_needs_more_memory, a_job_needs_more_time]
)
def test_an_interrupted_job_is_submitted_again_and_goes_on(started, scenario):
    workflow = started[scenario].result()
    workflow.check_complete()
    assert len(workflow.evaluations()) >= 2


@with_accounting
def test_more_time_means_leaving_before_the_limit(started):
    workflow = started[a_job_needs_more_time].result()
    first, *_, last = workflow.evaluations()
    # Not TIMEOUT: the job saved its episodes and left by itself.
    assert (first[1], last[1]) == ("FAILED", "COMPLETED")


@with_accounting
def test_more_memory_is_asked_for(started):
    memory = [job[2] for job in started[a_job_needs_more_memory].result().evaluations()]
    assert memory[:2] == ["250M", "500M"]


@with_accounting
def test_without_squeue_a_cancelled_job_is_waited_for_for_ever(started):
    workflow = started[a_cancelled_job_read_through_sacct].result()
    assert len(workflow.evaluations()) == 1


@with_accounting
def test_with_slurm_s_own_requeue_a_lost_node_costs_minutes_or_the_workflow(started):
    workflow = started[a_node_goes_down_with_requeue].result()
    assert not list(workflow.folder.glob("results/episodes/**/0.parquet"))


@pytest.mark.parametrize("slurm", ["plain"], indirect=True)
def test_without_squeue_and_accounting_the_end_of_a_job_is_never_seen(started):
    workflow = started[without_accounting_through_sacct].result()
    assert [job[1] for job in workflow.evaluations()] == ["COMPLETED"]


@with_accounting
def test_the_shards_of_an_array_are_one_submission(started):
    workflow = started[shards_in_an_array].result()
    workflow.check_complete()
    numbers = [job[0] for job in workflow.evaluations()]
    assert len(numbers) == 5
    assert len({number.partition("_")[0] for number in numbers}) == 1


@with_accounting
def test_a_site_s_own_spelling_of_gpus_gives_gpus(started):
    workflow = started[gpus_as_gres].result()
    workflow.check_complete()
    assert workflow.gpus() == [2]


@with_accounting
def test_an_array_needs_room_for_all_its_jobs(started):
    assert started[an_array_of_more_than_may_run].result().evaluations() == []


@with_accounting
def test_several_nodes_are_one_launch(started):
    workflow = started[several_nodes].result()
    assert (workflow.folder / "sum.txt").read_text().split() == ["0+1=1", "0+1=1"]


@with_accounting
@pytest.mark.parametrize("scenario", [the_master_is_killed, orphans_are_adopted])
def test_a_killed_master_s_job_is_not_done_twice(started, scenario):
    started[scenario].result().check_complete()


@with_accounting
def test_an_adopted_job_is_not_submitted_again(started):
    assert len(started[orphans_are_adopted].result().evaluations()) == 1


@with_accounting
def test_snakemake_runs_inside_a_job(started):
    started[inside_a_job].result().check_complete()


@with_accounting
@pytest.mark.parametrize(
    ("scenario", "said"),
    [(refused_for_its_account, "strangers"), (refused_for_its_time, "time limit")],
)
def test_a_refused_submission_says_why(started, scenario, said):
    workflow = started[scenario].result()
    assert said in workflow.said
    assert without_traceback(workflow.said), workflow.said
    workflow.check_nothing_is_left()
