"""The launcher of a job of several processes."""

import pytest

from helpseek.cluster.launch import join_launch, launcher
from helpseek.errors import UserError


def test_one_process_needs_no_launcher():
    assert launcher(0, 0, 4, {}) == launcher(1, 1, 4, {}) == []


def test_several_processes_are_one_srun():
    words = launcher(2, 8, 4, {"SLURM_JOB_ID": "7"})
    assert words[0] == "srun"
    assert {"--nodes=2", "--ntasks=8", "--cpus-per-task=4", "--mem=0", "--kill-on-bad-exit=1"} == set(words[1:])
    # A node without a process would be idle.
    assert "--ntasks=3" in launcher(3, 0, 1, {"SLURM_JOB_ID": "7"})


def test_several_processes_outside_slurm_are_refused():
    with pytest.raises(UserError, match="2 processes over 1 nodes need a Slurm job"):
        launcher(0, 2, 1, {})


def test_each_process_knows_its_rank_and_where_rank_0_listens():
    environment = {
        "SLURM_PROCID": "5",
        "SLURM_NTASKS": "8",
        "SLURM_LOCALID": "1",
        "SLURM_LAUNCH_NODE_IPADDR": "10.0.0.3",
        "SLURM_JOB_ID": "123456",
    }
    assert join_launch(environment) == (5, 8)
    torch_s = {name: environment[name] for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")}
    assert torch_s == {
        "RANK": "5",
        "WORLD_SIZE": "8",
        "LOCAL_RANK": "1",
        "MASTER_ADDR": "10.0.0.3",
        "MASTER_PORT": "23456",
    }


@pytest.mark.parametrize("environment", [{}, {"SLURM_PROCID": "0"}, {"SLURM_PROCID": "0", "SLURM_NTASKS": "1"}])
def test_alone_nothing_is_set(environment):
    before = dict(environment)
    assert join_launch(environment) == (0, 1)
    assert environment == before
