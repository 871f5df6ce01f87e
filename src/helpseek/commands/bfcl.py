"""`helpseek bfcl …`: score stored BFCL outputs without the workflow."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from helpseek.errors import UserError

PATH = click.Path(path_type=Path)
DEFINITIONS = ("certified", "judgement-free", "uncertified", "login", "comparable", "no-compound")


def home_options(command: Callable[..., None]) -> Callable[..., None]:
    """Options of every command that needs BFCL's data."""
    home = click.option(
        "--home", type=PATH, default=Path("results/bfcl"), show_default=True, help="Where BFCL's data is kept."
    )
    wheel = click.option("--wheel", type=PATH, help="BFCL's wheel as a file, where no package index can be reached.")
    return home(wheel(command))


def choice(name: str, values: tuple[str, ...], meaning: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """An option of a few values, the first the default."""
    return click.option(name, type=click.Choice(values), default=values[0], show_default=True, help=meaning)


@click.group()
def bfcl() -> None:
    """Score the decision to ask or act in stored BFCL multi-turn outputs."""


@bfcl.command()
@home_options
def data(home: Path, wheel: Path | None) -> None:
    """Install BFCL's data in a folder of its own, check it, and say how the pairs come about."""
    from helpseek.bfcl.data import obtain
    from helpseek.bfcl.default_index import default_index
    from helpseek.bfcl.listing import filter_table

    click.echo(f"{obtain(home, wheel)}: checked\n")
    click.echo(filter_table(default_index(home, wheel)))


@bfcl.command()
@click.argument("directories", metavar="DIR...", type=PATH, nargs=-1, required=True)
@choice("--pairs", DEFINITIONS, "Which pairs to score.")
@click.option("--out", type=PATH, help="Write every decision with its evidence (Parquet).")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a model, one a line.")
@click.option("--sensitivity", is_flag=True, help="Also show what other readings would change.")
@click.option("--allow-partial", is_flag=True, help="Score and mark incomplete outputs.")
@click.option("--scores", type=PATH, help="BFCL's score folder; found beside `result/` otherwise.")
@choice("--non-json-arguments", ("attempt", "ignore"), "A call whose arguments are not JSON.")
@choice("--name-suffix", ("keep", "strip"), "Markup leaked into a function's name; kept, it is on no tool list.")
@choice("--proposals", ("ignore", "attempt"), "Calls that prose mentions without making them.")
@choice("--unreached", ("no_call", "exclude"), "A trajectory that ended before the scored turn.")
@click.option(
    "--bootstrap",
    type=click.IntRange(min=0),
    default=10_000,
    show_default=True,
    help="Resamples of the cluster bootstrap; 0: no intervals.",
)
@click.option("--seed", default=0, show_default=True, help="Seed of the bootstrap.")
@home_options
def score(
    directories: tuple[Path, ...],
    pairs: str,
    out: Path | None,
    as_json: bool,
    sensitivity: bool,
    allow_partial: bool,
    scores: Path | None,
    bootstrap: int,
    seed: int,
    home: Path,
    wheel: Path | None,
    **rules: Any,
) -> None:
    """How often a model acts when it has what it needs, and holds back when it does not.

    DIR is what `bfcl generate` writes: result/MODEL, or a folder of such. Exit code 1 when one cannot be scored.
    """
    from helpseek.bfcl.decisions import Rules
    from helpseek.bfcl.default_index import default_index
    from helpseek.bfcl.listing import score_table, sensitivity_table
    from helpseek.bfcl.scorecard import Options, score_directories
    from helpseek.bfcl.scorecard import as_json as json_line

    resampling = None
    if bootstrap:
        # Here, because NumPy takes longer to import than the scoring takes.
        from helpseek.scoring.intervals import Resampling

        resampling = Resampling(resamples=bootstrap, seed=seed)
    index = default_index(home, wheel)
    options = Options(pairs, Rules(**rules), resampling, allow_partial, scores)
    cards, faults = score_directories(directories, index, options)
    if as_json:
        for card in cards:
            click.echo(json_line(card, index if sensitivity else None))
    elif cards:
        click.echo(score_table(cards))
        if sensitivity:
            click.echo("\n" + sensitivity_table(cards, index))
    if out and cards:
        from helpseek.bfcl.decision_rows import write_decisions

        write_decisions(cards, index, out)
    if faults:
        raise UserError("\nerror: ".join(faults))


@bfcl.command()
@click.argument("pair")
@click.option("--model", type=PATH, required=True, help="The model's result directory.")
@home_options
def show(pair: str, model: Path, home: Path, wheel: Path | None) -> None:
    """Show the twin turns of a pair side by side with what the model did on each.

    PAIR is for example miss_param_7, P7 or F7.
    """
    from helpseek.bfcl.decisions import PAPER, observe
    from helpseek.bfcl.default_index import default_index
    from helpseek.bfcl.output_files import find_models
    from helpseek.bfcl.outputs import read_outputs
    from helpseek.bfcl.show import pair_named, pair_text

    index = default_index(home, wheel)
    wanted = pair_named(pair, index)
    for files in find_models(model):
        outputs = read_outputs(files, index.anchors(), index.parameters)
        sides = next(both for both in observe(index, outputs) if both.pair == wanted)
        click.echo(f"{files.model}\n{pair_text(sides, index, PAPER)}")


@bfcl.command()
@home_options
def audit(home: Path, wheel: Path | None) -> None:
    """Look for faulty items by machine, and say how well each heuristic finds those that people listed."""
    from helpseek.bfcl.build import run_audit
    from helpseek.bfcl.data import load, obtain
    from helpseek.bfcl.default_index import default_index
    from helpseek.bfcl.listing import audit_table

    index = default_index(home, wheel)
    package = obtain(home, wheel)
    click.echo(audit_table(*run_audit(package, load(package), index)))


@bfcl.command()
@click.argument("folder", type=PATH)
@home_options
def reference(folder: Path, home: Path, wheel: Path | None) -> None:
    """Write outputs of behaviours with known scores: act_always 50, ask_always 50, gold 100, guess_then_read 50.

    FOLDER gets one result directory a behaviour.
    """
    from helpseek.bfcl.build import write_references

    for path in write_references(folder, home, wheel):
        click.echo(path)
    click.echo(f"score them with `helpseek bfcl score {folder}`", err=True)
