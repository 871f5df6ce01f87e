"""Models behind an API: whole episodes against a real local server, in both modes, well-behaved or not."""

import json

import pytest
from minisweagent.exceptions import FormatError

from helpseek import config
from helpseek.condition import Condition
from helpseek.environments.sql_guard import SqlGuard
from helpseek.episodes.episode import Run, Services, Setting, run_episode
from helpseek.models.build import model_builder
from helpseek.models.chat import ChatClient
from helpseek.models.endpoint import ApiModel, tool_definition
from helpseek.oracle.lexical import LexicalJudge, embed_words
from helpseek.oracle.oracle import AnswerPolicy
from helpseek.scoring.grade import SqlGrader
from helpseek.tasks.generate import generate_tasks
from tests.endpoint_server import EndpointServer, Reply, four_steps

OFFERED = ("execute_sql", "ask_human", "submit_sql")


@pytest.fixture(scope="module")
def task(tmp_path_factory):
    return generate_tasks(tmp_path_factory.mktemp("tasks"), n_train=0, n_held_out=1, seed=3, tasks_per_database=1)[0][0]


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch):
    monkeypatch.setattr("helpseek.models.chat.FIRST_PAUSE_S", 0.001)


def call(name, **arguments):
    return {"id": f"call_{name}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}


def episode(task, answer, mode, condition=Condition.TOOL, **limits):
    with EndpointServer(answer) as server, SqlGuard(1) as guard:
        spec = config.EndpointModel(backend="endpoint", base_url=server.base_url, model="m", mode=mode, max_retries=1)
        setting = Setting(
            taskset="t",
            model="m",
            model_spec={},
            mode=mode,
            condition=condition,
            style="helpseek",
            policy=AnswerPolicy(),
            judge="lexical",
            judge_spec={},
            limits=config.Limits(**limits),
            sql_spec={},
            code_digest="0",
        )
        services = Services(
            guard, SqlGrader(guard, guard.limits), LexicalJudge(0.15), embed_words, model_builder(spec, 2)
        )
        return run_episode(setting, Run(task, 0, 7), services), server.requests


def test_a_text_episode_from_question_to_grade(task):
    question, gold = task.registry.blockers[0].trigger_questions[0], task.sql.gold_sql

    def answer(request):
        turn = sum(message["role"] == "assistant" for message in request["messages"])
        command = (f'ask_human "{question}"', f"execute_sql {gold}", f"submit_sql {gold}")[turn]
        return Reply(f"I think.\n```\n{command}\n```")

    rows, requests = episode(task, answer, "text")
    assert rows.episode["outcome"] == "ok"
    assert rows.episode["resolved"] is True
    assert rows.episode["n_resolved"] == rows.episode["n_questions"] == 1
    assert [step["command"] for step in rows.steps] == ["ask_human", "execute_sql", "submit"]
    assert rows.questions[0]["reply"] == task.registry.blockers[0].resolution
    assert rows.questions[0]["step"] == 0
    assert rows.episode["input_tokens"] == sum(step["input_tokens"] for step in rows.steps) > 0
    assert requests[0]["seed"] == 7
    assert "tools" not in requests[0]
    assert all("extra" not in message for request in requests for message in request["messages"])


def test_a_tool_call_episode(task):
    gold = task.sql.gold_sql

    def answer(request):
        turn = sum(message["role"] == "assistant" for message in request["messages"])
        return Reply(None, (call("execute_sql", query=gold) if turn == 0 else call("submit_sql", query=gold),))

    rows, requests = episode(task, answer, "tool_call")
    assert rows.episode["resolved"] is True
    assert {tool["function"]["name"] for tool in requests[0]["tools"]} >= {"ask_human", "execute_sql", "submit_sql"}
    reply = requests[1]["messages"][-1]
    assert (reply["role"], reply["tool_call_id"]) == ("tool", "call_execute_sql")


def test_the_blocked_condition_has_no_human(task):
    rows, requests = episode(
        task, lambda request: Reply('```\nask_human "what?"\n```'), "text", Condition.BLOCKED, steps=2
    )
    assert "ask_human" not in requests[0]["messages"][1]["content"]
    assert rows.questions == []
    assert "unknown command `ask_human`" in rows.steps[0]["observation"]
    assert rows.episode["outcome"] == "limit"
    assert rows.episode["resolved"] is False


def test_three_unreadable_replies_are_the_models_failure(task):
    rows, requests = episode(task, lambda request: Reply("no command at all", finish_reason="length"), "text")
    assert rows.episode["outcome"] == "model_failure"
    assert rows.episode["exit_status"] == "RepeatedFormatError"
    assert [step["status"] for step in rows.steps] == ["format_error"] * 3
    assert rows.steps[0]["response"] == "no command at all"
    assert "cut at the token limit" in rows.steps[0]["observation"]
    assert rows.episode["output_tokens"] == 12
    assert [message["role"] for message in requests[1]["messages"]] == ["system", "user", "assistant", "user"]


@pytest.mark.parametrize(
    "calls",
    [
        (call("execute_sql", query="SELECT 1"), call("submit_sql", query="SELECT 1")),
        ({"id": "x", "type": "function", "function": {"name": "execute_sql", "arguments": "{not json"}},),
        ({"id": "x", "type": "function", "function": {"name": "execute_sql", "arguments": "[1]"}},),
        ({"id": "x", "type": "function"},),
    ],
)
def test_every_unreadable_tool_call_is_answered(calls):
    with EndpointServer(lambda request: Reply(None, calls)) as server:
        model = ApiModel(ChatClient(server.base_url, "m"), "tool_call", OFFERED, {})
        with pytest.raises(FormatError) as caught:
            model.query([{"role": "user", "content": "go"}])
    message, *answers = caught.value.messages
    assert message["tool_calls"] == list(calls)
    assert [answer["tool_call_id"] for answer in answers] == [c["id"] for c in calls]
    assert caught.value.messages[0]["extra"]["model_response"]


def test_a_dead_endpoint_is_no_failure_of_the_model(task):
    rows, _ = episode(task, lambda request: Reply(status=500, body=b"down"), "text")
    assert rows.episode["outcome"] == "infra_error"
    assert rows.episode["resolved"] is None
    assert "HTTP 500: down" in rows.episode["error"]


def test_a_full_context_is_the_models_failure(task):
    body = b'{"error": "maximum context length exceeded"}'
    rows, _ = episode(task, lambda request: Reply(status=400, body=body), "text")
    assert (rows.episode["outcome"], rows.episode["resolved"]) == ("model_failure", False)


def test_tokens_that_one_call_does_not_count_are_unknown(task):
    def answer(request):
        turn = sum(message["role"] == "assistant" for message in request["messages"])
        return Reply("```\nexecute_sql SELECT 1\n```", usage=False) if turn == 0 else four_steps(request)

    rows, _ = episode(task, answer, "text")
    assert rows.episode["input_tokens"] is None


@pytest.mark.parametrize(
    "content",
    ["```bash\nexecute_sql SELECT 1\n```", "x\n```sql\nexecute_sql SELECT 1\n```\ny", "``` \nexecute_sql SELECT 1```"],
)
def test_fences_may_have_a_language(content):
    with EndpointServer(lambda request: Reply(content)) as server:
        model = ApiModel(ChatClient(server.base_url, "m"), "text", OFFERED, {})
        message = model.query([{"role": "user", "content": "go"}])
    assert message["extra"]["actions"] == [{"command_line": "execute_sql SELECT 1"}]


def test_tool_definitions_name_every_argument():
    definition = tool_definition("get_column_info")["function"]
    assert definition["parameters"]["required"] == ["database", "table", "column"]
