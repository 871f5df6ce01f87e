"""Snakemake's executor `helpseek-drmaa`: snakemake-executor-plugin-drmaa with the gaps closed that lose a run.

Resources become a native specification by themselves (`helpseek.cluster.native`), a job's end is read with its exit
code (Grid Engine calls a failed job DONE), a refused submission is one line, every job has a log whose path is shown
when it fails, a scheduler that is silent for a while loses no job, and an interrupt ends every job of the run.
"""

# The executors' interface and drmaa are untyped, so their classes are Any here.
# mypy: disable-error-code="import-untyped,misc"
# No `from __future__ import annotations`: Snakemake reads the settings' types as they stand.

import contextlib
import re
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import snakemake_executor_plugin_drmaa as upstream
from snakemake_interface_common.exceptions import WorkflowError
from snakemake_interface_executor_plugins.executors.base import SubmittedJobInfo
from snakemake_interface_executor_plugins.jobs import JobExecutorInterface
from snakemake_interface_executor_plugins.settings import ExecutorSettingsBase

from helpseek.cluster.native import JOB_NUMBER, native_specification, system_of
from helpseek.errors import UserError

common_settings = upstream.common_settings
LOGS = Path(".snakemake", "drmaa_logs")
# A scheduler that cannot say what became of a job is asked again for this long: a restart must not double a job.
SILENCE_S = 600.0


@dataclass
class ExecutorSettings(ExecutorSettingsBase):
    """`--helpseek-drmaa-args`. There is no log folder: slurm-drmaa takes one for the name of the output file."""

    args: str = field(
        default="",
        metadata={
            "help": "Options appended to every job's native specification; {threads}, {resources.NAME} and"
            " {wildcards.NAME} are filled in. In a profile, or on a command line with a space before the first dash."
        },
    )
    log_dir: ClassVar[None] = None


class Executor(upstream.Executor):
    """Submits, watches and cancels jobs through whichever DRMAA library DRMAA_LIBRARY_PATH names."""

    def __post_init__(self) -> None:
        # By the DRM's job id. Snakemake's own list is empty while it polls, and an interrupt may come just then.
        self.submitted: dict[str, SubmittedJobInfo] = {}
        try:
            super().__post_init__()
        except WorkflowError as error:
            raise WorkflowError(f"{error} (DRMAA_LIBRARY_PATH names the scheduler's libdrmaa.so)") from None
        except OSError as error:
            hint = " With GLIBC_TUNABLES=glibc.rtld.optional_static_tls=16384 it may." if "TLS" in str(error) else ""
            raise WorkflowError(f"the library in DRMAA_LIBRARY_PATH does not load: {error}.{hint}") from None
        except _refusals() as error:
            raise WorkflowError(f"the scheduler does not answer through DRMAA: {_said(error)}") from None

    def run_job(self, job: JobExecutorInterface) -> None:
        """Submit `job`. One that is wrong or refused is one line on the terminal and a failed job."""
        native = ""
        try:
            log, native = self._native(job)
            job_info = self._submit(job, log, native)
        except UserError as error:
            self._refuse(job, str(error))
        except _refusals() as error:
            self._refuse(job, f"refused by the scheduler: {_said(error)} (native specification: {native})")
        else:
            self.logger.info(f"Submitted job {job.jobid} ({job.name}) as {job_info.external_jobid}: {native}")
            self.report_job_submission(job_info)

    async def check_active_jobs(self, active_jobs: list[SubmittedJobInfo]) -> AsyncIterator[SubmittedJobInfo]:
        """Report the jobs that ended, by their exit codes; yield the others."""
        for job_info in active_jobs:
            async with self.status_rate_limiter:
                failure = self._failure(job_info)
            if failure is None:
                yield job_info
                continue
            self.submitted.pop(job_info.external_jobid, None)
            Path(job_info.aux["jobscript"]).unlink(missing_ok=True)
            if failure:
                if job_info.job.is_group():
                    # Snakemake drops the message of a group's error.
                    self.logger.error(f"group {job_info.job.name}: {failure}")
                self.report_job_error(job_info, msg=f"{failure}. ", aux_logs=[job_info.aux["log"]])
            else:
                self.report_job_success(job_info)

    def cancel_jobs(self, active_jobs: list[SubmittedJobInfo]) -> None:
        """End every job of this run that has not been seen to end."""
        for job_info in list(self.submitted.values()):
            # One that the scheduler will not end must not keep the others alive.
            with contextlib.suppress(*_refusals()):
                super().cancel_jobs([job_info])

    def _native(self, job: JobExecutorInterface) -> tuple[str, str]:
        """The log's path, with the job's number still open, and the native specification."""
        # Imported late: Snakemake imports its executors.
        from snakemake.exceptions import RuleException

        log = str(LOGS / re.sub(r"[^A-Za-z0-9_-]", "_", job.name) / f"{JOB_NUMBER}.log")
        system = system_of(job.resources, self.session.drmsInfo)
        native = native_specification(job.resources, job.threads, log, system=system)
        try:
            args = job.format_wildcards(self.drmaa_args).strip()
        except (RuleException, WorkflowError) as error:
            raise UserError(f"helpseek-drmaa-args {self.drmaa_args!r}: {_said(error)}") from None
        return log, f"{native} {args}".strip()

    def _submit(self, job: JobExecutorInterface, log: str, native: str) -> SubmittedJobInfo:
        jobscript = self.get_jobscript(job)
        self.write_jobscript(job, jobscript)
        Path(log).parent.mkdir(parents=True, exist_ok=True)
        template = self.session.createJobTemplate()
        try:
            template.remoteCommand = jobscript
            template.jobName = Path(jobscript).name
            # Where the log's path begins; Grid Engine would start in the home folder.
            template.workingDirectory = str(Path.cwd())
            template.nativeSpecification = native
            number = self.session.runJob(template)
        finally:
            self.session.deleteJobTemplate(template)
        aux = {"jobscript": jobscript, "log": log.replace(JOB_NUMBER, number)}
        job_info = SubmittedJobInfo(job, external_jobid=number, aux=aux)
        self.submitted[number] = job_info
        return job_info

    def _failure(self, job_info: SubmittedJobInfo) -> str | None:
        """None while the job is waiting or running, '' after success, else why it failed."""
        import drmaa

        number, aux = job_info.external_jobid, job_info.aux
        try:
            end = self.session.wait(number, drmaa.Session.TIMEOUT_NO_WAIT)
        except drmaa.ExitTimeoutException:
            aux.pop("silent_since", None)
            return None
        except drmaa.InvalidJobException as error:
            return f"the scheduler does not know the job: {_said(error)}"
        except _refusals() as error:
            if time.monotonic() - aux.setdefault("silent_since", time.monotonic()) < SILENCE_S:
                return None
            return f"the scheduler has not answered for {SILENCE_S:.0f} s: {_said(error)}"
        except Exception as error:
            # drmaa has no class for code 24, which Grid Engine gives for a job that left no account.
            if type(error) is not Exception:
                raise
            return f"the job was deleted or could not be started: {_said(error)}"
        return _how_it_ended(end)

    def _refuse(self, job: JobExecutorInterface, why: str) -> None:
        self.logger.error(f"rule {job.name}: {why}")
        self.workflow.scheduler.error_callback(job)


def _refusals() -> tuple[type[Exception], ...]:
    """Whatever a DRMAA library raises. Imported late: importing drmaa loads the library, which a dry run lacks."""
    from drmaa.errors import DrmaaException

    return (DrmaaException,)


def _how_it_ended(end: Any) -> str:
    """'' after success, else in what way the job failed, by DRMAA's record of its end."""
    if end.wasAborted:
        return "the job was deleted or could not be started"
    if end.hasSignal:
        return f"the job was killed by {end.terminatedSignal}: by hand, or over its time or memory"
    return "" if end.hasExited and end.exitStatus == 0 else f"the job ended with exit code {end.exitStatus}"


def _said(error: Any) -> str:
    """The DRM's own words on one line."""
    return " ".join(str(error).split())
