"""Commands beside the workflow: check a configuration, calibrate a judge, say why jobs run, rewrite generated files."""

from __future__ import annotations

from pathlib import Path

import click

from helpseek.errors import UserError

PATH = click.Path(path_type=Path)


@click.command()
@click.argument("files", type=PATH, nargs=-1)
@click.option("--base", type=PATH, default=Path("config.yaml"), show_default=True, help="What FILES are merged over.")
def config(files: tuple[Path, ...], base: Path) -> None:
    """Check a configuration and print it as resolved, every default filled in.

    FILES are overlays, merged in this order.
    """
    import yaml

    from helpseek.config_file import load_config

    resolved = load_config(base, *files).model_dump(mode="json")
    click.echo(yaml.safe_dump(resolved, sort_keys=False, allow_unicode=True), nl=False)


@click.command()
@click.argument("path", type=PATH)
@click.option("--judge", default="embedding", show_default=True, help="embedding or lexical.")
@click.option("--precision-floor", type=float, help="Least precision; the default seeks the best F1.")
@click.option("--seed", default=0, show_default=True, help="Seed of the negatives.")
def calibrate(path: Path, judge: str, precision_floor: float | None, seed: int) -> None:
    """Choose a judge's threshold by domain from the trigger questions of tasks, each left out of its registry.

    PATH as for `tasks check`.
    """
    from helpseek.oracle.build import calibrate_on
    from helpseek.tasks.hilbench import load_tasks

    for domain, found in calibrate_on(load_tasks(path).tasks, judge, seed, precision_floor).items():
        quality = f"precision {found.precision.estimate:.3f}, recall {found.recall.estimate:.3f}, F1 {found.f1:.3f}"
        click.echo(f"{domain}: threshold {found.threshold:.3f}: {quality} on the questions it was chosen on")


@click.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
@click.pass_context
def why(context: click.Context) -> None:
    """Say which jobs a `snakemake` call would run, and why; arguments go to `snakemake`."""
    from helpseek.why import explain

    click.echo(explain(context.args))


@click.command()
@click.option("--fix/--check", default=False, help="Rewrite stale files, or only name them (the default).")
@click.option("--root", type=PATH, default=Path(), show_default=True, help="The checkout.")
def docs(fix: bool, root: Path) -> None:
    """Compare the generated files (schema, config reference, data dictionary, environments) with the code."""
    from helpseek.docs import generated_files, stale_files

    stale = stale_files(root)
    if fix:
        texts = generated_files(root)
        for path in stale:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(texts[path])
            click.echo(f"rewrote {path}")
    elif stale:
        names = ", ".join(str(path) for path in stale)
        raise UserError(f"{names}: out of date with the code; run `helpseek docs --fix`")
