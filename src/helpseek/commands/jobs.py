"""`helpseek jobs`: this workflow's jobs on the cluster, and what to do about those of a master that is gone."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from helpseek.errors import UserError

if TYPE_CHECKING:
    from helpseek.cluster.jobs import ClusterJob

directory = click.option(
    "--directory",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    default=Path(),
    help="The working directory of the workflow (default: this one).",
)
every = click.option("--all", "everything", is_flag=True, help="Not orphans only, but every job of the workflow.")


@click.group(invoke_without_command=True)
@directory
@click.pass_context
def jobs(context: click.Context, directory: Path) -> None:
    """List this workflow's jobs on Slurm; without a command.

    An orphan is a job whose Snakemake is gone. Settle orphans before Snakemake runs again, or it submits them twice.
    """
    from helpseek.cluster.jobs import workflow_jobs
    from helpseek.cluster.master import living_master

    context.obj = directory
    if context.invoked_subcommand:
        return
    master = living_master(directory)
    click.echo(f"Snakemake runs: {master[0]}" if master else "No Snakemake runs in this directory.")
    found = workflow_jobs(directory)
    if not found:
        click.echo("No jobs of this workflow are on the cluster.")
        return
    rows = [("JOB", "STATE", "ELAPSED", "LIMIT", "WHERE", "", "WORK")]
    rows += [
        (job.number, job.state, job.elapsed, job.limit, job.where or "-", "orphan" if job.orphan else "", job.work)
        for job in found
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    if any(job.orphan for job in found):
        click.echo("Orphans: `helpseek jobs adopt` keeps what they make, `helpseek jobs cancel` ends them.")


@jobs.command()
@every
@click.pass_obj
def wait(directory: Path, everything: bool) -> None:
    """Wait until the orphans have ended; exit code 1 when one failed."""
    from helpseek.cluster.jobs import wait_for

    _settle(directory, everything, lambda chosen: wait_for(directory, chosen, _tell))


@jobs.command()
@click.pass_obj
def adopt(directory: Path) -> None:
    """Keep what orphans make: wait for those that run, cancel those in the queue, and unlock the directory.

    Snakemake then takes their results for its own.
    """
    from helpseek.cluster.jobs import cancel, wait_for
    from helpseek.cluster.master import living_master, unlock

    if master := living_master(directory):
        raise UserError(
            f"{directory}: Snakemake still runs ({master[0]}), so its jobs are no orphans; where it is gone, run "
            "`snakemake --unlock` first"
        )

    def settle(chosen: Sequence[ClusterJob]) -> list[ClusterJob]:
        # They have made nothing; Snakemake submits them again.
        cancel([job for job in chosen if job.state == "PENDING"])
        return wait_for(directory, [job for job in chosen if job.state != "PENDING"], _tell)

    try:
        _settle(directory, False, settle)
    finally:
        unlock(directory)
    click.echo("The directory is unlocked; run snakemake again.")


@jobs.command("cancel")
@every
@click.pass_obj
def cancel_jobs(directory: Path, everything: bool) -> None:
    """End the orphans and wait until they are gone. Finished episodes are kept."""
    from helpseek.cluster.jobs import cancel, wait_for
    from helpseek.cluster.master import living_master, unlock

    def settle(chosen: Sequence[ClusterJob]) -> list[ClusterJob]:
        cancel(chosen)
        wait_for(directory, chosen, _tell)
        return []

    _settle(directory, everything, settle)
    if living_master(directory) is None:
        unlock(directory)


def _settle(directory: Path, everything: bool, settle: Callable[[Sequence[Any]], list[Any]]) -> None:
    from helpseek.cluster.jobs import workflow_jobs

    chosen = [job for job in workflow_jobs(directory) if everything or job.orphan]
    if not chosen:
        click.echo("No jobs of this workflow are on the cluster." if everything else "No orphans are on the cluster.")
        return
    failed = [job for job in settle(chosen) if job.ended and job.state != "COMPLETED"]
    for job in failed:
        click.echo(f"job {job.number} ({job.work}) ended as {job.state}", err=True)
    if failed:
        sys.exit(1)


def _tell(message: str) -> None:
    click.echo(message, err=True)
