"""Describe a SQLite database by what it says of itself: tables, columns and their types."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

from helpseek.errors import UserError
from helpseek.tasks.task import Column, Table


def describe_database(path: Path) -> tuple[Table, ...]:
    """Tables of a user's own database, without meanings. Raises `UserError` when it is not a SQLite file."""
    try:
        with contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            names = connection.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
            ).fetchall()
            return tuple(_table(connection, name) for (name,) in names)
    except sqlite3.DatabaseError as error:
        raise UserError(f"{path}: not a readable SQLite database ({error})") from None


def _table(connection: sqlite3.Connection, name: str) -> Table:
    columns = connection.execute("SELECT name, type FROM pragma_table_info(?)", (name,)).fetchall()
    return Table(name=name, columns=tuple(Column(name=column, data_format=kind) for column, kind in columns))
