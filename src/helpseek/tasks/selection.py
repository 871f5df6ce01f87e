"""The paper's task filter (Section 3): blocked tasks nobody passes by luck, and which can be passed at all."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from helpseek.condition import Condition


def select_tasks(
    task_ids: Sequence[str],
    episodes: Iterable[Mapping[str, Any]],
    *,
    max_blocked_pass_rate: float,
    min_full_info_pass_rate: float,
) -> list[dict[str, Any]]:
    """Rows of the `selection` table for tasks that were run.

    A task is kept when no model passes it without the tool in more than `max_blocked_pass_rate` of its attempts and at
    least one passes it with full information in `min_full_info_pass_rate` of them. Infrastructure errors do not count
    as attempts; a task without attempts under one of the two conditions is dropped by that condition's filter.
    """
    attempts: defaultdict[tuple[str, str, str], list[bool]] = defaultdict(list)
    for row in episodes:
        if row["resolved"] is not None:
            attempts[row["task_id"], row["condition"], row["model"]].append(row["resolved"])
    best = _best_rates(attempts)
    run = {task_id for task_id, _ in best}
    rows = []
    for task_id in task_ids:
        if task_id not in run:
            continue
        blocked = best.get((task_id, Condition.BLOCKED))
        full_info = best.get((task_id, Condition.FULL_INFO))
        if blocked is None or blocked > max_blocked_pass_rate:
            dropped_by = "solvable_without_help"
        elif full_info is None or full_info < min_full_info_pass_rate:
            dropped_by = "unsolvable"
        else:
            dropped_by = None
        rows.append(
            {
                "task_id": task_id,
                "kept": dropped_by is None,
                "dropped_by": dropped_by,
                "max_blocked_pass_rate": blocked,
                "max_full_info_pass_rate": full_info,
            }
        )
    return rows


def _best_rates(attempts: Mapping[tuple[str, str, str], list[bool]]) -> dict[tuple[str, str], float]:
    """The highest pass rate of any model for each task and condition."""
    best: dict[tuple[str, str], float] = {}
    for (task_id, condition, _), passed in attempts.items():
        rate = sum(passed) / len(passed)
        best[task_id, condition] = max(rate, best.get((task_id, condition), rate))
    return best
