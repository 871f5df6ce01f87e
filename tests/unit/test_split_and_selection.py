"""Splits keep groups whole; the paper's filter keeps what it says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpseek.tasks.selection import select_tasks
from helpseek.tasks.split import assign_splits
from helpseek.tasks.task import Registry, Task


def tasks_of(groups):
    return [
        Task(task_id=f"{group}_{n}", domain="sql", source="hilbench", problem="", registry=Registry(blockers=()))
        for group, size in groups.items()
        for n in range(size)
    ]


def group_of(task):
    return task.task_id.rsplit("_", 1)[0]


@given(
    groups=st.dictionaries(st.text("abcdefgh", min_size=1, max_size=3), st.integers(1, 12), min_size=1, max_size=8),
    share=st.floats(0, 1),
    seed=st.integers(0, 99),
)
def test_groups_stay_whole_and_the_share_is_near(groups, share, seed):
    rows = assign_splits(tasks_of(groups), share, seed, group_of)
    sides = {}
    for row in rows:
        assert sides.setdefault(row["group"], row["split"]) == row["split"]
    held_out = sum(row["split"] == "held_out" for row in rows)
    assert abs(held_out - share * len(rows)) <= max(groups.values())
    assert rows == assign_splits(tasks_of(groups), share, seed, group_of)


def episodes(task_id, model, condition, *passed):
    return [{"task_id": task_id, "model": model, "condition": condition, "resolved": resolved} for resolved in passed]


@pytest.mark.parametrize(
    ("rows", "dropped_by"),
    [
        (episodes("t", "m", "blocked", *[False] * 20) + episodes("t", "m", "full_info", *[True] * 20), None),
        (episodes("t", "m", "blocked", True, *[False] * 19) + episodes("t", "m", "full_info", True), None),
        (
            episodes("t", "m", "blocked", True, *[False] * 18) + episodes("t", "m", "full_info", True),
            "solvable_without_help",
        ),
        (episodes("t", "m", "blocked", False) + episodes("t", "m", "full_info", *[True] * 17, *[False] * 3), None),
        (
            episodes("t", "m", "blocked", False) + episodes("t", "m", "full_info", *[True] * 16, *[False] * 4),
            "unsolvable",
        ),
        (
            episodes("t", "weak", "blocked", False)
            + episodes("t", "weak", "full_info", False)
            + episodes("t", "strong", "full_info", True),
            None,
        ),
        (
            episodes("t", "weak", "blocked", False)
            + episodes("t", "strong", "blocked", True)
            + episodes("t", "weak", "full_info", True),
            "solvable_without_help",
        ),
        (episodes("t", "m", "blocked", False) + episodes("t", "m", "full_info", True, None, None), None),
        (episodes("t", "m", "blocked", False) + episodes("t", "m", "tool", True), "unsolvable"),
        (episodes("t", "m", "full_info", True), "solvable_without_help"),
    ],
)
def test_the_filter(rows, dropped_by):
    selected = select_tasks(["t", "not run"], rows, max_blocked_pass_rate=0.05, min_full_info_pass_rate=0.85)
    assert [(row["task_id"], row["kept"], row["dropped_by"]) for row in selected] == [
        ("t", dropped_by is None, dropped_by)
    ]
