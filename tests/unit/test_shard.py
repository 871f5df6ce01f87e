"""From a rule's files to the tasks and limits of a shard."""

import sqlite3

import pytest

from helpseek import config
from helpseek.environments.sql_guard import SqlGuard
from helpseek.episodes.shard import AGENT_OUTPUT_BYTES, sql_limits, usable_tasks
from helpseek.errors import UserError
from helpseek.records import write_rows
from helpseek.tasks.generate import generate_tasks
from helpseek.tasks.store import read_taskset, write_taskset


@pytest.fixture
def inputs(tmp_path):
    tasks, _ = generate_tasks(tmp_path, n_train=0, n_held_out=3, seed=1, tasks_per_database=3)
    write_taskset(tmp_path, tasks)
    splits = [{"task_id": task.task_id, "split": "held_out", "group": "g"} for task in tasks]
    write_rows(tmp_path / "splits.parquet", "splits", splits)
    write_rows(tmp_path / "checks.parquet", "checks", [])
    write_rows(tmp_path / "additions.parquet", "additions", [])
    return {name: str(tmp_path / f"{name}.parquet") for name in ("tasks", "splits", "checks", "additions")}


def test_splits_of_another_run_are_told(inputs, tmp_path):
    assert len(usable_tasks(inputs, "held_out")) == 3
    write_rows(tmp_path / "splits.parquet", "splits", [])
    with pytest.raises(UserError, match=r"splits\.parquet: lacks task `"):
        usable_tasks(inputs, "held_out")


def test_one_query_cannot_fill_a_conversation(tmp_path):
    database = tmp_path / "t.sqlite"
    with sqlite3.connect(database) as connection:
        connection.execute("CREATE TABLE t (x)")
        connection.executemany("INSERT INTO t VALUES (?)", [(n,) for n in range(100)])
    connection.close()
    agent, graded = sql_limits(config.Sql())
    query = "SELECT printf('%.*c', 400000, 'x') FROM t"
    with SqlGuard(1, agent) as guard:
        shown, compared = guard.run(database, query), guard.run(database, query, graded)
    assert shown.truncated
    assert sum(len(row[0]) for row in shown.rows) <= AGENT_OUTPUT_BYTES
    assert len(compared.rows) == 100


def test_tasks_without_a_database_are_told_before_any_episode(inputs, tmp_path):
    database = next((tmp_path / "databases").iterdir())
    tasks = [
        task.model_copy(update={"sql": task.sql.model_copy(update={"database": None})})
        for task in read_taskset(tmp_path)
    ]
    write_taskset(tmp_path, tasks)
    assert database.exists()
    with pytest.raises(UserError, match=r"3 of 3 tasks have no database.*helpseek tasks fetch"):
        usable_tasks(inputs, "held_out")
