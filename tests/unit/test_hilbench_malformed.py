"""Malformed task inputs: each is one `UserError` or one error of its task, naming file and key, never a traceback."""

import json

import pytest
from hilbench_builders import registry, sql_row, sql_task, swe_row, swe_task, write_database, write_json

from helpseek.errors import UserError
from helpseek.tasks.hilbench import load_tasks

REGISTRY = "shared/ask-human-data/blocker_registry.json"
METADATA = "shared/metadata.json"
BUSINESS = "shared/data/business_info.json"


def replaced(name, content):
    """A change of a task folder: file `name` gets `content` (bytes, or a value written as JSON)."""

    def change(folder):
        if isinstance(content, bytes):
            (folder / name).write_bytes(content)
        else:
            write_json(folder / name, content)

    return change


def edited(name, **keys):
    """A change of a task folder: keys of JSON file `name` are set, or removed when given as `...`."""

    def change(folder):
        value = json.loads((folder / name).read_text()) | keys
        write_json(folder / name, {key: part for key, part in value.items() if part is not ...})

    return change


def directory_instead(name):
    def change(folder):
        (folder / name).unlink()
        (folder / name).mkdir()

    return change


def removed(name):
    return lambda folder: (folder / name).unlink()


BROKEN_TASKS = {
    "metadata not JSON": (sql_task, replaced(METADATA, b'{"dataset_name": '), "metadata.json: not valid JSON"),
    "metadata a list": (sql_task, replaced(METADATA, []), "metadata.json: expected an object with keys, found a list"),
    "metadata missing": (sql_task, removed(METADATA), "metadata.json: no such file"),
    "metadata without kind": (sql_task, edited(METADATA, database_name=...), "neither `database_name`"),
    "nested too deep": (sql_task, replaced(METADATA, b"[" * 100_000), "metadata.json: not usable JSON"),
    "huge number": (sql_task, replaced(METADATA, b'{"n": ' + b"9" * 5000 + b"}"), "metadata.json: not usable JSON"),
    "id with a path": (sql_task, edited(METADATA, dataset_name="../x"), "`dataset_name`: '../x' is used in file names"),
    "id a number": (sql_task, edited(METADATA, dataset_name=7), "`dataset_name`: expected a string, found a number"),
    "database with a path": (sql_task, edited(METADATA, database_name="/etc/x"), "`database_name`: '/etc/x' is used"),
    "database with NUL": (sql_task, edited(METADATA, database_name="a\0b"), "`database_name`: 'a\\x00b' is used"),
    "count a string": (sql_task, edited(METADATA, num_blockers="3"), "`num_blockers`: expected a whole number"),
    "registry missing": (sql_task, removed(REGISTRY), "blocker_registry.json: no such file"),
    "registry a directory": (sql_task, directory_instead(REGISTRY), "blocker_registry.json: cannot be read"),
    "registry not UTF-8": (sql_task, replaced(REGISTRY, b'{"blockers": "\xff"}'), "not UTF-8 text (byte 14)"),
    "registry null": (sql_task, replaced(REGISTRY, None), "blocker_registry.json: holds no blocker"),
    "registry a number": (sql_task, replaced(REGISTRY, 3), "expected a list of blockers, found a number"),
    "registry without blockers": (
        sql_task,
        replaced(REGISTRY, {"blocker": []}),
        "`blockers` is missing (did you mean `blocker`?)",
    ),
    "blockers by id": (
        sql_task,
        replaced(REGISTRY, {"blockers": {"a": {}}}),
        "`blockers`: expected a list of blockers, found an object",
    ),
    "no blockers": (sql_task, replaced(REGISTRY, {"blockers": []}), "`blockers`: holds no blocker"),
    "blocker a string": (
        sql_task,
        replaced(REGISTRY, {"blockers": ["x"]}),
        "`blockers.0`: expected an object with keys, found a string",
    ),
    "resolution missing": (
        sql_task,
        replaced(REGISTRY, registry({}, {"resolution": ..., "resolutions": "x"})),
        "`blockers.1.resolution` is missing (did you mean `resolutions`?)",
    ),
    "resolution null": (
        sql_task,
        replaced(REGISTRY, registry({"resolution": None})),
        "`blockers.0.resolution` is null",
    ),
    "description blank": (
        sql_task,
        replaced(REGISTRY, registry({"description": " "})),
        "`blockers.0.description` is empty",
    ),
    "id a list": (
        sql_task,
        replaced(REGISTRY, registry({"id": ["a"]})),
        "`blockers.0.id`: expected a string, found a list",
    ),
    "id only a fence": (sql_task, replaced(REGISTRY, registry({"id": "```\n\n```"})), "`blockers.0.id` is empty"),
    "ids repeated": (
        sql_task,
        replaced(REGISTRY, registry({"id": "a"}, {"id": "a\n"})),
        "`blockers`: 2 blockers have the id `a`",
    ),
    "two types": (
        sql_task,
        replaced(REGISTRY, registry({"type": ["schema", "question"]})),
        "`blockers.0.type`: expected one string, found a list of 2",
    ),
    "question a number": (
        sql_task,
        replaced(REGISTRY, registry({"example_questions": ["ok?", 3]})),
        "`blockers.0.example_questions.1`: expected a string, found a number",
    ),
    "questions an object": (
        sql_task,
        replaced(REGISTRY, registry({"example_questions": {"a": "b"}})),
        "`blockers.0.example_questions`: expected a list of strings, found an object",
    ),
    "half a surrogate pair": (
        sql_task,
        replaced(REGISTRY, registry({"resolution": "\ud800"})),
        "`blockers.0.resolution`: holds half a surrogate pair",
    ),
    "business info a number": (
        sql_task,
        replaced(BUSINESS, {"business_info": 3}),
        "`business_info`: expected a list of strings, found a number",
    ),
    "gold empty": (sql_task, replaced("shared/ground_truth.sql", b" \n"), "ground_truth.sql: empty"),
    "no question": (
        sql_task,
        replaced("baseline/instruction.md", b"# Instructions\n"),
        "instruction.md: no question found",
    ),
    "no baseline": (sql_task, removed("baseline/instruction.md"), "instruction.md: no such file"),
    "database a pointer": (
        sql_task,
        replaced("shared/data/shop.sqlite", b"version https://git-lfs"),
        "shop.sqlite: not a SQLite database",
    ),
    "no tests": (
        swe_task,
        edited(METADATA, swe_bench_metadata={"FAIL_TO_PASS": []}),
        "`swe_bench_metadata.FAIL_TO_PASS` names no test",
    ),
    "tests a list": (swe_task, edited(METADATA, swe_bench_metadata=[]), "`swe_bench_metadata`: expected an object"),
    "no image": (swe_task, edited(METADATA, image_name=...), "`image_name` is missing"),
    "no problem": (swe_task, removed("shared/problem_statement.txt"), "problem_statement.txt: no such file"),
}


@pytest.mark.parametrize("case", BROKEN_TASKS)
def test_broken_task_is_an_error_of_that_task_only(tmp_path, case):
    build, change, message = BROKEN_TASKS[case]
    folder = build(tmp_path)
    change(folder)
    sql_task(tmp_path, "sql_8")
    result = load_tasks(tmp_path)
    assert [task.task_id for task in result.tasks] == ["sql_8"]
    (error,) = result.errors
    assert message in error.message
    assert str(folder) in str(error)


BROKEN_ROWS = {
    "no task_id": (sql_row(task_id=...), "row 0: `task_id` is missing"),
    "no task_type": (sql_row(task_type=...), "row 0: `task_type` is missing"),
    "unknown task_type": (sql_row(task_type="sqll"), "`task_type`: `sqll` is not sql or swe (did you mean `sql`?)"),
    "no registry": (sql_row(blocker_registry=""), "row 0: `blocker_registry`: holds no blocker"),
    "registry not JSON": (sql_row(blocker_registry="{"), "row 0: `blocker_registry`: not valid JSON"),
    "resolution missing": (
        sql_row(blocker_registry=registry({"resolution": ...})["blockers"]),
        "row 0: `blocker_registry.0.resolution` is missing",
    ),
    "problem NaN": (sql_row(problem=float("nan")), "row 0: `problem` is null"),
    "list not JSON": (sql_row(business_info="[1, "), "row 0: `business_info`: not valid JSON"),
    "swe without uid": (swe_row(uid=...), "row 0: `uid` is missing"),
    "swe without tests": (swe_row(tests_to_pass="[]"), "row 0: `tests_to_pass` names no test"),
}


@pytest.mark.parametrize("case", BROKEN_ROWS)
def test_broken_row_is_an_error_of_that_row_only(tmp_path, case):
    row, message = BROKEN_ROWS[case]
    write_json(tmp_path / "rows.json", [row, sql_row(8)])
    result = load_tasks(tmp_path / "rows.json")
    assert [task.task_id for task in result.tasks] == ["sql_8"]
    (error,) = result.errors
    assert message in error.message
    assert "rows.json" in error.message


BROKEN_FILES = {
    "rows.json": [(b"", "not valid JSON"), (b"[1]", "row 0: expected an object"), (b"3", "expected an object")],
    "rows.jsonl": [(b'{"a": 1}\n{', "line 2: not valid JSON"), (b"\xff", "not UTF-8")],
    "rows.parquet": [(b"PAR1 cut short", "not a readable Parquet file"), (b"", "not a readable Parquet file")],
}


@pytest.mark.parametrize(
    ("name", "content", "message"), [(n, *case) for n, cases in BROKEN_FILES.items() for case in cases]
)
def test_broken_file_is_refused(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError, match=message) as error:
        load_tasks(tmp_path / name)
    assert name in str(error.value)


def test_path_without_tasks_is_refused(tmp_path):
    with pytest.raises(UserError, match="no such file or folder"):
        load_tasks(tmp_path / "nowhere")
    with pytest.raises(UserError, match=r"holds no tasks; expected a Harbor task folder"):
        load_tasks(tmp_path)
    (tmp_path / "rows.json").mkdir()
    with pytest.raises(UserError, match="holds no tasks"):
        load_tasks(tmp_path)
    with pytest.raises(UserError, match="no `shared` folder"):
        (tmp_path / "sql_1").mkdir()
        raise UserError(str(load_tasks(tmp_path).errors[0]))


def test_second_task_of_an_id_is_an_error(tmp_path):
    first, second = sql_task(tmp_path, "sql_1"), sql_task(tmp_path, "sql_2")
    write_json(second / METADATA, {"dataset_name": "sql_1", "database_name": "shop"})
    result = load_tasks(tmp_path)
    assert [task.task_id for task in result.tasks] == ["sql_1"]
    assert str(result.errors[0]) == f"{second}: has the same task id `sql_1` as {first}; left out"
    write_json(tmp_path / "rows.json", [sql_row(1), sql_row(1, task_id="sql_1")])
    assert len(load_tasks(tmp_path / "rows.json").errors) == 1


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("table_descriptions.csv", b"table,text\n", "column `table_name` is missing; found table, text"),
        ("table_descriptions.csv", b"", "column `table_name` is missing; found none"),
        ("table_descriptions.csv", b"table_name,table_description\n../x,y\n", "'../x' is used in file names"),
        ("orders.csv", b"\xff", "not UTF-8 text"),
        ("orders.csv", b'original_column_name,combined_description\nid,"' + b"x" * 200_000, "not readable as CSV"),
    ],
)
def test_broken_schema_description_is_an_error(tmp_path, name, content, message):
    folder = sql_task(tmp_path)
    write_database(folder / "shared" / "data")
    (folder / "shared" / "data" / name).write_bytes(content)
    (error,) = load_tasks(folder).errors
    assert message in error.message
    assert name in error.message


def test_short_row_of_a_schema_description_reads_as_empty(tmp_path):
    folder = sql_task(tmp_path)
    write_database(folder / "shared" / "data")
    content = "original_column_name,combined_description,data_format\nid\ntotal,Price,real,extra\n"
    (folder / "shared" / "data" / "orders.csv").write_text(content)
    (task,) = load_tasks(folder).tasks
    assert [column.description for column in task.sql.tables[0].columns] == ["", "Price"]
