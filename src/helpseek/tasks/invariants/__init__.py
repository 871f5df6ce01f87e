"""What must hold of a task before a model is measured on it (HiL-Bench Appendix B), one row per check.

A check that cannot apply (no database fetched, no readings known) gives no row. A task that fails any check is
excluded from sweeps, and the tables say how many and why. The form of a published trigger question is only noted: its
row passes, with a detail that starts with `note:`.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from helpseek.environments.sql_guard import SqlResult
from helpseek.errors import InfraError
from helpseek.scoring.sql_match import match
from helpseek.tasks.invariants.leaks import first_revealed
from helpseek.tasks.invariants.wording import form_problem, leans_on_something_unsaid
from helpseek.tasks.task import SLOT, Blocker, SqlSpec, Task, fill_template

RunSql = Callable[[Path, str], SqlResult]
CheckRow = dict[str, Any]
# A check's name and the blocker it looks at, None for the whole task.
Check = tuple[str, str | None]

MIN_BLOCKERS, MAX_BLOCKERS = 3, 5
MIN_TRIGGER_QUESTIONS = 3
SHORTEST_LEAK = 20
PUBLISHED = "hilbench"
NOTE = "note: "


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
        {
            "task_id": task.task_id,
            "check": check,
            "blocker_id": blocker_id,
            "passed": not problem or problem.startswith(NOTE),
            "detail": problem,
        }
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
        if len(blocker.trigger_questions) < MIN_TRIGGER_QUESTIONS and task.source != PUBLISHED:
            return f"{blocker.blocker_id}: fewer than {MIN_TRIGGER_QUESTIONS} trigger questions"
        if not blocker.trigger_questions:
            return f"{blocker.blocker_id}: no trigger question"
    return ""


def _trigger_problem(task: Task) -> str:
    noted = ""
    for blocker in task.registry:
        for question in blocker.trigger_questions:
            if leans_on_something_unsaid(question):
                return f"{blocker.blocker_id}: not understandable alone: {question!r}"
            if not noted and (problem := form_problem(question)):
                noted = f"{blocker.blocker_id}: {problem}: {question!r}"
    return f"{NOTE}{noted}" if noted and task.source == PUBLISHED else noted


def _leak(task: Task) -> str:
    """A resolution, or for tasks with readings a value only the resolution gives, where it does not belong.

    Trigger questions count: a policy trained on them would learn the answer with the question.
    """
    triggers = (question for blocker in task.registry for question in blocker.trigger_questions)
    for place, text in (("the task", _shown_text(task)), ("a trigger question", " ".join(triggers))):
        shown = " ".join(text.split())
        for blocker in task.registry:
            resolution = " ".join(blocker.resolution.split())
            if len(resolution) >= SHORTEST_LEAK and resolution.lower() in shown.lower():
                return f"{blocker.blocker_id}: the resolution is in {place}"
            if secret := first_revealed(blocker, shown):
                return f"{blocker.blocker_id}: {secret} is in {place}"
    return ""


def _dependence(task: Task) -> str:
    """A resolution that gives another's value away, or a trigger question of two blockers."""
    questions: dict[str, str] = {}
    for blocker in task.registry:
        for other in task.registry:
            if blocker is not other and (secret := first_revealed(blocker, other.resolution)):
                return f"{other.blocker_id} reveals {secret} of {blocker.blocker_id}"
        for question in blocker.trigger_questions:
            owner = questions.setdefault(" ".join(question.lower().split()), blocker.blocker_id)
            if owner != blocker.blocker_id:
                return f"{owner} and {blocker.blocker_id} share the question {question!r}"
    return ""


def _shown_text(task: Task) -> str:
    parts = [task.problem]
    if task.sql is not None:
        parts += task.sql.business_info
        for table in task.sql.tables:
            parts += [table.name, table.description]
            parts += [f"{column.name} {column.description} {column.data_format}" for column in table.columns]
    return " ".join(parts)


def _sql_checks(task: Task, sql: SqlSpec, run: RunSql) -> dict[Check, str]:
    found: dict[Check, str] = {}
    right = {blocker.blocker_id: blocker.readings[0] for blocker in task.registry if blocker.readings}
    if sql.gold_template is not None:
        found["full_information_determines_gold", None] = _template_problem(
            task, sql.gold_template, sql.gold_sql, right
        )
    if sql.database is None:
        return found
    gold = run(sql.database, sql.gold_sql)
    found["gold_runs", None] = _gold_problem(gold)
    if sql.gold_template is not None and not any(found.values()):
        for blocker in task.registry:
            problem = _uncritical(sql, sql.database, sql.gold_template, gold, right, blocker, run)
            found["blocker_critical", blocker.blocker_id] = problem
    return found


def _template_problem(task: Task, template: str, gold_sql: str, right: Mapping[str, str]) -> str:
    slots = set(SLOT.findall(template))
    for blocker in task.registry:
        if blocker.blocker_id not in right:
            return f"{blocker.blocker_id}: no reading is known"
        if blocker.blocker_id not in slots:
            return f"{blocker.blocker_id}: no slot in the template"
    if unfilled := slots - set(right):
        return f"slot {min(unfilled)} of the template has no blocker"
    return "" if fill_template(template, right) == gold_sql else "the filled template is not the gold query"


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
    """A wrong reading of `blocker` that gives the right result all the same, or that nobody could take: it fails."""
    for wrong in blocker.readings[1:]:
        result = run(database, fill_template(template, {**right, blocker.blocker_id: wrong}))
        if result.status != "ok":
            return f"the reading {wrong!r} does not run: {result.error}"
        if match(gold, result, ordered=sql.ordered).equal:
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
        try:
            cursor = connections[database].execute(sql)
            rows = tuple(cursor.fetchall())
        except sqlite3.Error as error:
            return SqlResult("error", (), (), False, str(error), 0.0)
        return SqlResult("ok", tuple(column[0] for column in cursor.description), rows, False, None, 0.0)

    try:
        yield run
    finally:
        for connection in connections.values():
            connection.close()
