"""`helpseek`: what needs no DAG. Everything here is thin; the work is in the package."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from helpseek import __version__
from helpseek.errors import InfraError, UserError, reported

app = typer.Typer(
    name="helpseek",
    help="Measure, train and guard knowing when to ask a human. The pipeline itself runs with `snakemake`.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
tasks_app = typer.Typer(help="Look at, fetch and make tasks.", no_args_is_help=True)
app.add_typer(tasks_app, name="tasks")
inject_app = typer.Typer(help="Make blocked tasks of your own well-specified ones.", no_args_is_help=True)
tasks_app.add_typer(inject_app, name="inject")


@app.callback(invoke_without_command=True)
def show_version(
    version: Annotated[bool, typer.Option("--version", help="Show the version and leave.")] = False,
) -> None:
    if version:
        typer.echo(__version__)
        raise typer.Exit


@tasks_app.command("check")
def check_tasks(
    path: Annotated[Path, typer.Argument(help="A task folder, a folder of them, or a file of rows.")],
) -> None:
    """Print one line a task and a summary; exit 1 when a task cannot be used."""
    from helpseek.tasks.check import check_path, format_report

    report = check_path(path)
    typer.echo(format_report(report))
    if not report.usable:
        raise typer.Exit(1)


@tasks_app.command("fetch")
def fetch_tasks(
    destination: Annotated[Path, typer.Argument(help="Folder for rows and databases; an earlier fetch is resumed.")],
    task: Annotated[list[str] | None, typer.Option(help="Only this task, such as sql_7; may be repeated.")] = None,
    revision: Annotated[str | None, typer.Option(help="Revision of the data set.")] = None,
    harbor: Annotated[Path | None, typer.Option(help="Only the databases of these Harbor folders.")] = None,
) -> None:
    """Download the public HiL-Bench tasks with their databases; checksums are verified and kept."""
    from helpseek.tasks.fetch import fetch

    report = fetch(destination, tasks=task, revision=revision, harbor=harbor)
    typer.echo(f"{report.folder}: {report.downloaded} files downloaded, {report.kept} already there")


@app.command("calibrate")
def calibrate_judge(
    path: Annotated[Path, typer.Argument(help="Tasks, as for `tasks check`.")],
    judge: Annotated[str, typer.Option(help="embedding or lexical.")] = "embedding",
    precision_floor: Annotated[
        float | None, typer.Option(help="Least precision; the default seeks the best F1.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the negatives.")] = 0,
) -> None:
    """Choose a judge's threshold by domain from the trigger questions of tasks, each left out of its registry."""
    from helpseek.oracle.build import calibrate_on
    from helpseek.tasks.hilbench import load_tasks

    for domain, found in calibrate_on(load_tasks(path).tasks, judge, seed, precision_floor).items():
        quality = f"precision {found.precision.estimate:.3f}, recall {found.recall.estimate:.3f}, F1 {found.f1:.3f}"
        typer.echo(f"{domain}: threshold {found.threshold:.3f}: {quality} on the questions it was chosen on")


@inject_app.command("propose")
def inject_propose(
    tasks: Annotated[Path, typer.Argument(help="JSON lines: task_id, question, gold_sql, database, business_info.")],
    sheet: Annotated[Path, typer.Argument(help="The review sheet (CSV) to write.")],
    base_url: Annotated[str, typer.Option(help="An OpenAI-compatible server, up to and including /v1.")],
    model: Annotated[str, typer.Option(help="The model's name on that server.")],
    api_key_env: Annotated[str | None, typer.Option(help="Environment variable with the key.")] = None,
) -> None:
    """Let a model propose blockers for your own tasks, check them, and write a sheet for a human to review."""
    from helpseek.models.chat import ChatClient
    from helpseek.tasks.inject import propose, read_own_tasks

    count = propose(read_own_tasks(tasks), ChatClient(base_url, model, api_key_env=api_key_env), sheet)
    typer.echo(f"{sheet}: {count} proposed blockers; set `decision` to accept or reject in every row")


@inject_app.command("accept")
def inject_accept(
    tasks: Annotated[Path, typer.Argument(help="The same JSON lines.")],
    sheet: Annotated[Path, typer.Argument(help="The reviewed sheet.")],
    folder: Annotated[Path, typer.Argument(help="Folder for the task set; name it as `path` of a `files` task set.")],
) -> None:
    """Read a reviewed sheet back into a task set; exit 1 when an accepted task still fails a check."""
    from helpseek.tasks.inject import accept, read_own_tasks
    from helpseek.tasks.store import write_taskset

    made, faults = accept(read_own_tasks(tasks), sheet)
    write_taskset(folder, made)
    typer.echo("\n".join([*faults, f"{folder}: {len(made)} tasks, {len(faults)} failed checks"]))
    if faults:
        raise typer.Exit(1)


@app.command("config")
def check_config(
    files: Annotated[list[Path], typer.Argument(help="Overlays, merged in this order over config.yaml.")] = [],  # noqa: B006
    base: Annotated[Path, typer.Option(help="The configuration under the overlays.")] = Path("config.yaml"),
) -> None:
    """Check a configuration and print it as resolved, every default filled in."""
    import yaml

    from helpseek.config_file import load_config

    config = load_config(base, *files)
    typer.echo(yaml.safe_dump(config.model_dump(mode="json"), sort_keys=False, allow_unicode=True), nl=False)


@app.command("why", context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def why(context: typer.Context) -> None:
    """Say which jobs a `snakemake` call would run, and why; arguments go to `snakemake`."""
    from helpseek.why import explain

    typer.echo(explain(context.args))


@app.command("docs")
def docs(
    fix: Annotated[bool, typer.Option("--fix/--check", help="Rewrite stale files, or only name them.")] = False,
    root: Annotated[Path, typer.Option(help="The checkout.")] = Path(),
) -> None:
    """Compare the generated files (schema, config reference, data dictionary, environments) with the code."""
    from helpseek.docs import generated_files, stale_files

    stale = stale_files(root)
    if fix:
        texts = generated_files(root)
        for path in stale:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(texts[path])
            typer.echo(f"rewrote {path}")
    elif stale:
        names = ", ".join(str(path) for path in stale)
        raise UserError(f"{names}: out of date with the code; run `helpseek docs --fix`")


def main() -> None:
    """Entry point: a user's mistake is one paragraph on standard error and exit code 1."""
    with reported():
        try:
            app()
        except InfraError as error:
            raise UserError(str(error)) from None


if __name__ == "__main__":
    main()
