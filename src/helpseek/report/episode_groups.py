"""Episodes summed by task within each model, domain, task set and condition: where every table over episodes starts.

All functions are vectorised over episodes; only the few groups are looped over.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pandas as pd

from helpseek.episodes.outcome import Outcome
from helpseek.scoring.intervals import Interval
from helpseek.scoring.pass_at_k import Attempts

KEYS = ["model", "domain", "taskset", "condition"]
TASK_KEYS = [*KEYS, "task_id"]


@dataclass(frozen=True, slots=True)
class Group:
    """One model on one task set under one condition, with its frame; `keys` are ready to head a row of a table."""

    keys: dict[str, Any]
    frame: pd.DataFrame


def groups(frame: pd.DataFrame) -> Iterator[Group]:
    """Split a frame that has the columns `KEYS`, in order of first appearance."""
    for values, part in frame.groupby(KEYS, sort=False, observed=True):
        yield Group(dict(zip(KEYS, values, strict=True)), part)


def is_valid(episodes: pd.DataFrame) -> pd.Series:
    """Which episodes count: all but infrastructure errors."""
    return episodes["outcome"] != str(Outcome.INFRA_ERROR)


def attempts_by_task(episodes: pd.DataFrame, passed: str) -> pd.DataFrame:
    """One row per task of a group: `TASK_KEYS`, n_valid, n_passed, first_pass (see `Attempts`).

    `passed` is the column that says whether an attempt passed; an attempt without a value there is not valid.
    """
    by_task = episodes.groupby(TASK_KEYS, sort=False, observed=True)
    value = episodes[passed].astype("boolean")
    rows = pd.DataFrame(
        {
            "task": by_task.ngroup().to_numpy(),
            "attempt": episodes["attempt"].to_numpy(),
            "n_valid": (is_valid(episodes) & value.notna()).to_numpy(dtype=bool),
        }
    )
    rows["n_passed"] = value.fillna(False).to_numpy(dtype=bool) & rows["n_valid"]
    rows = rows.sort_values(["task", "attempt"])
    rank = rows.groupby("task")["n_valid"].cumsum()
    rows["first_pass"] = rank.where(rows["n_passed"])
    sums = rows.groupby("task").agg({"n_valid": "sum", "n_passed": "sum", "first_pass": "min"})
    keys = episodes[TASK_KEYS].drop_duplicates(ignore_index=True)
    return pd.concat([keys, sums.fillna(0).astype("int64").reset_index(drop=True)], axis=1)


def as_attempts(tasks: pd.DataFrame) -> Attempts:
    """The rows of `attempts_by_task` as arrays."""
    return Attempts(*(tasks[name].to_numpy() for name in ("n_valid", "n_passed", "first_pass")))


def infra_errors(episodes: pd.DataFrame) -> pd.DataFrame:
    """Per group, indexed by `KEYS`: n_episodes that were run, n_infra_error among them."""
    rows = episodes[KEYS].assign(n_infra_error=~is_valid(episodes), n_episodes=1)
    return rows.groupby(KEYS, sort=False, observed=True)[["n_episodes", "n_infra_error"]].sum()


def estimate(name: str, interval: Interval) -> dict[str, float]:
    """An interval as three cells of a table: `name`, `name_low`, `name_high`."""
    return {name: interval.estimate, f"{name}_low": interval.low, f"{name}_high": interval.high}


def estimate_columns(*names: str) -> list[str]:
    """The columns that `estimate` makes of each name."""
    return [column for name in names for column in (name, f"{name}_low", f"{name}_high")]
