"""`helpseek tasks check`: what is in a path of tasks, and what is wrong with it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from helpseek.tasks.hilbench import Finding, load_tasks
from helpseek.tasks.task import Task


@dataclass(frozen=True, slots=True)
class CheckReport:
    """The tasks found at `path`, an error for each that cannot be used, and the oddities of the others."""

    path: Path
    tasks: tuple[Task, ...]
    errors: tuple[Finding, ...]
    oddities: tuple[Finding, ...]

    @property
    def usable(self) -> bool:
        """Whether every task found can be used. A database that is not fetched yet is no error."""
        return not self.errors


def check_path(path: Path, databases: Path | None = None) -> CheckReport:
    """Load every task at `path`. Raises `UserError` when there is none (see `load_tasks`)."""
    loaded = load_tasks(path, databases)
    return CheckReport(path, loaded.tasks, loaded.errors, loaded.oddities)


def format_report(report: CheckReport) -> str:
    """One line a task (state, id, domain, blockers, database, oddities), then a summary."""
    oddities: defaultdict[str, list[str]] = defaultdict(list)
    for finding in report.oddities:
        oddities[finding.task].append(finding.message)
    width = max((len(task.task_id) for task in report.tasks), default=0)
    lines = [_task_line(task, width, oddities[task.task_id]) for task in report.tasks]
    lines += [f"error  {finding}" for finding in report.errors]
    return "\n".join([*lines, "", *_summary(report)])


def _task_line(task: Task, width: int, oddities: list[str]) -> str:
    notes = [f"{len(task.registry)} blockers"]
    if task.sql:
        notes.append("database" if task.sql.database else "no database yet")
    return f"ok     {task.task_id:<{width}}  {task.domain}  {'; '.join([*notes, *oddities])}"


def _summary(report: CheckReport) -> list[str]:
    tasks, sql = report.tasks, [task.sql for task in report.tasks if task.sql]
    blockers = [blocker for task in tasks for blocker in task.registry]
    per_task = Counter(len(task.registry) for task in tasks)
    domains = Counter(task.domain for task in tasks)
    lines = [
        f"tasks     {len(tasks)} usable ({_counts(domains.items())}), {len(report.errors)} unusable",
        f"blockers  {len(blockers)}; tasks by blockers: {_counts(sorted(per_task.items()))}",
        f"types     {_counts(Counter(str(blocker.type or 'none') for blocker in blockers).most_common())}",
        f"places    {_counts(Counter(str(blocker.place or 'none') for blocker in blockers).most_common())}",
        f"oddities  tasks with each: {_counts(Counter(finding.kind for finding in report.oddities).most_common())}",
    ]
    missing = sum(spec.database is None for spec in sql)
    if missing:
        lines.append(f"note      {missing} of {len(sql)} databases are not fetched; SQL tasks need theirs to run")
    return lines


def _counts(counted: Iterable[tuple[object, int]]) -> str:
    return ", ".join(f"{name}: {count}" for name, count in counted) or "none"
