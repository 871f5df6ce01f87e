"""Entries of the task rules: make or import a task set, check it, embed its texts, select from it."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from helpseek import config
from helpseek.environments.sql_guard import SqlGuard, SqlLimits
from helpseek.errors import UserError
from helpseek.models.reference import NEEDLESS_QUESTIONS
from helpseek.oracle.embedding import build_embeddings
from helpseek.progress import Progress
from helpseek.records import read_rows, write_rows
from helpseek.tasks.generate import generate_tasks
from helpseek.tasks.hilbench import load_tasks
from helpseek.tasks.invariants import check_task
from helpseek.tasks.selection import select_tasks
from helpseek.tasks.split import assign_splits
from helpseek.tasks.store import read_taskset, write_taskset
from helpseek.tasks.task import Task


def generate(folder: Path, spec: Mapping[str, Any], seed: int) -> None:
    """Generate a task set with its own train and held-out split (databases included) into `folder`."""
    settings = config.GeneratedTasks.model_validate(dict(spec))
    tasks, split = generate_tasks(
        folder,
        n_train=settings.train,
        n_held_out=settings.held_out,
        seed=seed,
        tasks_per_database=settings.tasks_per_database,
    )
    write_taskset(folder, tasks)
    rows = [{"task_id": task.task_id, "split": split[task.task_id], "group": _group(task)} for task in tasks]
    write_rows(folder / "splits.parquet", "splits", rows)


def import_files(folder: Path, spec: Mapping[str, Any], seed: int) -> None:
    """Import the tasks of one domain from task files; unusable ones are named in the log and left out."""
    settings = config.TaskFiles.model_validate(dict(spec))
    loaded = load_tasks(settings.path, databases=settings.databases)
    for problem in loaded.errors:
        sys.stderr.write(f"left out: {problem}\n")
    tasks = [task for task in loaded.tasks if task.domain == settings.domain]
    if not tasks:
        raise UserError(f"{settings.path}: holds no usable {settings.domain} task; try `helpseek tasks check` on it")
    write_taskset(folder, tasks)
    write_rows(folder / "splits.parquet", "splits", assign_splits(tasks, settings.held_out_share, seed, _group))


def check_invariants(folder: Path, output: Path, sql: Mapping[str, Any]) -> None:
    """Check every task of the set in `folder`, queries under the guard with the limits of the `sql` section."""
    settings = config.Sql.model_validate(dict(sql))
    limits = SqlLimits(timeout_s=settings.timeout_s, memory_mb=settings.memory_mb, max_rows=settings.max_graded_rows)
    tasks, rows = read_taskset(folder), []
    with SqlGuard(1, limits) as guard, Progress("check", len(tasks), unit="task") as progress:
        for task in tasks:
            found = check_task(task, guard.run)
            rows += found
            progress.add(1, int(not all(row["passed"] for row in found)))
    write_rows(output, "checks", rows)


def embed_texts(folder: Path, output: Path) -> None:
    """Embed the texts a run of this set is sure to look up: notes, descriptions, known questions."""
    texts: dict[str, None] = dict.fromkeys(NEEDLESS_QUESTIONS)
    for task in read_taskset(folder):
        texts |= dict.fromkeys(task.sql.business_info if task.sql else ())
        for blocker in task.registry:
            texts |= dict.fromkeys([blocker.description, *blocker.trigger_questions])
    write_rows(output, "embeddings", build_embeddings(list(texts)))


def select(folder: Path, episodes: Sequence[Path], output: Path, **thresholds: float) -> None:
    """Apply the paper's filter to finished episodes of the set in `folder`."""
    rows = [row for file in episodes for row in read_rows(file, "episodes")]
    task_ids = [task.task_id for task in read_taskset(folder)]
    write_rows(output, "selection", select_tasks(task_ids, rows, **thresholds))


def _group(task: Task) -> str:
    """What must not be shared between splits: the database, or the repository."""
    if task.sql:
        return task.sql.database_name
    assert task.swe is not None
    return task.swe.repo_name
