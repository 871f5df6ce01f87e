"""The commands of the SQL domain: their names, arguments, and how one is read from a line of text.

A line is `name argument…`. The last argument takes the whole rest of the text, so a query may span lines and hold
quotes, semicolons, comments and any script; one pair of quotes around it is dropped.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from helpseek.errors import nearest

SQL_COMMANDS: Mapping[str, tuple[str, ...]] = {
    "get_database_info": ("database",),
    "get_table_info": ("database", "table"),
    "get_column_info": ("database", "table", "column"),
    "get_business_info": ("database", "question"),
    "execute_sql": ("query",),
    "ask_human": ("question",),
    "submit_sql": ("query",),
}

ESCAPED_IN_DOUBLE_QUOTES = re.compile(r'\\(["\\$`])')
# Possessive: a long unclosed quotation costs one pass.
QUOTED_WORD = re.compile(r""""(?:[^"\\]|\\.)*+"|'[^']*+'""", re.DOTALL)


class CommandError(ValueError):
    """A command that cannot be read; the message is shown to the agent."""


@dataclass(frozen=True, slots=True)
class Command:
    """One command with its named arguments."""

    name: str
    arguments: Mapping[str, str]

    @property
    def argument(self) -> str:
        """Its arguments as one text, for traces."""
        return "\n".join(self.arguments.values())


def parse_command_line(text: str, offered: tuple[str, ...]) -> Command:
    """Read one command of `offered` from `text`. Raises `CommandError` with a message for the agent."""
    name, _, rest = _split_word(text.strip())
    names = _argument_names(name, offered)
    *leading, last = names
    arguments: dict[str, str] = {}
    for argument in leading:
        value, quoted, rest = _split_word(rest)
        if not value and not quoted:
            raise CommandError(_usage(name))
        arguments[argument] = value
    arguments[last] = unquote(rest.strip())
    if not arguments[last].strip():
        raise CommandError(_usage(name))
    return Command(name, arguments)


def parse_tool_call(name: str, arguments: Mapping[str, object], offered: tuple[str, ...]) -> Command:
    """Check a tool call against `offered`. Raises `CommandError` with a message for the agent."""
    names = _argument_names(name, offered)
    missing = [argument for argument in names if not str(arguments.get(argument, "")).strip()]
    if missing:
        raise CommandError(f"`{name}` needs the argument `{missing[0]}`. {_usage(name)}")
    return Command(name, {argument: str(arguments[argument]) for argument in names})


def quote(argument: str) -> str:
    """Write `argument` in double quotes so that `unquote` gives it back."""
    return '"' + re.sub(r'(["\\$`])', r"\\\1", argument) + '"'


def unquote(text: str) -> str:
    """Drop one pair of quotes around `text`, with the shell's escapes inside it; leave other text as it is."""
    if len(text) >= 2 and text[0] == text[-1] == '"':
        return ESCAPED_IN_DOUBLE_QUOTES.sub(r"\1", text[1:-1])
    if len(text) >= 2 and text[0] == text[-1] == "'":
        return text[1:-1].replace("'\\''", "'")
    return text


def _argument_names(name: str, offered: tuple[str, ...]) -> tuple[str, ...]:
    if name not in offered:
        raise CommandError(f"unknown command `{name}`{nearest(name, offered)}. Commands: {', '.join(offered)}")
    return SQL_COMMANDS[name]


def _usage(name: str) -> str:
    return "Usage: " + " ".join([name, *(f'"<{argument}>"' for argument in SQL_COMMANDS[name])])


def _split_word(text: str) -> tuple[str, bool, str]:
    """The first word of `text` (quotes as in a shell), whether it was quoted, and the rest."""
    text = text.lstrip()
    if text[:1] in ("'", '"'):
        quoted = QUOTED_WORD.match(text)
        if quoted:
            return unquote(quoted.group()), True, text[quoted.end() :]
    match = re.match(r"\S*", text)
    word = match.group() if match else ""
    return word, False, text[len(word) :]
