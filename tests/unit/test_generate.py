"""Generated tasks: reproducible, distinct, sound, and disjoint between splits."""

import hashlib

import pytest

from helpseek.errors import UserError
from helpseek.records import read_rows
from helpseek.tasks.build import check_invariants, generate
from helpseek.tasks.generate import generate_tasks
from helpseek.tasks.generate.words import NAME_FIRST, NAME_SECOND, TERM_FIRST, TERM_SECOND, pairs
from helpseek.tasks.invariants import check_task, plain_runner
from helpseek.tasks.task import BlockerType, Place


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    return folder, *generate_tasks(folder, n_train=60, n_held_out=40, seed=0, tasks_per_database=10)


def databases(folder):
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in (folder / "databases").iterdir()}


def test_equal_seeds_give_equal_tasks_and_equal_bytes(made, tmp_path):
    folder, tasks, split = made
    again, split_again = generate_tasks(tmp_path, n_train=60, n_held_out=40, seed=0, tasks_per_database=10)
    assert [task.digest for task in tasks] == [task.digest for task in again]
    assert split == split_again
    assert databases(folder) == databases(tmp_path)
    other, _ = generate_tasks(tmp_path / "other", n_train=3, n_held_out=0, seed=1, tasks_per_database=3)
    assert other[0].digest not in {task.digest for task in tasks}


def test_tasks_are_distinct_and_cover_types_and_places(made):
    _, tasks, _ = made
    assert len({task.problem for task in tasks}) == len(tasks)
    assert {len(task.registry) for task in tasks} == {3, 4, 5}
    for task in tasks:
        assert {blocker.type for blocker in task.registry} == set(BlockerType)
    places = {blocker.place for task in tasks for blocker in task.registry}
    assert places == {Place.QUESTION, Place.BUSINESS_INFO, Place.SCHEMA}
    assert any(task.sql.ordered for task in tasks)


def test_every_task_passes_every_check(made):
    _, tasks, _ = made
    with plain_runner() as run:
        rows = [row for task in tasks for row in check_task(task, run)]
    assert [row for row in rows if not row["passed"]] == []
    checks = {row["check"] for row in rows}
    assert checks >= {"gold_runs", "blocker_critical", "resolution_hidden", "full_information_determines_gold"}


def test_splits_share_pieces_and_nothing_else(made):
    _, tasks, split = made
    names = {side: {t.sql.database_name for t in tasks if split[t.task_id] == side} for side in ("train", "held_out")}
    assert names["train"].isdisjoint(names["held_out"])
    for first, second in ((NAME_FIRST, NAME_SECOND), (TERM_FIRST, TERM_SECOND)):
        train, held_out = (set(pairs(first, second, side)) for side in ("train", "held_out"))
        assert train.isdisjoint(held_out)
        for position in (0, 1):
            assert {pair[position] for pair in train} == {pair[position] for pair in held_out}


def test_more_databases_than_names_is_a_clear_error(tmp_path):
    with pytest.raises(UserError, match="raise `tasks_per_database`"):
        generate_tasks(tmp_path, n_train=0, n_held_out=500, seed=0, tasks_per_database=1)
    assert not (tmp_path / "databases").exists()


def test_the_rules_entries_write_what_they_promise(tmp_path):
    generate(tmp_path, {"kind": "generated", "train": 2, "held_out": 2, "tasks_per_database": 2}, seed=4)
    check_invariants(tmp_path, tmp_path / "checks.parquet", {})
    assert {row["split"] for row in read_rows(tmp_path / "splits.parquet", "splits")} == {"train", "held_out"}
    checks = read_rows(tmp_path / "checks.parquet", "checks")
    assert len({row["task_id"] for row in checks}) == 4
    assert all(row["passed"] for row in checks)
