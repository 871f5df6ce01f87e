"""The SQL environment of one episode: schema look-ups, business notes, guarded queries, `ask_human`, submission.

Implements mini-swe-agent's Environment protocol. It holds what an agent may see and nothing else: no gold query,
no registry; the human is reached only through `ask`.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from minisweagent.exceptions import Submitted

from helpseek.environments.commands import Command, CommandError, parse_command_line, parse_tool_call
from helpseek.environments.notes import NoteSearch
from helpseek.environments.sql_guard import SqlGuard, SqlResult
from helpseek.errors import nearest
from helpseek.tasks.task import Table

Ask = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class SqlView:
    """What one SQL task shows to an agent."""

    database_name: str
    database: Path
    tables: tuple[Table, ...]
    notes: NoteSearch


class SqlEnvironment:
    """Executes the commands in `offered` for one episode; `ask` answers `ask_human` (None where it is not offered)."""

    config: Any = None

    def __init__(self, view: SqlView, guard: SqlGuard, offered: Sequence[str], ask: Ask | None) -> None:
        self.view, self.guard, self.offered, self.ask = view, guard, tuple(offered), ask

    def execute(self, action: dict[str, Any], cwd: str = "") -> dict[str, Any]:
        """Run one action. Raises mini-swe-agent's `Submitted` with the final query, or `InfraError`."""
        try:
            command = self._read(action)
            if command.name == "submit_sql":
                raise Submitted(_exit_message(command.arguments["query"]))
            output, status = self._run(command)
            return _observation(output, status, command.name, command.argument)
        except CommandError as error:
            return _observation(f"Error: {error}", "error", None, action.get("command_line") or json.dumps(action))

    def _read(self, action: dict[str, Any]) -> Command:
        if "command_line" in action:
            return parse_command_line(action["command_line"], self.offered)
        return parse_tool_call(action["command"], action["arguments"], self.offered)

    def _run(self, command: Command) -> tuple[str, str]:
        arguments = command.arguments
        match command.name:
            case "execute_sql":
                result = self.guard.run(self.view.database, arguments["query"])
                return render_result(result), result.status
            case "ask_human":
                assert self.ask is not None, "ask_human is offered only with an oracle"
                return self.ask(arguments["question"]), "ok"
            case "get_database_info":
                return _dumped({table.name: table.description for table in self.view.tables}), "ok"
            case "get_table_info":
                return _dumped(_table_info(self._table(arguments["table"]))), "ok"
            case "get_column_info":
                return _dumped(self._column_info(arguments["table"], arguments["column"])), "ok"
            case "get_business_info":
                return self._business_info(arguments["question"]), "ok"
        raise AssertionError(f"command {command.name} is parsed but not executed")

    def _table(self, name: str) -> Table:
        found = [table for table in self.view.tables if table.name.lower() == name.strip().lower()]
        if not found:
            names = [table.name for table in self.view.tables]
            raise CommandError(f"table {name} doesn't exist in {self.view.database_name}{nearest(name, names)}")
        return found[0]

    def _column_info(self, table_name: str, column_name: str) -> dict[str, str]:
        table = self._table(table_name)
        for column in table.columns:
            if column.name.lower() == column_name.strip().lower():
                return {"description": column.description, "data_type": column.data_format}
        names = [column.name for column in table.columns]
        raise CommandError(f"column {column_name} doesn't exist in {table.name}{nearest(column_name, names)}")

    def _business_info(self, question: str) -> str:
        notes = self.view.notes.top(question)
        if not notes:
            return f"No business information found matching '{question}'."
        return "\n".join(f"{number}. {note}" for number, note in enumerate(notes, start=1))

    def get_template_vars(self, **_: Any) -> dict[str, Any]:
        return {}

    def serialize(self) -> dict[str, Any]:
        return {"info": {"config": {"environment": {"database": self.view.database_name, "commands": self.offered}}}}


def render_result(result: SqlResult) -> str:
    """A query's result as CSV text, with a notice when rows were cut; an error as one line."""
    if result.status != "ok":
        return f"Error: {result.error}"
    if not result.rows:
        return "Query executed successfully. No results returned."
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(result.columns)
    writer.writerows([["NULL" if value is None else value for value in row] for row in result.rows])
    notice = f"(cut after the first {len(result.rows)} rows)\n" if result.truncated else ""
    return (buffer.getvalue() + notice).rstrip("\n")


def _table_info(table: Table) -> dict[str, Any]:
    return {"description": table.description, "columns": [column.name for column in table.columns]}


def _dumped(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _observation(output: str, status: str, command: str | None, argument: str) -> dict[str, Any]:
    extra = {"command": command, "argument": argument, "status": status}
    return {"output": output, "returncode": 0 if status == "ok" else 1, "exception_info": None, "extra": extra}


def _exit_message(query: str) -> dict[str, Any]:
    extra = {"exit_status": "Submitted", "submission": query}
    return {"role": "exit", "content": query, "extra": extra}
