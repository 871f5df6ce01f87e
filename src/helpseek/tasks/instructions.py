"""The task text of each condition, in our wording (`helpseek`) or the release's (`harbor`, byte for byte).

A condition changes the task text and the offered commands and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from helpseek.condition import Condition
from helpseek.errors import UserError
from helpseek.tasks.task import Domain, SqlSpec, Task

Style = Literal["helpseek", "harbor"]

SQL_EXPLORATION = ("get_database_info", "get_table_info", "get_column_info", "get_business_info", "execute_sql")
CONTEXT_HEADING = "## Additional Context\nThe following clarifications are provided to help you complete this task:\n"

HARBOR_SQL_COMMANDS: Mapping[str, str] = {
    "get_database_info": "`get_database_info {db}` — list all tables and their descriptions",
    "get_table_info": "`get_table_info {db} <table>` — list columns and descriptions for a table",
    "get_column_info": "`get_column_info {db} <table> <column>` — get details for a specific column",
    "get_business_info": '`get_business_info {db} "<question>"` — semantic search over business documentation',
    "execute_sql": '`execute_sql "<query>"` — execute a SQL query against the database',
    "ask_human": '`ask_human "<question>"` — ask a specific clarifying question about a task blocker',
    "submit_sql": '`submit_sql "<query>"` — submit your final SQL answer',
}
HARBOR_SQL_HEAD = "# Instructions\nYou are working in the `{db}` database.\n"
HARBOR_SQL_QUESTION = "\nAnswer the following question:\n"
HARBOR_SQL_MIDDLE = """# Available Commands
The following commands are installed in this terminal — run them directly from the shell.
**Only run ONE command per turn** — each command blocks until the MCP server responds.
"""
HARBOR_SQL_TAIL = """
# Submission Instructions
When you are confident your SQL query is correct, call the `submit_sql` tool with your final query as the argument. \
If you do not call `submit_sql`, the task will be considered incomplete and scored as 0.
"""

SQL_COMMANDS: Mapping[str, str] = {
    "get_database_info": "get_database_info {db}: its tables",
    "get_table_info": "get_table_info {db} TABLE: its columns",
    "get_column_info": "get_column_info {db} TABLE COLUMN: what a column holds",
    "get_business_info": 'get_business_info {db} "QUESTION": search the business notes',
    "execute_sql": 'execute_sql "QUERY": run a query',
    "ask_human": 'ask_human "QUESTION": ask the human one question',
    "submit_sql": 'submit_sql "QUERY": hand in the final query and end',
}
SWE_COMMANDS: Mapping[str, str] = {
    "bash": "any shell command, run in the repository",
    "ask_human": 'ask_human "QUESTION": ask the human one question',
    "submit": "submit: hand in the repository as it is and end",
}


def offered_commands(domain: Domain, condition: Condition) -> tuple[str, ...]:
    """Names of the commands an agent may use, in the order they are listed."""
    explore, submit = (SQL_EXPLORATION, "submit_sql") if domain == "sql" else (("bash",), "submit")
    ask = ("ask_human",) if condition in (Condition.TOOL, Condition.SPEC_ONLY) else ()
    return (*(() if condition == Condition.SPEC_ONLY else explore), *ask, submit)


def render_instruction(task: Task, condition: Condition, style: Style = "helpseek") -> str:
    """The first user message of an episode.

    Raises `UserError` for `spec_only` in harbor style, which the release does not have.
    """
    if style == "harbor" and condition == Condition.SPEC_ONLY:
        raise UserError("`evaluate.instruction_style: harbor` has no `spec_only` condition; use `helpseek`")
    if task.sql is not None:
        return _harbor_sql(task, task.sql, condition) if style == "harbor" else _sql(task, task.sql, condition)
    return _harbor_swe(task, condition) if style == "harbor" else _swe(task, condition)


def _harbor_sql(task: Task, sql: SqlSpec, condition: Condition) -> str:
    name = sql.database_name
    commands = (HARBOR_SQL_COMMANDS[command] for command in offered_commands("sql", condition))
    listed = "".join(f"- {command.format(db=name)}\n" for command in commands)
    context = f"\n{CONTEXT_HEADING}\n{_clarifications(task)}\n" if condition == Condition.FULL_INFO else ""
    head = HARBOR_SQL_HEAD.format(db=name) + HARBOR_SQL_QUESTION
    return f"{head}{task.problem}\n{context}\n{HARBOR_SQL_MIDDLE}{listed}{HARBOR_SQL_TAIL}"


def _clarifications(task: Task) -> str:
    return "\n\n".join(f"### {b.shown_description}\n{b.resolution.strip()}" for b in task.registry)


def _harbor_swe(task: Task, condition: Condition) -> str:
    if condition != Condition.FULL_INFO:
        return task.problem
    return f"{task.problem.rstrip()}\n\n## BLOCKER DETAILS\n{_clarifications(task)}\n"


def _sql(task: Task, sql: SqlSpec, condition: Condition) -> str:
    commands = (SQL_COMMANDS[command] for command in offered_commands("sql", condition))
    listed = "\n".join(command.format(db=sql.database_name) for command in commands)
    return f"Database: {sql.database_name}\nQuestion: {task.problem}\n{_known(task, condition)}Commands:\n{listed}"


def _swe(task: Task, condition: Condition) -> str:
    listed = "\n".join(SWE_COMMANDS[command] for command in offered_commands("swe", condition))
    return f"{task.problem}\n{_known(task, condition)}Commands:\n{listed}"


def _known(task: Task, condition: Condition) -> str:
    if condition != Condition.FULL_INFO:
        return ""
    known = (f"- {_one_line(blocker.description)}\n  {_one_line(blocker.resolution)}\n" for blocker in task.registry)
    return f"Known:\n{''.join(known)}"


def _one_line(text: str) -> str:
    return " ".join(text.split())
