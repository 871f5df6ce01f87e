"""Tasks as rows of the public data set: JSON, JSON lines or Parquet (spec 1.4)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from helpseek.errors import UserError, nearest
from helpseek.tasks.database_files import find_database, plain_name
from helpseek.tasks.fields import Fields, parse_json, read_json, read_text
from helpseek.tasks.registry import Notes, parse_registry
from helpseek.tasks.task import Domain, SqlSpec, SweSpec, Task

ROW_SUFFIXES = (".parquet", ".jsonl", ".json")
PUBLIC_PREFIX = "public_"
DOMAINS: tuple[Domain, ...] = ("sql", "swe")

# Rows hold no test command: every public image has these two scripts, and the parser's report goes between two marks.
SWEAP_PARSER = "sweap_json"
SWEAP_COMMAND = (
    "bash /root/run_script.sh >/tmp/out.log 2>/tmp/err.log; "
    "python /root/parser.py /tmp/out.log /tmp/err.log /tmp/out.json; "
    "echo SWEAP_JSON_START; cat /tmp/out.json; echo; echo SWEAP_JSON_END"
)


def read_hf_rows(file: Path) -> list[Fields]:
    """The rows of one file. Raises `UserError` when it cannot be read as rows."""
    if file.suffix == ".parquet":
        values = _read_parquet(file)
    elif file.suffix == ".jsonl":
        lines = read_text(file).removeprefix("\ufeff").split("\n")
        values = [parse_json(line, f"{file} line {n}") for n, line in enumerate(lines, start=1) if line.strip()]
    else:
        content = read_json(file)
        values = content if isinstance(content, list) else [content]
    return [Fields.of(value, f"{file} row {number}") for number, value in enumerate(values)]


def row_task_id(row: Fields) -> str:
    """The row's task id without `public_`, so that a task has one id in both forms. Raises `UserError`."""
    return plain_name(row.text("task_id").strip().removeprefix(PUBLIC_PREFIX), row.where("task_id"))


def row_domain(row: Fields) -> Domain:
    """The domain of a row, upper case allowed. Raises `UserError` for any other task type."""
    name = row.text("task_type").strip().lower()
    domain = next((domain for domain in DOMAINS if domain == name), None)
    if domain is None:
        raise UserError(f"{row.where('task_type')}: `{name:.60}` is not sql or swe{nearest(name, DOMAINS)}")
    return domain


def load_hf_row(row: Fields, databases: Sequence[Path], notes: Notes) -> Task:
    """Read one row; `databases` are the places to look for its database. Raises `UserError` when it cannot be used."""
    domain, task_id = row_domain(row), row_task_id(row)
    return Task(
        task_id=task_id,
        domain=domain,
        source="hilbench",
        problem=row.text("problem"),
        registry=parse_registry(row.content.get("blocker_registry"), row.file, "blocker_registry", domain, notes),
        sql=_sql_spec(row, task_id, databases, notes) if domain == "sql" else None,
        swe=_swe_spec(row) if domain == "swe" else None,
    )


def _sql_spec(row: Fields, task_id: str, databases: Sequence[Path], notes: Notes) -> SqlSpec:
    name = plain_name(row.text("repo_or_db_name"), row.where("repo_or_db_name"))
    found = find_database(name, task_id, databases, notes)
    return SqlSpec(
        database_name=name,
        database=found.database,
        tables=found.tables,
        business_info=row.texts("business_info"),
        gold_sql=row.text("ground_truth_answer"),
        # Rows do not say which questions ask for an order, and the reference grader never compares it.
        ordered=False,
    )


def _swe_spec(row: Fields) -> SweSpec:
    tests = row.texts("tests_to_pass")
    if not tests:
        raise UserError(f"{row.where('tests_to_pass')} names no test; expected at least one")
    return SweSpec(
        instance_id=row.text("task_id").strip(),
        repo_name=row.text("repo_or_db_name"),
        base_commit="HEAD",
        image=f"hilbench-swe:{row.text('uid').strip()}",
        language=row.text_or("language", "").strip().lower() or language_of_tests(tests),
        log_parser=SWEAP_PARSER,
        test_command=SWEAP_COMMAND,
        test_patch=row.text_or("test_patch", ""),
        fail_to_pass=tests,
        test_files=row.texts("test_files"),
        gold_patch=row.text_or("ground_truth_answer", ""),
    )


def language_of_tests(tests: Sequence[str]) -> str:
    """The language by the shape of test names (spec 1.7), which holds for all 633 public ones; rows do not name it."""
    if any("::" in test for test in tests):
        return "python"
    return "js" if any(" | " in test for test in tests) else "go"


def _read_parquet(file: Path) -> list[object]:
    try:
        rows: list[object] = pq.read_table(file).to_pylist()
    except FileNotFoundError:
        raise UserError(f"{file}: no such file") from None
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise UserError(f"{file}: not a readable Parquet file ({_short(error)}); fetch it again") from None
    return rows


def _short(error: Exception) -> str:
    return " ".join(str(error).split())[:160]
