"""`helpseek doctor`: what would make a run fail here, with the fix."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path

import click

PATH = click.Path(path_type=Path)
MARKS = {"ok": "ok", "skipped": "-", "warning": "warn", "error": "FAIL"}


@click.command()
@click.option("--profile", "profile_path", type=PATH, help="The Snakemake profile that will be used.")
@click.option("--configfile", "overlays", type=PATH, multiple=True, help="The configuration; may be given again.")
@click.option("--base", type=PATH, default=Path("config.yaml"), show_default=True, help="What they are merged over.")
@click.option("--directory", type=PATH, default=Path(), help="The working directory (default: this one).")
@click.option("--json", "as_json", is_flag=True, help="A list of objects instead of text.")
def doctor(profile_path: Path | None, overlays: tuple[Path, ...], base: Path, directory: Path, as_json: bool) -> None:
    """Check this machine, cluster and configuration; exit code 1 if a run would fail."""
    from helpseek.cluster.doctor import Profile, examine, read_profile
    from helpseek.config_file import load_config
    from helpseek.errors import UserError

    if not directory.is_dir():
        raise UserError(f"{directory}: no such folder")
    profile = read_profile(profile_path) if profile_path else Profile()
    findings = []
    for finding in examine(profile, load_config(base, *overlays), directory):
        findings.append(finding)
        if not as_json:
            click.echo(f"{MARKS[finding.status]:4}  {finding.subject}: {finding.found}")
            if finding.fix:
                click.echo(f"      fix: {finding.fix}")
    errors = sum(finding.status == "error" for finding in findings)
    if as_json:
        click.echo(json.dumps([asdict(finding) for finding in findings], indent=1, ensure_ascii=False))
    else:
        click.echo(
            f"{errors} of {len(findings)} would make a run fail." if errors else "Nothing would make a run fail."
        )
    sys.exit(1 if errors else 0)
