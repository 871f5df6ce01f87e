"""What rules ask for, in the resources of Snakemake's Slurm executor."""

import pytest

from helpseek.cluster.slurm import LOGICAL, SPELLED, slurm_resources
from helpseek.errors import UserError

SITE = {
    "slurm_partition": "cpu",
    "gpu_partition": "a100",
    "gpu_spelling": "gpus",
    "gpu_type": "",
    "max_runtime": 600,
    "gpu_max_runtime": 100,
    "qos": "",
    "constraint": "",
    "gpu": 0,
    "nodes": 0,
    "tasks": 0,
    "runtime": 60,
}


def spelled(**asked):
    assert set(SITE) == set(LOGICAL)
    given = slurm_resources(SITE | asked)
    assert set(given) == set(SPELLED)
    return {name: value for name, value in given.items() if value is not None}


def test_a_job_without_gpus_asks_for_none_however_the_site_spells_them():
    expected = {"runtime": 60, "slurm_partition": "cpu"}
    assert spelled() == spelled(gpu_spelling="gres") == spelled(gpu_type="h100") == expected


@pytest.mark.parametrize(
    ("site", "expected"),
    [
        ({"gpu_spelling": "gpus"}, {"gpu": 2}),
        ({"gpu_spelling": "gpus", "gpu_type": "h100"}, {"gpu": 2, "gpu_model": "h100"}),
        ({"gpu_spelling": "gres"}, {"gres": "gpu:2"}),
        ({"gpu_spelling": "gres", "gpu_type": "h100"}, {"gres": "gpu:h100:2"}),
    ],
)
def test_gpus_are_spelled_as_the_site_wants(site, expected):
    # tasks_per_gpu 0 keeps the executor from asking for tasks of its own.
    assert spelled(gpu=2, **site) == expected | {"tasks_per_gpu": 0, "runtime": 60, "slurm_partition": "a100"}


def test_gpus_count_a_node_in_both_spellings():
    assert spelled(gpu=4, nodes=2)["gpu"] == 8
    assert spelled(gpu=4, nodes=2, gpu_spelling="gres")["gres"] == "gpu:4"


def test_several_nodes_or_tasks_are_one_launch():
    assert spelled(nodes=2, tasks=8) == {
        "nodes": 2,
        "tasks": 8,
        "mpi": "srun",
        "runtime": 60,
        "slurm_partition": "cpu",
    }
    # A node without a task would be idle.
    assert spelled(nodes=3)["tasks"] == 3
    assert "mpi" not in spelled(nodes=1, tasks=1)


def test_retries_stop_growing_at_the_partition_s_limit():
    assert spelled(runtime=240)["runtime"] == 240
    assert spelled(runtime=1200)["runtime"] == 600
    assert spelled(runtime=240, gpu=1)["runtime"] == 100
    assert spelled(runtime=5000, max_runtime=0)["runtime"] == 5000


def test_a_site_without_a_gpu_partition_runs_gpu_jobs_where_it_runs_all():
    assert spelled(gpu=1, gpu_partition="")["slurm_partition"] == "cpu"


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"gpu_spelling": "gre"}, "did you mean `gres`"),
        ({"gpu": "two"}, "resource gpu: expected a whole number, not 'two'"),
        ({"gpu": True}, "resource gpu"),
        ({"nodes": -1}, "resource nodes"),
        ({"max_runtime": "1-00:00"}, "resource max_runtime"),
    ],
)
def test_a_wrong_value_names_its_resource(wrong, said):
    with pytest.raises(UserError, match=said):
        spelled(**wrong)
