"""The table of Ask-F1 (HiL-Bench Table 1, right half), with the reference's variant and recall per blocker type."""

from __future__ import annotations

import pandas as pd

from helpseek.condition import Condition
from helpseek.report.episode_groups import KEYS, TASK_KEYS, estimate, estimate_columns, groups, infra_errors, is_valid
from helpseek.scoring import ask_f1
from helpseek.scoring.intervals import DEFAULT_RESAMPLING, Resampling, cluster_bootstraps, on_columns, ratio
from helpseek.tasks.task import BlockerType

ASKING = (str(Condition.TOOL), str(Condition.SPEC_ONLY))
COUNTS = ["n_questions", "n_resolved", "n_blockers"]
TYPES = [str(kind) for kind in BlockerType]
# What is summed by task, and where each estimate finds its sums.
SUMS = (
    *COUNTS,
    *(f"{name}_spoken" for name in COUNTS),
    *(f"{what}_{kind}" for kind in TYPES for what in ("resolved", "present")),
)
STATISTICS = {
    "precision": on_columns(ask_f1.precision, 0, 1, 2),
    "recall": on_columns(ask_f1.recall, 0, 1, 2),
    "ask_f1": on_columns(ask_f1.f1, 0, 1, 2),
    "ask_f1_reference": on_columns(ask_f1.f1_reference, 3, 4, 5),
} | {f"recall_{kind}": on_columns(ratio, 6 + 2 * n, 7 + 2 * n) for n, kind in enumerate(TYPES)}


def ask_quality(
    episodes: pd.DataFrame, questions: pd.DataFrame, blockers: pd.DataFrame, resampling: Resampling = DEFAULT_RESAMPLING
) -> pd.DataFrame:
    """Precision, recall and Ask-F1 per model, domain, task set and condition with a human to ask.

    Micro-averaged over the `n_episodes` valid ones, `n_silent` of which asked nothing. `ask_f1_reference` leaves those
    out. `recall_TYPE` is over the `n_blockers_TYPE` blockers of that type; precision has no value per type
    (`scoring.ask_f1`), and blockers without a type count in none. `blockers` may have a column `taskset`; without it,
    task ids must be unique. Raises `ValueError` when they are not.
    """
    asking = episodes[episodes["condition"].isin(ASKING)]
    valid = asking[is_valid(asking)]
    tasks = _counts_by_task(valid)
    tasks = _with_types(tasks, valid, questions, blockers)
    errors = infra_errors(asking)
    rows = []
    for group in groups(tasks):
        frame = group.frame
        totals = frame[["n_episodes", "n_silent", *COUNTS]].sum().astype(int).to_dict()
        n_infra_error = int(errors.loc[tuple(group.keys.values()), "n_infra_error"])
        row = group.keys | {"n_tasks": len(frame)} | totals | {"n_infra_error": n_infra_error}
        sums = frame[list(SUMS)].to_numpy(dtype=float)
        for name, interval in cluster_bootstraps(sums, STATISTICS, resampling).items():
            row |= estimate(name, interval)
        row |= {f"n_blockers_{kind}": int(frame[f"present_{kind}"].sum()) for kind in TYPES}
        rows.append(row)
    return pd.DataFrame(rows, columns=_columns())


def _columns() -> list[str]:
    head = [*KEYS, "n_tasks", "n_episodes", "n_silent", *COUNTS, "n_infra_error"]
    types = [column for kind in TYPES for column in (*estimate_columns(f"recall_{kind}"), f"n_blockers_{kind}")]
    return [*head, *estimate_columns("precision", "recall", "ask_f1", "ask_f1_reference"), *types]


def _counts_by_task(valid: pd.DataFrame) -> pd.DataFrame:
    """Per task: episodes, silent ones, and `COUNTS` over all and over those that asked."""
    silent = valid["n_questions"] == 0
    rows = valid[[*TASK_KEYS, *COUNTS]].assign(n_episodes=1, n_silent=silent.astype("int64"))
    for name in COUNTS:
        rows[f"{name}_spoken"] = valid[name].where(~silent, 0)
    return rows.groupby(TASK_KEYS, sort=False, observed=True).sum().reset_index()


def _with_types(
    tasks: pd.DataFrame, valid: pd.DataFrame, questions: pd.DataFrame, blockers: pd.DataFrame
) -> pd.DataFrame:
    """Add `present_TYPE` and `resolved_TYPE`: blockers of each type over all episodes of the task."""
    task_of = [name for name in ("taskset", "task_id") if name in blockers.columns]
    if blockers.duplicated([*task_of, "blocker_id"]).any():
        raise ValueError("a blocker stands twice: blockers of several task sets need a column `taskset`")
    present = blockers.groupby([*task_of, "type"], observed=True).size().unstack(fill_value=0)
    present = present.reindex(columns=TYPES, fill_value=0).add_prefix("present_").reset_index()
    tasks = tasks.merge(present, on=task_of, how="left")
    columns = [f"present_{kind}" for kind in TYPES]
    tasks[columns] = tasks[columns].fillna(0).mul(tasks["n_episodes"], axis=0)

    hits = questions.loc[questions["verdict"] == "resolved", ["episode_id", "blocker_id"]].drop_duplicates()
    hits = hits.merge(valid[["episode_id", *TASK_KEYS]], on="episode_id")
    hits = hits.merge(blockers[[*task_of, "blocker_id", "type"]], on=[*task_of, "blocker_id"])
    resolved = hits.groupby([*TASK_KEYS, "type"], observed=True).size().unstack(fill_value=0)
    resolved = resolved.reindex(columns=TYPES, fill_value=0).add_prefix("resolved_").reset_index()
    tasks = tasks.merge(resolved, on=TASK_KEYS, how="left")
    columns = [f"resolved_{kind}" for kind in TYPES]
    tasks[columns] = tasks[columns].fillna(0)
    return tasks
