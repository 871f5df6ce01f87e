"""What a rule asks for, in the resources of Snakemake's Slurm executor and in the spelling of one site.

A rule asks in logical units: `gpu` (GPUs a node), `nodes`, `tasks` (processes of one launch), `runtime` (minutes),
`mem_mb`. A profile's `default-resources` name the site: slurm_partition, gpu_partition, gpu_spelling (gpus or gres),
gpu_type, max_runtime and gpu_max_runtime (minutes; 0 is no limit), qos, constraint. Absent, 0 and '' all mean
"not asked for".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from helpseek.errors import UserError, nearest

GPU_SPELLINGS = ("gpus", "gres")
# Everything that `slurm_resources` reads.
LOGICAL = (
    "gpu",
    "nodes",
    "tasks",
    "runtime",
    "slurm_partition",
    "gpu_partition",
    "gpu_spelling",
    "gpu_type",
    "max_runtime",
    "gpu_max_runtime",
    "qos",
    "constraint",
)
# Everything that it gives. None is a resource that the job does not have.
SPELLED = (
    "gpu",
    "gpu_model",
    "gres",
    "nodes",
    "tasks",
    "tasks_per_gpu",
    "mpi",
    "runtime",
    "slurm_partition",
    "qos",
    "constraint",
)


def slurm_resources(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return the executor's resources (`SPELLED`) for what a rule and its site ask for (`LOGICAL`).

    Raises `UserError` when the site's spelling of GPUs is unknown or a count is no whole number.
    """
    gpus, nodes, tasks = (_count(asked, name) for name in ("gpu", "nodes", "tasks"))
    kind = "gpu_" if gpus else ""
    # One launcher starts the processes; without `mpi` the executor would start the whole rule once a task.
    launched = nodes > 1 or tasks > 1
    return {
        **_gpus(asked, gpus, max(nodes, 1)),
        "nodes": nodes or None,
        "tasks": max(tasks, nodes) if launched else None,
        # Not the executor's default, `tasks` for each GPU.
        "tasks_per_gpu": 0 if gpus else None,
        "mpi": "srun" if launched else None,
        "runtime": _at_most(_count(asked, "runtime"), _count(asked, f"{kind}max_runtime")),
        "slurm_partition": asked.get(f"{kind}partition" if gpus else "") or asked.get("slurm_partition") or None,
        # Given empty, the executor would hand them on empty.
        "qos": asked.get("qos") or None,
        "constraint": asked.get("constraint") or None,
    }


def _gpus(asked: Mapping[str, Any], gpus: int, nodes: int) -> dict[str, Any]:
    spelling, model = str(asked.get("gpu_spelling") or GPU_SPELLINGS[0]), str(asked.get("gpu_type") or "")
    if spelling not in GPU_SPELLINGS:
        known = ", ".join(GPU_SPELLINGS) + nearest(spelling, GPU_SPELLINGS)
        raise UserError(f"resource gpu_spelling: {spelling!r} is none of {known}")
    if not gpus:
        return {"gpu": None, "gpu_model": None, "gres": None}
    if spelling == "gres":
        return {"gpu": None, "gpu_model": None, "gres": ":".join(["gpu", *([model] if model else []), str(gpus)])}
    # `--gpus` counts those of the whole job, `--gres` those of each node.
    return {"gpu": gpus * nodes, "gpu_model": model or None, "gres": None}


def _at_most(minutes: int, limit: int) -> int | None:
    return min(minutes, limit) if minutes and limit else minutes or None


def _count(asked: Mapping[str, Any], name: str) -> int:
    value = asked.get(name) or 0
    text = str(value)
    if isinstance(value, bool) or not (text.isascii() and text.isdecimal()):
        raise UserError(f"resource {name}: expected a whole number, not {value!r}")
    return int(text)
