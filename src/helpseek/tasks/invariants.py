"""What must hold of a task before a model is measured on it (HiL-Bench Appendix B), one row per check.

A check that cannot apply (no database fetched, no readings known) gives no row. A task that fails any check is
excluded from sweeps, and the tables say how many and why.
"""

from __future__ import annotations

import contextlib
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from helpseek.environments.sql_guard import SqlResult
from helpseek.errors import InfraError
from helpseek.scoring.sql_match import match
from helpseek.tasks.task import Blocker, SqlSpec, Task, fill_template

RunSql = Callable[[Path, str], SqlResult]
CheckRow = dict[str, Any]
# A check's name and the blocker it looks at, None for the whole task.
Check = tuple[str, str | None]

MIN_BLOCKERS, MAX_BLOCKERS = 3, 5
MIN_TRIGGER_QUESTIONS = 3
MIN_QUESTION_WORDS = 4
LITERAL = re.compile(r"'[^']+'|\d+(?:\.\d+)?")
SHORTEST_LEAK = 20
POINTS_NOWHERE = re.compile(
    r"\b(the|this|that) blocker\b|\bas above\b|\babove[- ]mentioned\b|\bprevious question\b", re.IGNORECASE
)


def check_task(task: Task, run: RunSql) -> list[CheckRow]:
    """Every check that applies to `task`, as rows of the `checks` table; `run` executes a query on a database."""
    found: dict[Check, str] = {
        ("registry_well_formed", None): _registry_problem(task),
        ("trigger_questions_self_contained", None): _trigger_problem(task),
        ("resolution_hidden", None): _leak(task),
        ("blockers_independent", None): _dependence(task),
    }
    if task.sql is not None:
        found |= _sql_checks(task, task.sql, run)
    return [
        {"task_id": task.task_id, "check": check, "blocker_id": blocker_id, "passed": not problem, "detail": problem}
        for (check, blocker_id), problem in found.items()
    ]


def hard_failures(rows: Iterable[CheckRow]) -> list[CheckRow]:
    """The rows that did not pass."""
    return [row for row in rows if not row["passed"]]


def excluded(rows: Iterable[CheckRow]) -> set[str]:
    """Ids of tasks that fail a check."""
    return {row["task_id"] for row in hard_failures(rows)}


def _registry_problem(task: Task) -> str:
    blockers = task.registry.blockers
    ids = [blocker.blocker_id for blocker in blockers]
    if not MIN_BLOCKERS <= len(blockers) <= MAX_BLOCKERS:
        return f"{len(blockers)} blockers instead of {MIN_BLOCKERS} to {MAX_BLOCKERS}"
    if len(set(ids)) < len(ids):
        return "two blockers of one id"
    for blocker in blockers:
        if not blocker.description.strip() or not blocker.resolution.strip():
            return f"{blocker.blocker_id}: empty description or resolution"
        if len(blocker.trigger_questions) < MIN_TRIGGER_QUESTIONS and task.source != "hilbench":
            return f"{blocker.blocker_id}: fewer than {MIN_TRIGGER_QUESTIONS} trigger questions"
        if not blocker.trigger_questions:
            return f"{blocker.blocker_id}: no trigger question"
    return ""


def _trigger_problem(task: Task) -> str:
    for blocker in task.registry:
        for question in blocker.trigger_questions:
            if len(question.split()) < MIN_QUESTION_WORDS or POINTS_NOWHERE.search(question):
                return f"{blocker.blocker_id}: not understandable alone: {question!r}"
    return ""


def _leak(task: Task) -> str:
    """A resolution, or for tasks with readings a value only the resolution gives, in what an agent can read."""
    shown = _shown_text(task)
    for blocker in task.registry:
        text = " ".join(blocker.resolution.split())
        if len(text) >= SHORTEST_LEAK and text.lower() in shown.lower():
            return f"{blocker.blocker_id}: the resolution is in the task"
        if secret := _secrets(blocker) & _words(shown):
            return f"{blocker.blocker_id}: {sorted(secret)[0]} is in the task"
    return ""


def _dependence(task: Task) -> str:
    """A resolution that gives another's value away, or a trigger question of two blockers."""
    questions: dict[str, str] = {}
    for blocker in task.registry:
        for other in task.registry:
            if blocker is not other and (secret := _secrets(blocker) & _words(other.resolution)):
                return f"{other.blocker_id} reveals {sorted(secret)[0]} of {blocker.blocker_id}"
        for question in blocker.trigger_questions:
            owner = questions.setdefault(question.strip().lower(), blocker.blocker_id)
            if owner != blocker.blocker_id:
                return f"{owner} and {blocker.blocker_id} share the question {question!r}"
    return ""


def _shown_text(task: Task) -> str:
    parts = [task.problem]
    if task.sql is not None:
        parts += task.sql.business_info
        for table in task.sql.tables:
            parts += [table.description, *(column.description for column in table.columns)]
    return " ".join(" ".join(part.split()) for part in parts)


def _secrets(blocker: Blocker) -> set[str]:
    """Literals of the right reading that no wrong reading holds, if its resolution states them."""
    if not blocker.readings:
        return set()
    right, *wrong = ({literal.strip("'") for literal in LITERAL.findall(reading)} for reading in blocker.readings)
    return (right - set().union(*wrong)) & _words(blocker.resolution)


def _words(text: str) -> set[str]:
    """Words, numbers and dates of a text, without the punctuation around them."""
    return {word.strip(".,:;!?()\"'") for word in text.split()}


def _sql_checks(task: Task, sql: SqlSpec, run: RunSql) -> dict[Check, str]:
    found: dict[Check, str] = {}
    right = {blocker.blocker_id: blocker.readings[0] for blocker in task.registry if blocker.readings}
    if sql.gold_template is not None:
        filled = fill_template(sql.gold_template, right)
        slots_left = [blocker.blocker_id for blocker in task.registry if blocker.blocker_id not in right]
        same = filled == sql.gold_sql and not slots_left
        found["full_information_determines_gold", None] = "" if same else "the filled template is not the gold query"
    if sql.database is None:
        return found
    gold = run(sql.database, sql.gold_sql)
    found["gold_runs", None] = _gold_problem(gold)
    if sql.gold_template is not None and not any(found.values()):
        for blocker in task.registry:
            problem = _uncritical(sql, sql.database, sql.gold_template, gold, right, blocker, run)
            found["blocker_critical", blocker.blocker_id] = problem
    return found


def _gold_problem(gold: SqlResult) -> str:
    if gold.status != "ok":
        return f"{gold.status}: {gold.error}"
    if gold.truncated:
        return "the result is larger than can be graded"
    if not gold.rows or all(value is None for row in gold.rows for value in row):
        return "the result is empty"
    return ""


def _uncritical(
    sql: SqlSpec,
    database: Path,
    template: str,
    gold: SqlResult,
    right: Mapping[str, str],
    blocker: Blocker,
    run: RunSql,
) -> str:
    """A wrong reading of `blocker` that gives the right result all the same."""
    for wrong in blocker.readings[1:]:
        result = run(database, fill_template(template, {**right, blocker.blocker_id: wrong}))
        if result.status == "ok" and match(gold, result, ordered=sql.ordered).equal:
            return f"the reading {wrong!r} gives the same result"
    return "" if len(blocker.readings) > 1 else "no wrong reading is known"


@contextlib.contextmanager
def plain_runner() -> Iterator[RunSql]:
    """Run own, trusted queries in this process: for the generator, which runs thousands of them."""
    connections: dict[Path, sqlite3.Connection] = {}

    def run(database: Path, sql: str) -> SqlResult:
        if database not in connections:
            if not database.exists():
                raise InfraError(f"{database}: no such database")
            connections[database] = sqlite3.connect(f"{database.absolute().as_uri()}?mode=ro", uri=True)
        cursor = connections[database].execute(sql)
        columns = tuple(column[0] for column in cursor.description)
        return SqlResult("ok", columns, tuple(cursor.fetchall()), False, None, 0.0)

    try:
        yield run
    finally:
        for connection in connections.values():
            connection.close()
