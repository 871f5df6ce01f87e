"""A SQL task's files outside its JSON: the SQLite database and the schema descriptions, once they are fetched."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from helpseek.errors import UserError
from helpseek.tasks.fields import read_text
from helpseek.tasks.registry import Notes
from helpseek.tasks.task import Column, Table

SQLITE_MAGIC = b"SQLite format 3\0"
TABLE_DESCRIPTIONS = "table_descriptions.csv"
PLAIN_NAME = re.compile(r"\w[\w .-]{0,127}")


@dataclass(frozen=True, slots=True)
class DatabaseFiles:
    """What was found of one task's database; nothing yet when it has not been fetched."""

    database: Path | None
    tables: tuple[Table, ...]


def plain_name(name: str, where: str) -> str:
    """`name` when it can safely be part of a path. Raises `UserError`."""
    if not PLAIN_NAME.fullmatch(name):
        raise UserError(
            f"{where}: {name!r:.60} is used in file names; expected at most 128 letters, digits, `_`, `-`, `.`"
        )
    return name


def find_database(name: str, task_id: str, homes: Sequence[Path], notes: Notes) -> DatabaseFiles:
    """Look for database `name` of a task in `homes`, first found first.

    A home is a Harbor task's `shared/data`, or a folder with one `public_<task_id>` (or `<task_id>`) folder per task.
    Raises `UserError` when a file there is not what its name says.
    """
    folders = [folder for home in homes for folder in (home, home / f"public_{task_id}", home / task_id)]
    files = (folder / file for folder in folders for file in (f"{name}.sqlite", "database.sqlite"))
    database = next((file for file in files if file.exists()), None)
    if database is not None:
        _check_sqlite(database)
    described = [folder for folder in folders for folder in (folder / "database_description", folder)]
    description = next((folder for folder in described if (folder / TABLE_DESCRIPTIONS).exists()), None)
    if database and not description:
        notes.add(f"database without {TABLE_DESCRIPTIONS}")
    tables = read_descriptions(description, notes) if description else ()
    return DatabaseFiles(database.absolute() if database else None, tables)


def read_descriptions(folder: Path, notes: Notes) -> tuple[Table, ...]:
    """Tables in the order of `table_descriptions.csv`, columns from `<table in lower case>.csv` (spec 1.1).

    Raises `UserError` when a file is not CSV in UTF-8 with the expected columns.
    """
    tables = []
    for row in _read_csv(folder / TABLE_DESCRIPTIONS, ("table_name", "table_description")):
        file = folder / f"{plain_name(row['table_name'], str(folder / TABLE_DESCRIPTIONS)).lower()}.csv"
        if not file.exists():
            notes.add("table without column descriptions", row["table_name"])
        rows = _read_csv(file, ("original_column_name", "combined_description")) if file.exists() else []
        columns = tuple(
            Column(
                name=row["original_column_name"].strip(),
                description=row["combined_description"].strip(),
                data_format=(row.get("data_format") or "").strip(),
            )
            for row in rows
        )
        tables.append(Table(name=row["table_name"], description=row["table_description"].strip(), columns=columns))
    return tuple(tables)


def _read_csv(file: Path, columns: Sequence[str]) -> list[dict[str, str]]:
    text = read_text(file).removeprefix("\ufeff")
    try:
        reader = csv.DictReader(io.StringIO(text, newline=""), restval="")
        rows = list(reader)
    except csv.Error as error:
        raise UserError(f"{file}: not readable as CSV ({error})") from None
    missing = [column for column in columns if column not in (reader.fieldnames or ())]
    if missing:
        raise UserError(
            f"{file}: column `{missing[0]}` is missing; found {', '.join(reader.fieldnames or ()) or 'none'}"
        )
    return rows


def _check_sqlite(file: Path) -> None:
    try:
        with file.open("rb") as stream:
            magic = stream.read(len(SQLITE_MAGIC))
    except OSError as error:
        raise UserError(f"{file}: cannot be read ({error.strerror or error})") from None
    if magic != SQLITE_MAGIC:
        raise UserError(f"{file}: not a SQLite database (a pointer or a broken download?); fetch it again")
