"""Entries of the table and figure rules: read the finished shards, make every table in every format, draw."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from helpseek import config
from helpseek.errors import UserError
from helpseek.records import read_table
from helpseek.report.ask_table import ask_quality
from helpseek.report.figures import judgment_gap_figure, precision_recall_figure
from helpseek.report.formats import write_formats
from helpseek.report.oracle_table import oracle_by_task, oracle_validation
from helpseek.report.tables import complementary, judgment_gap, main_results
from helpseek.report.task_tables import selection_table, task_checks, task_statistics
from helpseek.scoring.intervals import Resampling

Files = Mapping[str, Any]


def make_tables(inputs: Files, params: Mapping[str, Any], folder: Path) -> None:
    """Write every table to `folder`. Raises `UserError` when too many episodes ended in an infrastructure error."""
    settings = config.Tables.model_validate(params["tables"])
    resampling = Resampling(settings.confidence, settings.bootstrap, params["seed"])
    k, percent = params["attempts"], f"{100 * settings.confidence:g} % intervals"
    episodes = _episodes(inputs["episodes"], "episodes")
    _refuse_broken(episodes, settings.max_infra_error_rate)
    questions = _episodes(inputs["questions"], "questions")
    tasks, blockers, checks, selection = (
        _taskset_frames(inputs[name], name) for name in ("tasks", "blockers", "checks", "selection")
    )
    validation = read_table(Path(inputs["validation"]), "validation").to_pandas()
    which = ""
    if params["selected_only"]:
        episodes = _selected(episodes, selection)
        which = " Selected tasks only."
    tables = {
        "main_results": (
            main_results(episodes, k, resampling),
            f"Tasks passed in the first j attempts; Wilson {percent}, bootstrap by task for unbiased estimates.{which}",
        ),
        "judgment_gap": (
            judgment_gap(episodes, k, resampling),
            f"Judgment gap: pass@{k} with full information less pass@{k} with the tool, paired by task; "
            f"bootstrap {percent}.{which}",
        ),
        "ask_quality": (
            ask_quality(episodes, questions, blockers, resampling),
            f"Quality of questions, micro over episodes; cluster bootstrap {percent} by task.{which}",
        ),
        "complementary": (
            complementary(episodes, resampling),
            f"Questions, steps and tokens per episode; cluster bootstrap {percent} by task.{which}",
        ),
        "task_statistics": (task_statistics(tasks, blockers), "The tasks, in the layout of HiL-Bench Table 3."),
        "task_checks": (task_checks(checks), "Invariants of the tasks; a task that fails any is left out of sweeps."),
        "selection": (selection_table(selection), "The paper's task filter over these sweeps."),
        "oracle_validation": (
            oracle_validation(validation, settings.confidence),
            f"The judge on labelled questions; Wilson {percent}. Round 0 is the one to quote.",
        ),
        "oracle_by_task": (
            oracle_by_task(validation, settings.confidence, params["recall_target"]),
            f"The judge by task, last round; Wilson {percent}. Flagged: recall under {params['recall_target']:.0%}.",
        ),
    }
    for name, (frame, caption) in tables.items():
        write_formats(frame, folder / name, caption)


def make_figures(inputs: Files, folder: Path) -> None:
    """Draw every figure from the finished tables into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    judgment_gap_figure(_finished(inputs["main_results"], "pass_at_1"), folder / "judgment_gap.svg")
    precision_recall_figure(_finished(inputs["ask_quality"], "precision"), folder / "precision_recall.svg")


def _finished(file: str, column: str) -> pd.DataFrame:
    """A finished table, known by one of its columns. Raises `UserError` when it is damaged or another one."""
    try:
        table = pd.read_parquet(file)
    except (pa.ArrowInvalid, OSError) as error:
        reason = " ".join(str(error).split())
        raise UserError(f"{file}: not a readable Parquet file ({reason}); delete it and rerun its rule") from None
    if column not in table:
        raise UserError(f"{file}: lacks the column `{column}`, so it is another table; delete it and rerun its rule")
    return table


def _episodes(files: Iterable[str], schema: str) -> pd.DataFrame:
    """All shards of one table as one frame."""
    return pd.concat([read_table(Path(file), schema).to_pandas() for file in files], ignore_index=True)


def _taskset_frames(files: Iterable[str], schema: str) -> pd.DataFrame:
    """One table of every task set as one frame, with the column `taskset`."""
    paths = [Path(file) for file in files]
    frames = [read_table(path, schema).to_pandas().assign(taskset=path.parent.name) for path in paths]
    return pd.concat(frames, ignore_index=True)


def _selected(episodes: pd.DataFrame, selection: pd.DataFrame) -> pd.DataFrame:
    kept = selection.loc[selection["kept"], ["taskset", "task_id"]]
    if kept.empty:
        raise UserError("selection.apply: the paper's filter kept no task; see results/tables/selection.md")
    return episodes.merge(kept, on=["taskset", "task_id"])


def _refuse_broken(episodes: pd.DataFrame, limit: float) -> None:
    """Tables over a broken sweep would look like results: name the worst shard instead."""
    broken = episodes["outcome"] == "infra_error"
    if broken.mean() <= limit:
        return
    rates = broken.groupby([episodes["model"], episodes["taskset"], episodes["condition"]]).mean()
    model, taskset, condition = rates.idxmax()
    example = episodes.loc[broken, "error"].iloc[0]
    raise UserError(
        f"{broken.mean():.0%} of the episodes failed by infrastructure, more than `tables.max_infra_error_rate` = "
        f"{limit:.0%}; worst: {model} {taskset} {condition} ({rates.max():.0%}), for example: {example:.300}. Mend "
        f"that, then `snakemake --forcerun evaluate` (finished episodes are kept)"
    )
