"""`helpseek tasks …`: look at, fetch and make tasks."""

from __future__ import annotations

from pathlib import Path

import click

PATH = click.Path(path_type=Path)


@click.group()
def tasks() -> None:
    """Look at, fetch and make tasks."""


@tasks.command()
@click.argument("path", type=PATH)
def check(path: Path) -> None:
    """Print one line a task and a summary; exit 1 when a task cannot be used.

    PATH is a task folder, a folder of them, or a file of rows.
    """
    from helpseek.tasks.check import check_path, format_report

    report = check_path(path)
    click.echo(format_report(report))
    if not report.usable:
        raise SystemExit(1)


@tasks.command()
@click.argument("destination", type=PATH)
@click.option("--task", multiple=True, help="Only this task, such as sql_7; may be repeated.")
@click.option("--revision", help="Revision of the data set.")
@click.option("--harbor", type=PATH, help="Only the databases of these Harbor folders.")
def fetch(destination: Path, task: tuple[str, ...], revision: str | None, harbor: Path | None) -> None:
    """Download the public HiL-Bench tasks with their databases; checksums are verified and kept.

    DESTINATION is a folder for rows and databases; an earlier fetch is resumed.
    """
    from helpseek.tasks.fetch import fetch as fetch_tasks

    report = fetch_tasks(destination, tasks=list(task) or None, revision=revision, harbor=harbor)
    click.echo(f"{report.folder}: {report.downloaded} files downloaded, {report.kept} already there")


@tasks.group()
def inject() -> None:
    """Make blocked tasks of your own well-specified ones."""


@inject.command()
@click.argument("tasks_file", type=PATH, metavar="TASKS")
@click.argument("sheet", type=PATH)
@click.option("--base-url", required=True, help="An OpenAI-compatible server, up to and including /v1.")
@click.option("--model", required=True, help="The model's name on that server.")
@click.option("--api-key-env", help="Environment variable with the key.")
def propose(tasks_file: Path, sheet: Path, base_url: str, model: str, api_key_env: str | None) -> None:
    """Let a model propose blockers for your own tasks, check them, and write a sheet for a human to review.

    TASKS holds JSON lines: task_id, question, gold_sql, database, business_info. SHEET is the CSV to write.
    """
    from helpseek.models.chat import ChatClient
    from helpseek.tasks.inject import propose as propose_blockers
    from helpseek.tasks.inject import read_own_tasks

    client = ChatClient(base_url, model, api_key_env=api_key_env)
    count = propose_blockers(read_own_tasks(tasks_file), client, sheet)
    click.echo(f"{sheet}: {count} proposed blockers; set `decision` to accept or reject in every row")


@inject.command()
@click.argument("tasks_file", type=PATH, metavar="TASKS")
@click.argument("sheet", type=PATH)
@click.argument("folder", type=PATH)
def accept(tasks_file: Path, sheet: Path, folder: Path) -> None:
    """Read a reviewed SHEET back into a task set; exit 1 when an accepted task still fails a check.

    Name FOLDER as `path` of a `files` task set.
    """
    from helpseek.tasks.inject import accept as accept_blockers
    from helpseek.tasks.inject import read_own_tasks
    from helpseek.tasks.store import write_taskset

    made, faults = accept_blockers(read_own_tasks(tasks_file), sheet)
    write_taskset(folder, made)
    click.echo("\n".join([*faults, f"{folder}: {len(made)} tasks, {len(faults)} failed checks"]))
    if faults:
        raise SystemExit(1)
