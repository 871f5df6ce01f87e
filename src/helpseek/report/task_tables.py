"""The tables over tasks: their statistics, their checks, their selection."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Any

import pandas as pd

from helpseek.report.published import TASK_STATISTICS, TaskStatistics
from helpseek.tasks.task import BlockerType

TYPES = [str(kind) for kind in BlockerType]
FILTERS = {
    "solvable_without_help": "solved without the tool",
    "unsolvable": "not solved with full information",
}


def task_statistics(tasks: pd.DataFrame, blockers: pd.DataFrame) -> pd.DataFrame:
    """Tasks, blockers and shares of blocker types in percent, per domain (HiL-Bench Table 3).

    Shares are of blockers with a type; `n_untyped` have none. Where all tasks come from HiL-Bench, `published_*`
    columns give its own figures. With tasks of several task sets, both frames need a column `taskset`.
    """
    task_of = [name for name in ("taskset", "task_id") if name in tasks.columns and name in blockers.columns]
    typed = blockers.merge(tasks[[*task_of, "domain"]], on=task_of)
    rows = []
    for domain in ("sql", "swe", "all"):
        ours = tasks if domain == "all" else tasks[tasks["domain"] == domain]
        theirs = typed if domain == "all" else typed[typed["domain"] == domain]
        if len(ours) and (domain != "all" or tasks["domain"].nunique() > 1):
            rows.append({"domain": domain} | _statistics(len(ours), theirs))
    columns = ["domain", *(field.name for field in fields(TaskStatistics)), "n_untyped"]
    table = pd.DataFrame(rows, columns=columns)
    if len(tasks) and (tasks["source"] == "hilbench").all():
        published = pd.DataFrame([asdict(TASK_STATISTICS[domain]) for domain in table["domain"]])
        table = pd.concat([table, published.add_prefix("published_")], axis=1)
    return table


def _statistics(n_tasks: int, blockers: pd.DataFrame) -> dict[str, Any]:
    counts = blockers["type"].value_counts()
    typed = int(counts.sum())
    shares = {f"share_{kind}": 100 * counts.get(kind, 0) / typed if typed else float("nan") for kind in TYPES}
    per_task = {"n_tasks": n_tasks, "n_blockers": len(blockers), "blockers_per_task": len(blockers) / n_tasks}
    return per_task | shares | {"n_untyped": len(blockers) - typed}


def task_checks(checks: pd.DataFrame) -> pd.DataFrame:
    """How many tasks each check looked at and how many failed it; the last row has those excluded by any check."""
    task_of = [name for name in ("taskset", "task_id") if name in checks.columns]
    failed = ~checks["passed"].astype(bool)
    # One row per task and check: some checks look at each blocker of a task.
    by_task = checks.assign(failed=failed).groupby(["check", *task_of], sort=False, observed=True)["failed"].any()
    table = by_task.groupby("check", sort=False, observed=True).agg(n_tasks="size", n_failed="sum").reset_index()
    excluded = len(checks.loc[failed, task_of].drop_duplicates())
    total = {"check": "any (excluded)", "n_tasks": len(checks[task_of].drop_duplicates()), "n_failed": excluded}
    table = pd.concat([table, pd.DataFrame([total])], ignore_index=True)
    return table.assign(share_failed=table["n_failed"] / table["n_tasks"].where(table["n_tasks"] > 0))


def selection_table(selection: pd.DataFrame) -> pd.DataFrame:
    """What each filter of the paper dropped, and how many tasks are kept."""
    dropped = selection["dropped_by"].value_counts()
    counts = {"candidates": len(selection)}
    counts |= {f"dropped: {words}": int(dropped.get(name, 0)) for name, words in FILTERS.items()}
    counts["kept"] = int(selection["kept"].sum())
    table = pd.DataFrame({"tasks": list(counts), "n_tasks": list(counts.values())})
    return table.assign(share=table["n_tasks"] / len(selection) if len(selection) else float("nan"))
