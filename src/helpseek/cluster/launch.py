"""One launcher for a job of several processes: `srun` on Slurm, nothing around a single process.

A rule says `nodes` and `tasks`; its script puts `launcher(…)` before the command, and every process calls
`join_launch` before it asks torch for a process group.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, MutableMapping

from helpseek.errors import UserError

# Above the ports that systems reserve, below those they give to clients.
FIRST_PORT, PORTS = 20_000, 10_000


def launcher(nodes: int, tasks: int, threads: int, environment: Mapping[str, str] = os.environ) -> list[str]:
    """The words before a command that start it `tasks` times over `nodes` nodes; none for a single process.

    `threads`: cores of one process. Raises `UserError` for several processes outside a Slurm job.
    """
    tasks = max(tasks, nodes, 1)
    if tasks == 1:
        return []
    if not environment.get("SLURM_JOB_ID"):
        raise UserError(
            f"{tasks} processes over {max(nodes, 1)} nodes need a Slurm job; set `tasks` and `nodes` to 0 here"
        )
    return [
        "srun",
        f"--nodes={max(nodes, 1)}",
        f"--ntasks={tasks}",
        f"--cpus-per-task={threads}",
        # All of the job's memory, which is not handed on by itself.
        "--mem=0",
        # The others would wait for a dead one until the time limit.
        "--kill-on-bad-exit=1",
    ]


def join_launch(environment: MutableMapping[str, str] = os.environ) -> tuple[int, int]:
    """Set torch's variables from Slurm's for this process; return its rank and the number of processes.

    Alone, it is rank 0 of 1 and nothing is set.
    """
    if "SLURM_PROCID" not in environment or int(environment.get("SLURM_NTASKS", 1)) == 1:
        return 0, 1
    environment["RANK"] = environment["SLURM_PROCID"]
    environment["WORLD_SIZE"] = environment["SLURM_NTASKS"]
    environment["LOCAL_RANK"] = environment["SLURM_LOCALID"]
    # srun starts on the job's first node, where rank 0 is too.
    environment["MASTER_ADDR"] = environment["SLURM_LAUNCH_NODE_IPADDR"]
    environment["MASTER_PORT"] = str(FIRST_PORT + int(environment["SLURM_JOB_ID"]) % PORTS)
    return int(environment["RANK"]), int(environment["WORLD_SIZE"])
