"""Task sets as Parquet: what is written is read back equal, and damage is told."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hilbench_builders import SAMPLES, sql_task, swe_task, write_database
from hypothesis import given, settings
from hypothesis import strategies as st

from helpseek.errors import UserError
from helpseek.records import read_rows, write_rows
from helpseek.tasks.hilbench import load_tasks
from helpseek.tasks.store import read_taskset, write_taskset
from helpseek.tasks.task import Blocker, BlockerType, Column, Place, Registry, SqlSpec, SweSpec, Table, Task

TEXT = st.text(max_size=20)
TEXTS = st.lists(TEXT, max_size=3).map(tuple)
NAMES = st.from_regex(r"[a-z]{1,8}", fullmatch=True)
BLOCKERS = st.builds(
    Blocker,
    blocker_id=NAMES,
    description=TEXT,
    resolution=TEXT,
    type=st.none() | st.sampled_from(BlockerType),
    place=st.none() | st.sampled_from(Place),
    subtype=st.none() | TEXT,
    trigger_questions=TEXTS,
    readings=TEXTS,
    published_description=st.none() | TEXT,
)
COLUMNS = st.builds(Column, name=TEXT, description=TEXT, data_format=TEXT)
TABLES = st.builds(Table, name=TEXT, description=TEXT, columns=st.lists(COLUMNS, max_size=2).map(tuple))
SQL = st.builds(
    SqlSpec,
    database_name=NAMES,
    database=st.none() | NAMES.map(lambda name: Path("/elsewhere") / name),
    tables=st.lists(TABLES, max_size=2).map(tuple),
    business_info=TEXTS,
    gold_sql=TEXT,
    gold_template=st.none() | TEXT,
    ordered=st.booleans(),
    original_question=st.none() | TEXT,
)
SWE = st.builds(
    SweSpec,
    instance_id=TEXT,
    repo_name=TEXT,
    base_commit=TEXT,
    image=TEXT,
    language=TEXT,
    log_parser=TEXT,
    test_command=TEXT,
    test_patch=TEXT,
    fail_to_pass=TEXTS,
    pass_to_pass=TEXTS,
    test_files=TEXTS,
    gold_patch=TEXT,
)
REGISTRIES = st.lists(BLOCKERS, max_size=3).map(lambda blockers: Registry(blockers=tuple(blockers)))
SOURCES = st.sampled_from(["hilbench", "generated"])
TASKS = st.builds(
    Task, task_id=NAMES, domain=st.just("sql"), source=SOURCES, problem=TEXT, registry=REGISTRIES, sql=SQL
) | st.builds(Task, task_id=NAMES, domain=st.just("swe"), source=SOURCES, problem=TEXT, registry=REGISTRIES, swe=SWE)


@settings(max_examples=30, deadline=None)
@given(tasks=st.lists(TASKS, max_size=4, unique_by=lambda task: task.task_id))
def test_round_trip(tmp_path_factory, tasks):
    folder = tmp_path_factory.mktemp("set")
    write_taskset(folder, tasks)
    assert read_taskset(folder) == tasks


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="the public samples lie beside the repository")
def test_round_trip_of_samples(tmp_path):
    tasks = list(load_tasks(SAMPLES).tasks)
    write_taskset(tmp_path, tasks)
    assert read_taskset(tmp_path) == tasks


def test_database_inside_the_folder_moves_with_it(tmp_path):
    home = tmp_path / "here"
    database = write_database(home / "databases")
    (task,) = load_tasks(sql_task(tmp_path / "tasks")).tasks
    task = task.model_copy(update={"sql": task.sql.model_copy(update={"database": database})})
    write_taskset(home, [task])
    stored = pq.read_table(home / "tasks.parquet").column("database").to_pylist()
    assert stored == ["databases/shop.sqlite"]
    moved = home.rename(tmp_path / "there")
    assert read_taskset(moved)[0].sql.database == moved / "databases" / "shop.sqlite"


def test_relative_folder_gives_absolute_databases(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_database(Path("set"))
    (task,) = load_tasks(sql_task(tmp_path / "tasks")).tasks
    task = task.model_copy(update={"sql": task.sql.model_copy(update={"database": Path("set/shop.sqlite")})})
    write_taskset(Path("set"), [task])
    assert read_taskset(Path("set"))[0].sql.database == tmp_path / "set" / "shop.sqlite"


def test_ids_must_differ(tmp_path):
    (task,) = load_tasks(sql_task(tmp_path)).tasks
    with pytest.raises(UserError, match="two tasks have the id `sql_7`"):
        write_taskset(tmp_path, [task, task])


@pytest.fixture
def stored(tmp_path):
    sql_task(tmp_path / "tasks")
    swe_task(tmp_path / "tasks")
    write_taskset(tmp_path / "set", load_tasks(tmp_path / "tasks").tasks)
    return tmp_path / "set"


def change_rows(file, change):
    table = pq.read_table(file)
    pq.write_table(pa.Table.from_pylist(change(table.to_pylist()), schema=table.schema), file)


def with_first(**values):
    return lambda rows: [rows[0] | values, *rows[1:]]


@pytest.mark.parametrize(
    ("file", "change", "message"),
    [
        ("blockers", lambda rows: rows[1:], "task `sql_7`: should have 3 blockers, blockers.parquet has 2"),
        ("blockers", with_first(type="odd"), "task `sql_7`: `type`"),
        ("blockers", with_first(resolution="another"), "task `sql_7`: its content does not fit its digest"),
        ("tasks", lambda rows: rows[1:], "blockers of task `sql_7`, which tasks.parquet lacks"),
        ("tasks", lambda rows: [rows[0], *rows], "task `sql_7`: should have 3 blockers, blockers.parquet has 0"),
        ("tasks", with_first(domain="odd"), "task `sql_7`: `domain`"),
        ("tasks", lambda rows: [rows[0], rows[1] | {"swe": "{"}], "task `swe_7`: ``: Invalid JSON"),
    ],
)
def test_damage_is_told(stored, file, change, message):
    change_rows(stored / f"{file}.parquet", change)
    with pytest.raises(UserError) as error:
        read_taskset(stored)
    assert message in str(error.value)
    assert f"{stored}" in str(error.value)


def test_missing_and_truncated_files_are_told(stored):
    content = (stored / "tasks.parquet").read_bytes()
    (stored / "tasks.parquet").write_bytes(content[: len(content) // 2])
    with pytest.raises(UserError, match=r"tasks\.parquet: not a readable Parquet file"):
        read_taskset(stored)
    (stored / "blockers.parquet").unlink()
    with pytest.raises(UserError, match=r"blockers\.parquet: no such file"):
        read_taskset(stored)


def test_flipped_bytes_never_pass_for_data(tmp_path):
    """Data without redundancy of its own, so that only a checksum can tell."""
    file = tmp_path / "splits.parquet"
    rows = [{"task_id": f"task_{n}", "split": "train", "group": f"{n * 7919 % 104729}"} for n in range(200)]
    write_rows(file, "splits", rows)
    content, refused = file.read_bytes(), 0
    for first in range(4, len(content) - 20, 37):
        file.write_bytes(content[:first] + bytes([content[first] ^ 0x01]) + content[first + 1 :])
        try:
            assert read_rows(file, "splits") == rows, first
        except UserError as error:
            refused += 1
            assert "\n" not in str(error)
    assert refused
