"""Generated tasks: reproducible, distinct, sound, and disjoint between splits."""

import hashlib
import random
import re
import sqlite3

import pytest

from helpseek.errors import UserError
from helpseek.records import read_rows
from helpseek.tasks.build import check_invariants, generate
from helpseek.tasks.generate import generate_tasks
from helpseek.tasks.generate.blockers import KINDS
from helpseek.tasks.generate.schemas import FAMILIES, STEMS, make_schema
from helpseek.tasks.generate.words import NAME_FIRST, NAME_SECOND, PREFIXES, TERM_FIRST, TERM_SECOND, pairs
from helpseek.tasks.invariants import check_task, plain_runner
from helpseek.tasks.invariants.leaks import first_revealed
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
    for first, second in ((NAME_FIRST, NAME_SECOND), (TERM_FIRST, TERM_SECOND), (PREFIXES, STEMS)):
        train, held_out = (set(pairs(first, second, side)) for side in ("train", "held_out"))
        assert train.isdisjoint(held_out)
        for position in (0, 1):
            assert {pair[position] for pair in train} == {pair[position] for pair in held_out}


def identifiers(task):
    return {name for table in task.sql.tables for name in (table.name, *(column.name for column in table.columns))}


def test_schemas_differ_between_databases_and_splits_but_not_in_their_words(tmp_path):
    tasks, split = generate_tasks(tmp_path, n_train=16, n_held_out=8, seed=2, tasks_per_database=1)
    assert len({tuple(sorted(identifiers(task))) for task in tasks}) == len(tasks)
    train, held_out = (
        set().union(*(identifiers(task) for task in tasks if split[task.task_id] == side))
        for side in ("train", "held_out")
    )
    assert train & held_out == {"id", "name", "joined", "opened"}
    pieces = [{piece for name in names for piece in name.split("_")} for names in (train, held_out)]
    assert pieces[1] <= pieces[0]


def test_descriptions_name_what_is_in_the_database(made):
    _, tasks, _ = made
    for task in tasks[::10]:
        connection = sqlite3.connect(task.sql.database)
        for table in task.sql.tables:
            found = [row[1] for row in connection.execute(f"PRAGMA table_info({table.name})")]
            assert found == [column.name for column in table.columns]
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        connection.close()


def test_the_original_question_is_well_specified(made):
    _, tasks, _ = made
    for task in tasks:
        for blocker in task.registry:
            term = blocker.blocker_id.split("_", 1)[1].replace("_", " ")
            assert term not in task.sql.original_question
            assert first_revealed(blocker, task.sql.original_question), blocker.blocker_id
        assert "Leave" not in task.sql.original_question


def test_an_answer_given_in_full_equals_the_gold(made):
    _, tasks, _ = made
    assert not [task.task_id for task in tasks if "ROUND" in task.sql.gold_sql]


def test_question_families_all_occur(made):
    _, tasks, _ = made
    shapes = ("COUNT(*)", "COUNT(DISTINCT", "SELECT SUM", "SELECT AVG", "100.0 *", "name, SUM", "name, AVG", "LIMIT 5")
    assert [shape for shape in shapes if not any(shape in task.sql.gold_sql for task in tasks)] == []
    assert any(len(re.findall(" JOIN ", task.sql.gold_sql)) == 2 for task in tasks)


@pytest.mark.parametrize("kind", [kind for kinds in KINDS.values() for kind in kinds], ids=lambda kind: kind.__name__)
def test_a_resolution_cannot_be_guessed(kind):
    rng = random.Random(0)
    schema = make_schema("amber_bay", FAMILIES[0], "train", rng)
    blockers = [kind(schema, "silver circle", rng).blocker for _ in range(400)]
    assert len({blocker.resolution for blocker in blockers}) >= 30
    assert all(len(set(blocker.readings)) >= 3 for blocker in blockers)


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
