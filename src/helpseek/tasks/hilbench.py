"""Loading HiL-Bench tasks in any public form, and task sets of our own, from one path."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from helpseek.errors import UserError
from helpseek.tasks.fields import Fields
from helpseek.tasks.harbor import is_task_folder, load_harbor_task
from helpseek.tasks.hf_rows import ROW_SUFFIXES, load_hf_row, read_hf_rows
from helpseek.tasks.registry import Notes
from helpseek.tasks.store import read_taskset
from helpseek.tasks.task import Task

DATABASES = "databases"
HARBOR_PARENTS = ("harbor_sql", "harbor_swe")


@dataclass(frozen=True, slots=True)
class Finding:
    """Something about one task: `task` is its id, or where it is when it could not be read; `kind` is for counting."""

    task: str
    message: str
    kind: str = "error"

    def __str__(self) -> str:
        return f"{self.task}: {self.message}"


@dataclass(frozen=True, slots=True)
class LoadResult:
    """Usable tasks in natural order; an error for each unusable one; oddities repaired or noted in usable ones."""

    tasks: tuple[Task, ...]
    errors: tuple[Finding, ...]
    oddities: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class Candidate:
    """One task not yet read."""

    name: str
    load: Callable[[Notes], Task]


def load_tasks(path: Path, databases: Path | None = None) -> LoadResult:
    """Load the tasks at `path`: a Harbor task folder, a folder of them, or of `harbor_sql` and `harbor_swe`; a file of
    rows, or a folder of such files (also in `data/`); or a task set written by `write_taskset`.

    SQLite files are looked for in the Harbor task itself, in `databases`, and in `databases/` beside the rows. A task
    without its database loads, with `database` None. Raises `UserError` when `path` holds no tasks at all; what is
    wrong with one task is an error of that task.
    """
    try:
        return _load_path(path, databases)
    except OSError as error:
        raise UserError(f"{error.filename or path}: cannot be read ({error.strerror or error})") from None


def _load_path(path: Path, databases: Path | None) -> LoadResult:
    if not path.exists():
        raise UserError(f"{path}: no such file or folder; expected HiL-Bench tasks")
    if (path / "tasks.parquet").is_file() and (path / "blockers.parquet").is_file():
        return LoadResult(tuple(read_taskset(path)), (), ())
    if path.is_file():
        return _load(_rows([path], databases, path.parent))
    if folders := task_folders(path):
        homes = [databases] if databases else []
        return _load([_harbor_candidate(folder, homes) for folder in folders])
    if files := _row_files(path):
        return _load(_rows(files, databases, path))
    raise UserError(
        f"{path}: holds no tasks; expected a Harbor task folder (with `shared/metadata.json`), a folder of them, "
        f"or a file of rows ({', '.join(ROW_SUFFIXES)})"
    )


def _load(candidates: Sequence[Candidate]) -> LoadResult:
    tasks: list[Task] = []
    errors: list[Finding] = []
    oddities: list[Finding] = []
    origins: dict[str, str] = {}
    for candidate in candidates:
        notes = Notes()
        try:
            task = candidate.load(notes)
            if task.task_id in origins:
                raise UserError(f"has the same task id `{task.task_id}` as {origins[task.task_id]}; left out")
        except (UserError, OSError) as error:
            errors.append(Finding(candidate.name, str(error)))
            continue
        origins[task.task_id] = candidate.name
        tasks.append(task)
        oddities += (Finding(task.task_id, text, kind) for kind, text in notes.sentences().items())
    return LoadResult(tuple(tasks), tuple(errors), tuple(oddities))


def _harbor_candidate(folder: Path, homes: Sequence[Path]) -> Candidate:
    return Candidate(str(folder), lambda notes: load_harbor_task(folder, homes, notes))


def _rows(files: Sequence[Path], databases: Path | None, base: Path) -> list[Candidate]:
    homes = [databases] if databases else [base / DATABASES]
    return [_row_candidate(row, homes) for file in files for row in read_hf_rows(file)]


def _row_candidate(row: Fields, homes: Sequence[Path]) -> Candidate:
    task_id = row.content.get("task_id")
    name = f"{row.file} ({task_id})" if isinstance(task_id, str) else row.file
    return Candidate(name, lambda notes: load_hf_row(row, homes, notes))


def task_folders(path: Path) -> list[Path]:
    """The task folders at, in, or one release folder under `path`."""
    if is_task_folder(path):
        return [path]
    parents = [path / name for name in HARBOR_PARENTS if (path / name).is_dir()] or [path]
    found = [child for parent in parents for child in parent.iterdir() if child.is_dir() and is_task_folder(child)]
    return sorted(found, key=_natural)


def _row_files(path: Path) -> list[Path]:
    """Files of rows in `path` or, when it has none, in its folder `data`."""
    for folder in (path, path / "data"):
        if folder.is_dir():
            files = [file for file in folder.iterdir() if file.suffix in ROW_SUFFIXES and file.is_file()]
            if files:
                return sorted(files, key=_natural)
    return []


def _natural(path: Path) -> tuple[str, list[tuple[int, str]]]:
    """Sort `sql_2` before `sql_10`."""
    parts = re.split(r"(\d+)", path.name)
    return str(path.parent), [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]
