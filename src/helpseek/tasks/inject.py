"""Make blocked tasks of a user's own well-specified ones: a model proposes blockers, checks test them, a human decides.

`propose` writes a review sheet with one row per proposed blocker; the human sets `decision` to accept or reject and
edits any cell; `accept` reads the sheet back into a task set. Nothing enters a task set unseen.
"""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from helpseek.environments.sql_guard import SqlGuard
from helpseek.errors import InfraError, UserError, nearest
from helpseek.files import atomic_path
from helpseek.models.json_text import json_objects
from helpseek.oracle.llm import Chat
from helpseek.progress import Progress
from helpseek.tasks.invariants import RunSql, check_task, hard_failures
from helpseek.tasks.schema_of import describe_database
from helpseek.tasks.task import Blocker, BlockerType, Place, Registry, SqlSpec, Task

COLUMNS = (
    "decision",
    "task_id",
    "question",
    "blocker_id",
    "type",
    "place",
    "description",
    "resolution",
    "trigger_questions",
    "readings",
    "failed_checks",
)
DECISIONS = ("accept", "reject")
MAX_TRIES = 3

PROMPT = """You turn a well-specified text-to-SQL task into one that cannot be solved without asking a human.

Remove, blur or contradict three to five separate facts that the query needs, so that a careful analyst would notice \
each gap, could not guess or look up what is right, and could ask one short question about it. Cover the three types: \
missing (a value is stated nowhere), ambiguous (several readings are plausible), contradictory (two statements cannot \
both hold). Facts must be independent: the answer to one must not give away another.

Schema:
{schema}

Question: {question}

Right query:
{gold_sql}

Answer with JSON only:
{{"question": "<the question with the facts removed>",
 "blockers": [{{"blocker_id": "<short_snake_case>", "type": "missing|ambiguous|contradictory",
   "place": "question|business_info|schema", "description": "<the gap, in one sentence that stands alone>",
   "resolution": "<the exact fact a human would give>", "trigger_questions": ["<three to five ways to ask for it>"],
   "readings": ["<the exact fragment of the right query that the fact decides>", "<two or three wrong ones>"]}}]}}"""


class OwnTask(BaseModel):
    """A user's well-specified task: one JSON line. `database` is a SQLite file, relative to the file of tasks."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    task_id: str
    question: str
    gold_sql: str
    database: Path
    business_info: tuple[str, ...] = ()
    ordered: bool = False


class Proposal(BaseModel):
    """What the model proposes for one task."""

    model_config = ConfigDict(frozen=True)
    question: str
    blockers: tuple[Blocker, ...]


def read_own_tasks(path: Path) -> list[OwnTask]:
    """Read a JSONL file of own tasks. Raises `UserError` naming the line and the key."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: cannot be read as UTF-8 text ({error})") from None
    tasks = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            task = OwnTask.model_validate_json(line)
        except ValidationError as error:
            mistake = error.errors()[0]
            key = ".".join(str(part) for part in mistake["loc"]) or "line"
            known = nearest(key, OwnTask.model_fields) if mistake["type"] == "extra_forbidden" else ""
            raise UserError(f"{path} line {number}: `{key}`: {mistake['msg']}{known}") from None
        database = path.parent / task.database
        if not database.is_file():
            raise UserError(f"{path} line {number}: `database`: no such file: {database}")
        tasks.append(task.model_copy(update={"database": database.absolute()}))
    if not tasks:
        raise UserError(
            f"{path}: holds no task; expected one JSON object a line with {', '.join(OwnTask.model_fields)}"
        )
    return tasks


def propose(tasks: Sequence[OwnTask], chat: Chat, sheet: Path) -> int:
    """Ask `chat` for blockers of each task, check them, and write the review sheet; returns its number of rows.

    Raises `InfraError` when the model gives no readable proposal for a task in three tries.
    """
    rows: list[dict[str, str]] = []
    with SqlGuard(1) as guard, Progress("propose blockers", len(tasks), unit="task") as progress:
        for own in tasks:
            proposal = _ask(own, chat)
            failed = _failures(make_task(own, proposal), guard.run)
            rows += [_sheet_row(own.task_id, proposal.question, b, failed[b.blocker_id]) for b in proposal.blockers]
            progress.add(1, int(bool(failed)))
    with atomic_path(sheet) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(rows)
    return len(rows)


def accept(tasks: Sequence[OwnTask], sheet: Path) -> tuple[list[Task], list[str]]:
    """The tasks of a reviewed sheet with their accepted blockers, and a line for each task that still fails a check.

    Raises `UserError` naming the row when a decision is missing or a cell cannot be read.
    """
    by_id = {own.task_id: own for own in tasks}
    accepted: defaultdict[str, list[Blocker]] = defaultdict(list)
    questions: dict[str, str] = {}
    for number, row in enumerate(_read_sheet(sheet), start=2):
        where = f"{sheet} line {number}"
        if row["task_id"] not in by_id:
            raise UserError(f"{where}: unknown task `{row['task_id']}`{nearest(row['task_id'], by_id)}")
        if row["decision"].strip().lower() not in DECISIONS:
            raise UserError(f"{where}: `decision` is {row['decision']!r}; set it to accept or reject")
        questions.setdefault(row["task_id"], row["question"])
        if row["question"] != questions[row["task_id"]]:
            raise UserError(f"{where}: `question` differs from the first row of task `{row['task_id']}`")
        if row["decision"].strip().lower() == "accept":
            accepted[row["task_id"]].append(_blocker_of_row(where, row))
    made, faults = [], []
    with SqlGuard(1) as guard:
        for task_id, blockers in accepted.items():
            task = make_task(by_id[task_id], Proposal(question=questions[task_id], blockers=tuple(blockers)))
            faults += [
                f"{task_id}: {row['check']}: {row['detail']}" for row in hard_failures(check_task(task, guard.run))
            ]
            made.append(task)
    return made, faults


def make_task(own: OwnTask, proposal: Proposal) -> Task:
    """The blocked task. Its template has a slot where a blocker's right reading stands once in the gold query."""
    template: str | None = own.gold_sql
    for blocker in proposal.blockers:
        right = blocker.readings[0] if blocker.readings else ""
        found = template is not None and right and template.count(right) == 1
        template = template.replace(right, f"{{{blocker.blocker_id}}}") if template and found else None
    return Task(
        task_id=own.task_id,
        domain="sql",
        source="injected",
        problem=proposal.question,
        registry=Registry(blockers=proposal.blockers),
        sql=SqlSpec(
            database_name=own.database.stem,
            database=own.database,
            tables=describe_database(own.database),
            business_info=own.business_info,
            gold_sql=own.gold_sql,
            gold_template=template,
            ordered=own.ordered,
            original_question=own.question,
        ),
    )


def _ask(own: OwnTask, chat: Chat) -> Proposal:
    schema = json.dumps([table.model_dump() for table in describe_database(own.database)], ensure_ascii=False)
    prompt = PROMPT.format(schema=schema, question=own.question, gold_sql=own.gold_sql)
    problem = ""
    for _ in range(MAX_TRIES):
        reply = chat.complete([{"role": "user", "content": prompt}], temperature=0.7, max_tokens=4096)
        found = [proposed for proposed in json_objects(reply.content) if "blockers" in proposed]
        try:
            proposal = Proposal.model_validate(found[-1] if found else {})
        except ValidationError as error:
            problem = str(error.errors()[0]["msg"])
            continue
        if proposal.blockers:
            return proposal
        problem = "no blocker proposed"
    raise InfraError(f"task {own.task_id}: no readable proposal in {MAX_TRIES} tries; last: {problem}")


def _failures(task: Task, run: RunSql) -> defaultdict[str, list[str]]:
    """Failed checks by blocker; those of the whole task stand at every blocker."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    if task.sql is not None and task.sql.gold_template is None:
        for blocker in task.registry:
            found[blocker.blocker_id].append("a right reading does not stand exactly once in the gold query")
    for row in hard_failures(check_task(task, run)):
        for blocker in task.registry:
            if row["blocker_id"] in (None, blocker.blocker_id):
                found[blocker.blocker_id].append(f"{row['check']}: {row['detail']}")
    return found


def _sheet_row(task_id: str, question: str, blocker: Blocker, failed: Sequence[str]) -> dict[str, str]:
    cells = blocker.model_dump(mode="json", include=set(COLUMNS))
    listed = {name: "\n".join(cells[name]) for name in ("trigger_questions", "readings")}
    given = {"decision": "", "task_id": task_id, "question": question, "failed_checks": "\n".join(failed)}
    return {name: str(value or "") for name, value in (cells | listed | given).items()}


def _read_sheet(sheet: Path) -> list[dict[str, str]]:
    try:
        with sheet.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.DictReader(file)
            missing = [name for name in COLUMNS if name not in (reader.fieldnames or ())]
            if missing:
                raise UserError(f"{sheet}: column `{missing[0]}` is missing; expected {', '.join(COLUMNS)}")
            return [{name: row[name] or "" for name in COLUMNS} for row in reader]
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{sheet}: cannot be read as UTF-8 text ({error})") from None


def _blocker_of_row(where: str, row: Mapping[str, str]) -> Blocker:
    fields: dict[str, Any] = {name: row[name] for name in ("blocker_id", "description", "resolution")}
    for name, choices in (("type", BlockerType), ("place", Place)):
        value = row[name].strip().lower()
        if value not in [str(choice) for choice in choices]:
            raise UserError(f"{where}: `{name}` is {row[name]!r}; expected one of {', '.join(choices)}")
        fields[name] = choices(value)
    for name in ("trigger_questions", "readings"):
        fields[name] = tuple(line.strip() for line in row[name].splitlines() if line.strip())
    for name in ("blocker_id", "description", "resolution"):
        if not row[name].strip():
            raise UserError(f"{where}: `{name}` is empty")
    return Blocker(**fields)
