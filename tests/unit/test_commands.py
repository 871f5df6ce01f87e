"""Command lines: what an agent may write, and what is read from it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpseek.environments.commands import (
    SQL_COMMANDS,
    CommandError,
    parse_command_line,
    parse_tool_call,
    quote,
    unquote,
)

ALL = tuple(SQL_COMMANDS)


@pytest.mark.parametrize(
    ("line", "query"),
    [
        ('execute_sql "SELECT 1"', "SELECT 1"),
        ("execute_sql SELECT 1", "SELECT 1"),
        ("execute_sql 'SELECT 1'", "SELECT 1"),
        ('execute_sql "SELECT \\"a b\\" FROM t"', 'SELECT "a b" FROM t'),
        ('execute_sql "SELECT "a b" FROM t"', 'SELECT "a b" FROM t'),
        ("execute_sql SELECT 'it''s'; -- note\nSELECT 2", "SELECT 'it''s'; -- note\nSELECT 2"),
        ("execute_sql\nSELECT 'é', '猫'\nFROM t\n", "SELECT 'é', '猫'\nFROM t"),
        ("execute_sql SELECT 'x'", "SELECT 'x'"),
        ("execute_sql \"SELECT '\\\\d' WHERE a LIKE '\\%'\"", "SELECT '\\d' WHERE a LIKE '\\%'"),
    ],
)
def test_query_is_read_whole(line, query):
    assert parse_command_line(line, ALL).arguments == {"query": query}


def test_leading_arguments_may_be_quoted():
    command = parse_command_line('get_column_info "my db" orders "order date"', ALL)
    assert command.arguments == {"database": "my db", "table": "orders", "column": "order date"}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("exec_sql SELECT 1", "did you mean `execute_sql`"),
        ("execute_sql", "Usage: execute_sql"),
        ('execute_sql ""', "Usage: execute_sql"),
        ("get_table_info db", "Usage: get_table_info"),
        ("", "unknown command"),
        ("rm -rf /", "unknown command `rm`"),
    ],
)
def test_unreadable_lines_say_what_is_expected(line, message):
    with pytest.raises(CommandError, match=message):
        parse_command_line(line, ALL)


def test_a_command_that_is_not_offered_is_unknown():
    with pytest.raises(CommandError, match="unknown command `ask_human`"):
        parse_command_line("ask_human what?", ("execute_sql", "submit_sql"))


def test_tool_calls_need_every_argument():
    assert parse_tool_call("execute_sql", {"query": "SELECT 1", "extra": 1}, ALL).arguments == {"query": "SELECT 1"}
    with pytest.raises(CommandError, match="needs the argument `column`"):
        parse_tool_call("get_column_info", {"database": "d", "table": "t"}, ALL)


@given(st.text(min_size=1).filter(lambda text: text.strip()))
def test_quote_and_unquote_are_inverse(text):
    assert unquote(quote(text)) == text
    assert parse_command_line(f"execute_sql {quote(text)}", ALL).arguments["query"] == text


@pytest.mark.parametrize(
    ("line", "table"), [(r'get_table_info "d" "a\\" b"', "a\\"), ("get_table_info 'd' 'it'", "it")]
)
def test_a_quoted_word_ends_at_its_own_quote(line, table):
    command = parse_command_line(line.replace("get_table_info", "get_column_info") + " c", ALL)
    assert command.arguments["table"] == table


# Commands, quotes and escapes that meet: text drawn from all of Unicode seldom holds any.
QUOTING = st.text(alphabet="\"'\\ ab\n$`", max_size=20)


@given(st.one_of(st.text(), st.builds(" ".join, st.tuples(st.sampled_from(ALL), QUOTING))))
def test_no_line_breaks_the_parser(line):
    try:
        command = parse_command_line(line, ALL)
    except CommandError:
        return
    assert command.name in ALL
    assert all(isinstance(value, str) for value in command.arguments.values())
