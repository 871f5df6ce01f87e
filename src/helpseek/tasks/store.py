"""Task sets as Parquet: written by the task rules, read by everything after."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from helpseek.errors import UserError
from helpseek.records import read_rows, write_rows
from helpseek.tasks.task import Blocker, Registry, SqlSpec, SweSpec, Task

BLOCKER_FIELDS = tuple(Blocker.model_fields)
SQL_FIELDS = tuple(SqlSpec.model_fields)


def write_taskset(folder: Path, tasks: Sequence[Task]) -> None:
    """Write `tasks.parquet` and `blockers.parquet`. Raises `UserError` when two tasks share an id."""
    seen: set[str] = set()
    for task in tasks:
        if task.task_id in seen:
            raise UserError(f"{folder}: two tasks have the id `{task.task_id}`")
        seen.add(task.task_id)
    write_rows(folder / "tasks.parquet", "tasks", [_task_row(folder, task) for task in tasks])
    blockers = [
        {"task_id": task.task_id, "position": position, **blocker.model_dump(mode="json")}
        for task in tasks
        for position, blocker in enumerate(task.registry)
    ]
    write_rows(folder / "blockers.parquet", "blockers", blockers)


def read_taskset(folder: Path) -> list[Task]:
    """Read the task set in `folder`, in its stored order, database paths made absolute.

    Raises `UserError` when a table is damaged or the two do not belong together.
    """
    blockers: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in read_rows(folder / "blockers.parquet", "blockers"):
        blockers[row["task_id"]].append(row)
    tasks = [
        _task(folder, row, sorted(blockers.pop(row["task_id"], []), key=lambda blocker: blocker["position"]))
        for row in read_rows(folder / "tasks.parquet", "tasks")
    ]
    if blockers:
        raise UserError(
            f"{folder / 'blockers.parquet'}: blockers of task `{next(iter(blockers))}`, which tasks.parquet lacks"
        )
    return tasks


def _task_row(folder: Path, task: Task) -> dict[str, Any]:
    sql = task.sql.model_dump(mode="json") if task.sql else dict.fromkeys(SQL_FIELDS)
    if task.sql and task.sql.database:
        path, home = task.sql.database.absolute(), folder.absolute()
        sql["database"] = str(path.relative_to(home) if path.is_relative_to(home) else path)
    return {
        "task_id": task.task_id,
        "domain": task.domain,
        "source": task.source,
        "problem": task.problem,
        "n_blockers": len(task.registry),
        "digest": task.digest,
        "swe": task.swe.model_dump_json() if task.swe else None,
        **sql,
    }


def _task(folder: Path, row: dict[str, Any], blockers: list[dict[str, Any]]) -> Task:
    where = f"{folder / 'tasks.parquet'}: task `{row['task_id']}`"
    if len(blockers) != row["n_blockers"]:
        raise UserError(
            f"{where}: should have {row['n_blockers']} blockers, blockers.parquet has {len(blockers)}; "
            "rerun the rule that made them"
        )
    try:
        task = _build_task(folder, row, blockers)
    except ValidationError as error:
        mistake = error.errors()[0]
        key = ".".join(str(part) for part in mistake["loc"])
        raise UserError(f"{where}: `{key}`: {mistake['msg']}, found {mistake['input']!r:.80}") from None
    if task.digest != row["digest"]:
        raise UserError(
            f"{where}: its content does not fit its digest, so the two tables come from different runs or versions; "
            "rerun the rule that made them"
        )
    return task


def _build_task(folder: Path, row: dict[str, Any], blockers: list[dict[str, Any]]) -> Task:
    sql = None
    if row["gold_sql"] is not None:
        fields = {name: row[name] for name in SQL_FIELDS}
        database = fields.pop("database")
        sql = SqlSpec(**fields, database=folder.absolute() / database if database else None)
    registry = tuple(Blocker(**{name: blocker[name] for name in BLOCKER_FIELDS}) for blocker in blockers)
    return Task(
        task_id=row["task_id"],
        domain=row["domain"],
        source=row["source"],
        problem=row["problem"],
        registry=Registry(blockers=registry),
        sql=sql,
        swe=SweSpec.model_validate_json(row["swe"]) if row["swe"] is not None else None,
    )
