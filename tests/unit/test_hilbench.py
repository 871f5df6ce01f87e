"""Loading HiL-Bench tasks: both public forms, the known oddities, the real samples."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hilbench_builders import (
    QUESTION,
    SAMPLES,
    blocker,
    registry,
    sql_row,
    sql_task,
    swe_row,
    swe_task,
    write_database,
    write_json,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from helpseek.errors import UserError
from helpseek.tasks.check import check_path, format_report
from helpseek.tasks.hf_rows import language_of_tests
from helpseek.tasks.hilbench import load_tasks
from helpseek.tasks.registry import TYPE_OF_SUBTYPE, Notes, parse_registry
from helpseek.tasks.store import write_taskset
from helpseek.tasks.task import BlockerType, Column, Place, Table

needs_samples = pytest.mark.skipif(not SAMPLES.is_dir(), reason="the public samples lie beside the repository")


def parse(*changes, domain="sql"):
    notes = Notes()
    return parse_registry(registry(*changes), "r.json", "", domain, notes).blockers, notes.sentences()


def test_sql_task_folder_is_read(tmp_path):
    result = load_tasks(sql_task(tmp_path))
    (task,) = result.tasks
    assert (task.task_id, task.domain, task.problem) == ("sql_7", "sql", QUESTION)
    assert task.sql.gold_sql == "SELECT count(*) FROM orders"
    assert task.sql.business_info == ("A note.", "More.")
    assert task.sql.database is None
    assert task.sql.ordered is False
    assert [b.blocker_id for b in task.registry] == ["gap_0", "gap_1", "gap_2"]
    assert task.registry.get("gap_1").resolution == "Term 1 means column c1 is 1. "
    assert result.errors == result.oddities == ()


def test_swe_task_folder_is_read(tmp_path):
    result = load_tasks(swe_task(tmp_path))
    (task,) = result.tasks
    assert (task.swe.repo_name, task.swe.language, task.swe.fail_to_pass) == ("acme/tool", "go", ("TestA",))
    assert [b.type for b in task.registry] == list(BlockerType)
    assert {b.place for b in task.registry} == {Place.REQUIREMENTS}
    assert [b.trigger_questions for b in task.registry] == [("What now?",)] * 3
    assert {finding.kind for finding in result.oddities} == {
        "`type` given as a list",
        "leading dash removed from a question",
        "language written otherwise",
        "no solution patch",
    }


def test_forms_are_told_apart(tmp_path):
    sql_task(tmp_path / "harbor_sql", "sql_10")
    sql_task(tmp_path / "harbor_sql", "sql_2")
    (tmp_path / "harbor_sql" / "shared").mkdir()
    swe_task(tmp_path / "harbor_swe")
    assert [t.task_id for t in load_tasks(tmp_path / "harbor_sql").tasks] == ["sql_2", "sql_10"]
    both = load_tasks(tmp_path)
    assert [t.task_id for t in both.tasks] == ["sql_2", "sql_10", "swe_7"]
    write_taskset(tmp_path / "set", both.tasks)
    assert load_tasks(tmp_path / "set").tasks == both.tasks


def test_rows_are_the_same_in_every_file_format(tmp_path):
    rows = [sql_row(1), sql_row(2), swe_row(1)]
    (tmp_path / "rows.json").write_text("\ufeff" + json.dumps(rows), encoding="utf-8")
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows) + "\n", encoding="utf-8")
    (tmp_path / "set" / "data").mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist(rows[:2]), tmp_path / "set" / "data" / "train-0.parquet")
    pq.write_table(pa.Table.from_pylist(rows[2:]), tmp_path / "set" / "data" / "train-1.parquet")
    results = [load_tasks(tmp_path / name) for name in ("rows.json", "rows.jsonl", "set")]
    assert [t.task_id for t in results[0].tasks] == ["sql_1", "sql_2", "swe_1"]
    assert results[0].tasks == results[1].tasks == results[2].tasks
    assert not any(result.errors for result in results)


@pytest.mark.parametrize(
    "form",
    [
        registry(),
        registry()["blockers"],
        json.dumps(registry()),
        json.dumps(registry()["blockers"]),
    ],
)
def test_registry_forms_are_equal(form):
    expected = parse_registry(registry(), "r.json", "", "sql", Notes())
    assert parse_registry(form, "row 3", "blocker_registry", "sql", Notes()) == expected


@pytest.mark.parametrize(
    ("value", "read"),
    [
        (["a", "b"], ("a", "b")),
        ('["a", "b"]', ("a", "b")),
        ("a bare note", ("a bare note",)),
        ("", ()),
        (None, ()),
        (["a", "  "], ("a",)),
    ],
)
def test_list_forms_in_rows(tmp_path, value, read):
    write_json(tmp_path / "rows.json", [sql_row(business_info=value)])
    assert load_tasks(tmp_path / "rows.json").tasks[0].sql.business_info == read


@pytest.mark.parametrize(
    ("change", "key", "value", "oddity"),
    [
        ({"id": "gap\n"}, "blocker_id", "gap", "id stripped of white space"),
        ({"id": "```json\ngap\n```"}, "blocker_id", "gap", "markdown fence removed from an id"),
        ({"id": "``` gap```"}, "blocker_id", "gap", "markdown fence removed from an id"),
        ({"id": "Gap_CRP"}, "blocker_id", "Gap_CRP", None),
        ({"type": ["schema"]}, "place", Place.SCHEMA, "`type` given as a list"),
        ({"type": "Business_Info"}, "place", Place.BUSINESS_INFO, None),
        ({"type": "schemas"}, "place", Place.SCHEMA, None),
        ({"type": "scheme"}, "place", None, "unknown type"),
        ({"type": None}, "place", None, None),
        ({"subtype": "contradicts_real_life"}, "type", BlockerType.CONTRADICTORY, None),
        ({"subtype": "odd"}, "type", None, "unknown subtype"),
        ({"example_questions": ["-  A?", "A?", " A? "]}, "trigger_questions", ("A?",), "duplicate question removed"),
        ({"example_questions": ['-  B?"']}, "trigger_questions", ("B?",), "stray quote removed from a question"),
        ({"example_questions": ['What is "x"']}, "trigger_questions", ('What is "x"',), None),
        ({"example_questions": []}, "trigger_questions", (), "no trigger question"),
        ({"example_questions": ..., "acceptable_questions": ["C?"]}, "trigger_questions", ("C?",), None),
        ({"example_questions": ..., "trigger_questions": ["D?"]}, "trigger_questions", ("D?",), None),
        ({"acceptable_questions": ["E?"], "example_questions": ["F?"]}, "trigger_questions", ("F?",), None),
        ({"trigger_questions": ["G?"], "acceptable_questions": ["H?"], "example_questions": ...},
         "trigger_questions", ("H?",), None),
        ({"description": '  "description": "Say \\"how\\".'}, "description", 'Say \\"how\\".', "JSON syntax removed"),
        ({"description": 'It is open.",\n '}, "description", "It is open.", "JSON syntax removed"),
        ({"description": ' A "quoted" word. '}, "description", ' A "quoted" word. ', None),
        ({"resolution": 'Use 2."'}, "resolution", 'Use 2."', "stray quote at the end of a resolution, kept"),
        ({"resolution": "\tUse\u00a02.\n\n"}, "resolution", "\tUse\u00a02.\n\n", None),
    ],
)  # fmt: skip
def test_oddities_are_repaired_and_told(change, key, value, oddity):
    (found, *_), notes = parse(change, {})
    assert getattr(found, key) == value
    assert any(kind.startswith(oddity) for kind in notes) if oddity else not notes


def test_repaired_description_keeps_the_published_one():
    published = '      "description": "The size is open.'
    (repaired, plain), _ = parse({"description": published}, {})
    assert (repaired.description, repaired.shown_description) == ("The size is open.", published)
    assert plain.published_description is None


def test_every_public_subtype_has_a_type():
    assert len(TYPE_OF_SUBTYPE) == 11
    assert set(TYPE_OF_SUBTYPE.values()) == set(BlockerType)


def test_mismatches_are_noted_and_not_believed(tmp_path):
    folder = sql_task(tmp_path)
    shared = folder / "shared"
    write_json(shared / "artifacts_manifest.json", {"dataset_name": "sql_1"})
    write_json(shared / "metadata.json", {"dataset_name": "sql_7", "database_name": "shop", "num_blockers": 9})
    (shared / "data" / "database.sqlite-shm").write_bytes(bytes(32))
    result = load_tasks(folder)
    assert result.tasks[0].task_id == "sql_7"
    assert [str(finding) for finding in result.oddities] == [
        "sql_7: metadata.json counts other blockers: 9, the registry has 3",
        "sql_7: artifacts_manifest.json names another task, not used: sql_1",
        "sql_7: SQLite sidecar files without their database, ignored",
    ]


def test_database_is_found_in_each_place(tmp_path):
    tables = (
        Table(
            name="Orders",
            description="All orders",
            columns=(
                Column(name="id", description="Number, unique", data_format="integer"),
                Column(name="total", description="Price", data_format="real"),
            ),
        ),
    )
    folder = sql_task(tmp_path / "tasks")
    write_json(tmp_path / "fetched" / "data" / "rows.json", [sql_row(7)])
    in_databases = write_database(tmp_path / "fetched" / "databases" / "public_sql_7")
    for result in (load_tasks(folder, tmp_path / "fetched" / "databases"), load_tasks(tmp_path / "fetched")):
        assert result.tasks[0].sql.database == in_databases
        assert result.tasks[0].sql.tables == tables
    in_task = write_database(folder / "shared" / "data")
    task = load_tasks(folder, tmp_path / "fetched" / "databases").tasks[0]
    assert task.sql.database == in_task
    (folder / "shared" / "data" / "orders.csv").unlink()
    assert load_tasks(folder).tasks[0].sql.tables[0].columns == ()


def test_database_path_does_not_change_the_digest(tmp_path):
    folder = sql_task(tmp_path)
    before = load_tasks(folder).tasks[0].digest
    file = write_database(tmp_path / "other")
    for description in (file.parent).glob("*.csv"):
        description.unlink()
    (folder / "shared" / "data" / "database.sqlite").write_bytes(file.read_bytes())
    after = load_tasks(folder).tasks[0]
    assert after.sql.database is not None
    assert after.digest == before


@pytest.mark.parametrize(
    ("tests", "language"),
    [(["a.py::T::t"], "python"), (["a.test.ts | does it", "b"], "js"), (["TestA"], "go")],
)
def test_language_by_shape_of_test_names(tests, language):
    assert language_of_tests(tests) == language


def test_report_counts_and_names(tmp_path):
    sql_task(tmp_path, "sql_1")
    swe_task(tmp_path, "swe_2")
    (sql_task(tmp_path, "sql_3") / "shared" / "metadata.json").unlink()
    report = check_path(tmp_path)
    text = format_report(report)
    assert not report.usable
    assert "ok     sql_1  sql  3 blockers; no database yet\n" in text
    assert "error  " in text and "metadata.json: no such file" in text
    assert "tasks     2 usable (sql: 1, swe: 1), 1 unusable" in text
    assert "blockers  6; tasks by blockers: 3: 2" in text
    assert "ambiguous: 4" in text and "question: 3" in text
    assert "1 of 1 databases are not fetched" in text


def test_missing_database_is_no_error(tmp_path):
    assert check_path(sql_task(tmp_path)).usable


@settings(deadline=None)
@given(
    st.lists(
        st.fixed_dictionaries(
            {},
            optional={
                key: st.recursive(
                    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
                    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
                    max_leaves=5,
                )
                for key in blocker(0)
            },
        ),
        max_size=3,
    )
)
def test_any_json_registry_is_read_or_refused(blockers):
    try:
        read = parse_registry({"blockers": blockers}, "r.json", "", "sql", Notes())
    except UserError as error:
        assert str(error).startswith("r.json: `blockers")
    else:
        assert [b.resolution for b in read] == [b["resolution"] for b in blockers]


@settings(deadline=None)
@given(st.text(min_size=1).filter(str.strip))
def test_resolution_is_never_changed(text):
    (found, _), _ = parse({"resolution": text}, {})
    assert found.resolution == text


@needs_samples
def test_all_samples_load():
    result = load_tasks(SAMPLES)
    assert result.errors == ()
    assert [t.domain for t in result.tasks].count("sql") == 30
    assert [t.domain for t in result.tasks].count("swe") == 20
    for task in result.tasks:
        assert 3 <= len(task.registry) <= 5
        assert all(b.type and b.place and b.trigger_questions for b in task.registry)
        assert not any(q.startswith("-") for b in task.registry for q in b.trigger_questions)


@needs_samples
def test_known_oddities_of_samples():
    kinds = {(finding.task, finding.kind) for finding in load_tasks(SAMPLES).oddities}
    assert {
        ("sql_3", "artifacts_manifest.json names another task, not used"),
        ("sql_37", "duplicate question removed"),
        ("sql_89", "id stripped of white space"),
        ("swe_99", "JSON syntax removed from a description"),
        ("swe_99", "stray quote at the end of a resolution, kept"),
        ("swe_0", "leading dash removed from a question"),
    } <= kinds
    by_id = {t.task_id: t for t in load_tasks(SAMPLES).tasks}
    assert by_id["sql_89"].registry.get("premier_league_contradiction\n").blocker_id == "premier_league_contradiction"
    assert by_id["swe_99"].registry.blockers[0].description.startswith("The Requirements define")
    assert by_id["swe_99"].registry.blockers[0].resolution.endswith('"')
