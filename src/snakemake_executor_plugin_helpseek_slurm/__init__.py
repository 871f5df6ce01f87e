"""Snakemake's executor `helpseek-slurm`: snakemake-executor-plugin-slurm without the second Snakemake of every job.

Upstream starts Snakemake in the allocation, which starts it again in a step. Here the first does the work, which saves
some seconds a job. A task of an array finds out in the step which it is, so with arrays jobs keep it.
"""

# The executors' interface is untyped, so its classes are Any here.
# mypy: disable-error-code="import-untyped,misc"
# No `from __future__ import annotations`: Snakemake reads the settings' types as they stand.

from dataclasses import dataclass

import snakemake_executor_plugin_slurm as upstream

common_settings = upstream.common_settings


@dataclass
class ExecutorSettings(upstream.ExecutorSettings):
    """Those of the slurm executor, as `--helpseek-slurm-…`."""


class Executor(upstream.Executor):
    """Submits, watches and cancels jobs as upstream does."""

    def additional_general_args(self) -> str:
        """What starts the step; nothing where no job is a task of an array."""
        return str(super().additional_general_args()) if self.array_jobs else ""
