"""Tasks in HiL-Bench's Harbor form: one folder a task, three instructions over one `shared` folder (spec 1.1, 1.2)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from helpseek.errors import UserError
from helpseek.tasks.database_files import find_database, plain_name
from helpseek.tasks.fields import Fields, read_json, read_text
from helpseek.tasks.instructions import HARBOR_SQL_MIDDLE, HARBOR_SQL_QUESTION
from helpseek.tasks.registry import Notes, parse_registry
from helpseek.tasks.task import Domain, Registry, SqlSpec, SweSpec, Task

RELEASE_NAME = re.compile(r"(sql|swe)_\d+")
MODES = ("baseline", "ask_human", "full_info")


def is_task_folder(folder: Path) -> bool:
    """Whether a folder is meant as one task: named as in the release, or shaped like one."""
    if RELEASE_NAME.fullmatch(folder.name):
        return True
    shared = folder / "shared"
    return (shared / "metadata.json").exists() or (shared.is_dir() and any((folder / m).is_dir() for m in MODES))


def load_harbor_task(folder: Path, databases: Sequence[Path], notes: Notes) -> Task:
    """Read one task folder; `databases` are more places to look for its database.

    The task's id is its `dataset_name` (else the folder's name). Counts per type in `blocker_stats` are not read: they
    are zero in every public task. Raises `UserError` when the task cannot be used.
    """
    shared = folder / "shared"
    if not shared.is_dir():
        raise UserError(f"{folder}: no `shared` folder in it; expected a Harbor task")
    metadata = Fields.read(shared / "metadata.json")
    folder_name = folder.resolve().name
    task_id = plain_name(metadata.text_or("dataset_name", folder_name), metadata.where("dataset_name"))
    if task_id != folder_name:
        notes.add("metadata.json names another task than its folder", f"{task_id} in {folder_name}")
    if metadata.has("database_name"):
        task = _sql_task(folder, task_id, metadata, databases, notes)
    elif metadata.has("instance_id"):
        task = _swe_task(folder, task_id, metadata, notes)
    else:
        raise UserError(f"{metadata.file}: neither `database_name` (SQL) nor `instance_id` (SWE) is there")
    _note_mismatches(shared, task, metadata, notes)
    return task


def _sql_task(folder: Path, task_id: str, metadata: Fields, databases: Sequence[Path], notes: Notes) -> Task:
    shared = folder / "shared"
    registry = _registry(shared, "sql", notes)
    name = plain_name(metadata.text("database_name"), metadata.where("database_name"))
    business = Fields.read(shared / "data" / "business_info.json")
    if business.text_or("database_name", name) != name:
        notes.add("business_info.json names another database", business.text("database_name"))
    gold = read_text(shared / "ground_truth.sql")
    if not gold.strip():
        raise UserError(f"{shared / 'ground_truth.sql'}: empty; expected the right query")
    found = find_database(name, task_id, [shared / "data", *databases], notes)
    return Task(
        task_id=task_id,
        domain="sql",
        source="hilbench",
        problem=_question(folder / "baseline" / "instruction.md"),
        registry=registry,
        sql=SqlSpec(
            database_name=name,
            database=found.database,
            tables=found.tables,
            business_info=business.texts("business_info"),
            gold_sql=gold,
            # The release does not say which questions ask for an order, and its grader never compares it.
            ordered=False,
        ),
    )


def _swe_task(folder: Path, task_id: str, metadata: Fields, notes: Notes) -> Task:
    shared = folder / "shared"
    problem = read_text(shared / "problem_statement.txt")
    if not problem.strip():
        raise UserError(f"{shared / 'problem_statement.txt'}: empty; expected the problem statement")
    tests = metadata.child("swe_bench_metadata")
    fail_to_pass = tests.texts("FAIL_TO_PASS")
    if not fail_to_pass:
        raise UserError(f"{tests.where('FAIL_TO_PASS')} names no test; expected at least one")
    patch = folder / "baseline" / "solution" / "ground_truth.patch"
    if not patch.exists():
        notes.add("no solution patch")
    return Task(
        task_id=task_id,
        domain="swe",
        source="hilbench",
        problem=problem,
        registry=_registry(shared, "swe", notes),
        swe=SweSpec(
            instance_id=metadata.text("instance_id"),
            repo_name=metadata.text_or("repo_name_source", "") or metadata.text("repo_name"),
            base_commit=metadata.text("base_commit"),
            image=metadata.text("image_name"),
            language=lower_language(metadata.text("language"), notes),
            log_parser=metadata.text("log_parser"),
            test_command=metadata.text("test_cmd"),
            test_patch=metadata.text("test_patch"),
            fail_to_pass=fail_to_pass,
            pass_to_pass=tests.texts("PASS_TO_PASS"),
            test_files=metadata.texts("test_files"),
            gold_patch=read_text(patch) if patch.exists() else "",
        ),
    )


def lower_language(published: str, notes: Notes) -> str:
    """The language in lower case, as all public tasks but one early version of one write it."""
    language = published.strip().lower()
    if language != published:
        notes.add("language written otherwise", published)
    return language


def _registry(shared: Path, domain: Domain, notes: Notes) -> Registry:
    file = shared / "ask-human-data" / "blocker_registry.json"
    return parse_registry(read_json(file), str(file), "", domain, notes)


def _question(file: Path) -> str:
    """The question, verbatim, between the two headings of a SQL instruction. Raises `UserError`."""
    _, start, rest = read_text(file).partition(HARBOR_SQL_QUESTION)
    heading = HARBOR_SQL_MIDDLE.partition("\n")[0]
    question, end, _ = rest.partition(f"\n\n{heading}\n")
    if not start or not end or not question.strip():
        raise UserError(
            f"{file}: no question found; expected it between `{HARBOR_SQL_QUESTION.strip()}` and `{heading}`"
        )
    return question


def _note_mismatches(shared: Path, task: Task, metadata: Fields, notes: Notes) -> None:
    """Note what disagrees within the folder but is not needed to run the task."""
    stated = metadata.integer("num_blockers")
    if stated is None and metadata.has("blocker_stats"):
        stated = metadata.child("blocker_stats").integer("total")
    if stated is not None and stated != len(task.registry):
        notes.add("metadata.json counts other blockers", f"{stated}, the registry has {len(task.registry)}")
    manifest = shared / "artifacts_manifest.json"
    if manifest.exists():
        named = Fields.read(manifest).text_or("dataset_name", task.task_id)
        if named != task.task_id:
            notes.add("artifacts_manifest.json names another task, not used", named)
    if (task.sql and not task.sql.database) and any((shared / "data").glob("*.sqlite-*")):
        notes.add("SQLite sidecar files without their database, ignored")
