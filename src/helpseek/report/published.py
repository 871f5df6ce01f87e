"""Figures that HiL-Bench has published, to stand beside ours.

Source of the task statistics: Table 3 of the paper (arXiv 2604.09408, v4) and the benchmark's leaderboard page of
2026-06-12; 300 tasks in all, of which 200 are public, so that ours over the public ones may differ a little.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class TaskStatistics:
    """One column of Table 3; shares of blocker types are in percent."""

    n_tasks: int
    n_blockers: int
    blockers_per_task: float
    share_missing: float
    share_ambiguous: float
    share_contradictory: float


TASK_STATISTICS: dict[Literal["sql", "swe", "all"], TaskStatistics] = {
    "sql": TaskStatistics(150, 598, 3.99, 45.3, 41.3, 13.4),
    "swe": TaskStatistics(150, 533, 3.55, 38.5, 30.2, 31.3),
    "all": TaskStatistics(300, 1131, 3.77, 42.1, 36.1, 21.8),
}
