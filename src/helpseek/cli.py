"""`helpseek`: what needs no DAG. Commands are thin; the work is in the package, imported when a command runs."""

from __future__ import annotations

import click

from helpseek import __version__
from helpseek.commands.bfcl import bfcl
from helpseek.commands.doctor import doctor
from helpseek.commands.jobs import jobs
from helpseek.commands.tasks import tasks
from helpseek.commands.workflow import calibrate, config, docs, why
from helpseek.errors import InfraError, UserError, reported


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="%(version)s")
def app() -> None:
    """Measure, train and guard knowing when to ask a human. The pipeline itself runs with `snakemake`."""


for command in (tasks, bfcl, config, calibrate, why, doctor, jobs, docs):
    app.add_command(command)


def main() -> None:
    """Entry point: a user's mistake is one paragraph on standard error and exit code 1."""
    with reported():
        try:
            app(prog_name="helpseek")
        except InfraError as error:
            raise UserError(str(error)) from None


if __name__ == "__main__":
    main()
