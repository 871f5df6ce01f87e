"""What a condition changes in the task text: byte for byte the release's, and in our own style."""

import difflib

import pytest
from hilbench_builders import QUESTION, SAMPLES, sql_task, swe_task

from helpseek.condition import Condition
from helpseek.environments.commands import SQL_COMMANDS
from helpseek.errors import UserError
from helpseek.tasks.hilbench import load_tasks
from helpseek.tasks.instructions import offered_commands, render_instruction

MODES = {Condition.BLOCKED: "baseline", Condition.TOOL: "ask_human", Condition.FULL_INFO: "full_info"}


@pytest.fixture
def sql(tmp_path):
    return load_tasks(sql_task(tmp_path)).tasks[0]


@pytest.fixture
def swe(tmp_path):
    return load_tasks(swe_task(tmp_path)).tasks[0]


def difference(before, after):
    return [line for line in difflib.ndiff(before.split("\n"), after.split("\n")) if line[0] in "+-"]


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="the public samples lie beside the repository")
@pytest.mark.parametrize("condition", MODES)
@pytest.mark.parametrize(("domain", "count"), [("sql", 30), ("swe", 20)])
def test_harbor_style_equals_the_release_byte_for_byte(domain, count, condition):
    tasks = load_tasks(SAMPLES / f"harbor_{domain}").tasks
    assert len(tasks) == count
    for task in tasks:
        published = SAMPLES / f"harbor_{domain}" / task.task_id / MODES[condition] / "instruction.md"
        assert render_instruction(task, condition, "harbor").encode() == published.read_bytes()


def test_tool_adds_one_line(sql, swe):
    for style in ("helpseek", "harbor"):
        texts = [render_instruction(sql, condition, style) for condition in (Condition.BLOCKED, Condition.TOOL)]
        (line,) = difference(*texts)
        assert line.startswith("+ ") and "ask_human" in line
    (line,) = difference(*(render_instruction(swe, condition) for condition in (Condition.BLOCKED, Condition.TOOL)))
    assert line.startswith('+ ask_human "QUESTION"')


def test_full_info_adds_each_blocker_and_no_command(sql, swe):
    for task in (sql, swe):
        before, after = (render_instruction(task, condition) for condition in (Condition.BLOCKED, Condition.FULL_INFO))
        added = difference(before, after)
        assert all(line.startswith("+ ") for line in added)
        assert len(added) == 1 + 2 * len(task.registry)
        for blocker in task.registry:
            assert blocker.description.strip() in after and blocker.resolution.strip() in after
        assert "ask_human" not in after


def test_no_resolution_without_full_info(sql, swe):
    for task in (sql, swe):
        for condition in set(Condition) - {Condition.FULL_INFO}:
            text = render_instruction(task, condition)
            assert not any(b.resolution.strip() in text or b.description.strip() in text for b in task.registry)


def test_commands_are_those_offered(sql, swe):
    for task in (sql, swe):
        for condition in Condition:
            text = render_instruction(task, condition)
            listed = text.partition("Commands:\n")[2].split("\n")
            offered = offered_commands(task.domain, condition)
            assert len(listed) == len(offered)
            for line, name in zip(listed, offered, strict=True):
                assert line.startswith("any shell command" if name == "bash" else name)


def test_offered_commands():
    assert offered_commands("sql", Condition.TOOL) == tuple(SQL_COMMANDS)
    assert set(SQL_COMMANDS) - set(offered_commands("sql", Condition.BLOCKED)) == {"ask_human"}
    assert offered_commands("sql", Condition.FULL_INFO) == offered_commands("sql", Condition.BLOCKED)
    assert offered_commands("sql", Condition.SPEC_ONLY) == ("ask_human", "submit_sql")
    assert offered_commands("swe", Condition.BLOCKED) == ("bash", "submit")
    assert offered_commands("swe", Condition.TOOL) == ("bash", "ask_human", "submit")


def test_own_style_is_short_and_verbatim(sql):
    text = render_instruction(sql, Condition.TOOL)
    assert QUESTION in text
    assert len(text) < len(render_instruction(sql, Condition.TOOL, "harbor")) / 2


def test_braces_in_a_question_are_left_alone(sql):
    odd = sql.model_copy(update={"problem": "What is {db} in {0}?"})
    for style in ("helpseek", "harbor"):
        assert "What is {db} in {0}?" in render_instruction(odd, Condition.BLOCKED, style)


def test_release_has_no_spec_only(sql):
    with pytest.raises(UserError, match="spec_only"):
        render_instruction(sql, Condition.SPEC_ONLY, "harbor")
