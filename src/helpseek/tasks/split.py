"""Train and held-out split of imported tasks: whole databases or repositories, never shared between the two."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from helpseek.tasks.task import Task


def assign_splits(
    tasks: Sequence[Task], held_out_share: float, seed: int, group_of: Callable[[Task], str]
) -> list[dict[str, Any]]:
    """Rows of the `splits` table. Groups, in random order, are held out while that brings the share nearer its goal.

    With one group only, or a share of 0 or 1, one side is empty.
    """
    groups: defaultdict[str, list[Task]] = defaultdict(list)
    for task in tasks:
        groups[group_of(task)].append(task)
    goal = held_out_share * len(tasks)
    order = sorted(groups)
    random.Random(f"{seed}/splits").shuffle(order)
    held_out: set[str] = set()
    size = 0
    for name in order:
        grown = size + len(groups[name])
        if abs(grown - goal) < abs(size - goal):
            held_out.add(name)
            size = grown
    return [
        {
            "task_id": task.task_id,
            "split": "held_out" if group_of(task) in held_out else "train",
            "group": group_of(task),
        }
        for task in tasks
    ]
