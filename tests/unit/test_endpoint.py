"""Models behind an API: what counts as one command, and that any reply leaves a conversation an API accepts."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from minisweagent.exceptions import FormatError, Submitted

from helpseek.config import Limits
from helpseek.environments.commands import SQL_COMMANDS
from helpseek.episodes.agent import HelpseekAgent
from helpseek.models.actions import UnreadableCommand, read_text, replayable, tool_definition
from helpseek.models.chat import ChatClient, ChatReply
from helpseek.models.endpoint import ApiModel
from tests.endpoint_server import EndpointServer, Reply, in_turn, tool_call

OFFERED = tuple(SQL_COMMANDS)
SWE = ("bash", "ask_human", "submit")
START = [{"role": "system", "content": "s"}, {"role": "user", "content": "u", "extra": {"private": 1}}]
RUN = 'execute_sql "SELECT 1"'


def fenced(command, tag=""):
    return f"```{tag}\n{command}\n```"


@pytest.mark.parametrize(
    "content",
    [
        fenced(RUN),
        fenced(RUN, "bash"),
        fenced(RUN, "sql"),
        f"First I look.\n\n{fenced(RUN, 'bash')}\nThen I wait.",
        f"  ```\n  {RUN}\n  ```",
        f"```\r\n{RUN}\r\n```\r\n",
        f"```\n{RUN}```",
        f"A draft:\n{fenced('SELECT 1', 'sql')}\nSo:\n{fenced(RUN)}",
        f"Inline ```x``` first.\n{fenced(RUN)}",
        f"<think>\n{fenced('submit_sql x')}\n</think>\n{fenced(RUN)}",
        f"{fenced('submit_sql x')}\n</think>\n{fenced(RUN)}",
    ],
)
def test_one_fenced_command_is_read(content):
    assert read_text(content, OFFERED) == {"command_line": RUN}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "Found no command"),
        (RUN, "Found no command"),
        ("```\n\n```", "Found no command"),
        (f"```\n{RUN}", "Found no command"),
        (f"```{RUN}```", "Found no command"),
        (f"<think>\n{fenced(RUN)}", "Found no command"),
        (fenced("SELECT 1", "sql"), "Unknown command `SELECT`"),
        (fenced("exec_sql SELECT 1"), r"did you mean `execute_sql`"),
        (fenced(RUN) + "\n" + fenced(RUN), "Found 2 commands"),
    ],
)
def test_anything_else_is_explained_with_the_format(content, message):
    with pytest.raises(UnreadableCommand, match=message) as caught:
        read_text(content, OFFERED)
    assert 'get_database_info "<database>"' in str(caught.value)
    assert "Commands: get_database_info, " in str(caught.value)


def test_a_command_that_is_not_offered_is_unknown():
    with pytest.raises(UnreadableCommand, match="Unknown command `ask_human`"):
        read_text(fenced("ask_human what?"), ("execute_sql", "submit_sql"))


def test_in_a_repository_every_block_is_a_command():
    assert read_text(fenced("ls -la && cat a.py", "bash"), SWE) == {"command_line": "ls -la && cat a.py"}


@given(st.lists(st.sampled_from([*"`\n a~<>/", "```", "execute_sql", "think"])).map("".join))
def test_no_text_breaks_the_reader(content):
    try:
        line = read_text(content, OFFERED)["command_line"]
    except UnreadableCommand:
        return
    assert line.split()[0] in OFFERED


def asked(mode, *replies, offered=OFFERED, messages=START, **sampling):
    """What one turn gives (a message or a FormatError), and the request that was sent."""
    with EndpointServer(in_turn(*replies)) as server:
        model = ApiModel(ChatClient(server.base_url, "m", max_retries=0), mode, offered, sampling)
        try:
            result = model.query(messages)
        except FormatError as error:
            result = error
        return result, server.requests[0]


def test_a_text_turn():
    message, request = asked("text", Reply(fenced(RUN)), temperature=1.0, seed=7, max_tokens=99)
    assert message["content"] == fenced(RUN)
    assert message["extra"]["actions"] == [{"command_line": RUN}]
    assert (message["extra"]["input_tokens"], message["extra"]["output_tokens"]) == (2, 5)
    assert message["extra"]["model_s"] > 0
    assert request["messages"] == [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}]
    assert (request["temperature"], request["seed"], request["max_tokens"]) == (1.0, 7, 99)
    assert "tools" not in request
    assert START[1]["extra"] == {"private": 1}


def test_a_tool_turn_and_its_observation():
    call = tool_call("execute_sql", {"query": "SELECT 'é'"}, id="c9")
    message, request = asked("tool_call", Reply(None, tool_calls=[call]))
    action = {"command": "execute_sql", "arguments": {"query": "SELECT 'é'"}, "tool_call_id": "c9"}
    assert message["extra"]["actions"] == [action]
    assert message["tool_calls"] == [call]
    assert [tool["function"]["name"] for tool in request["tools"]] == list(OFFERED)
    model = ApiModel(ChatClient("http://127.0.0.1:9/v1", "m"), "tool_call", OFFERED, {})
    observations = model.format_observation_messages(message, [{"output": "1"}])
    assert observations == [{"role": "tool", "tool_call_id": "c9", "content": "1"}]
    assert json.dumps(model.serialize())


def test_tools_of_both_domains_name_their_arguments():
    assert tool_definition("get_column_info")["function"]["parameters"]["required"] == ["database", "table", "column"]
    assert tool_definition("bash")["function"]["parameters"]["required"] == ["command"]
    assert tool_definition("submit")["function"]["parameters"] == {"type": "object", "properties": {}, "required": []}
    message, _ = asked("tool_call", Reply(tool_calls=[tool_call("submit", "")]), offered=SWE)
    assert message["extra"]["actions"][0]["arguments"] == {}


ONE = tool_call("execute_sql", {"query": "SELECT 1"})
BAD_REPLIES = {
    "no call": (Reply("I think so."), "exactly one tool per turn, not 0"),
    "silence": (Reply(None), "exactly one tool per turn, not 0"),
    "two calls": (Reply(tool_calls=[ONE, {**ONE, "id": "call_2"}]), "exactly one tool per turn, not 2"),
    "broken JSON": (
        Reply(tool_calls=[tool_call("execute_sql", '{"query": "SEL')]),
        "one JSON object with the keys: query",
    ),
    "no object": (Reply(tool_calls=[tool_call("execute_sql", '"SELECT 1"')]), "one JSON object"),
    "deep JSON": (Reply(tool_calls=[tool_call("execute_sql", "[" * 50_000)]), "one JSON object"),
    "unknown tool": (Reply(tool_calls=[tool_call("exec_sql", {})]), "did you mean `execute_sql`"),
    "no name": (Reply(tool_calls=[{"id": "x", "type": "function", "function": {"arguments": "{}"}}]), "has no name"),
    "no function": (Reply(tool_calls=[{"id": "x"}]), "has no name"),
    "no id": (Reply(tool_calls=[ONE, {**ONE, "id": None}]), "not 2"),
    "cut": (Reply("Long", finish_reason="length"), "cut at the token limit"),
}


@pytest.mark.parametrize(("reply", "message"), BAD_REPLIES.values(), ids=BAD_REPLIES)
def test_a_bad_tool_reply_is_kept_and_answered(reply, message):
    error, _ = asked("tool_call", reply)
    said, *answers = error.messages
    assert_sendable(error.messages)
    assert all(message in answer["content"] for answer in answers)
    assert said["extra"]["input_tokens"] == 2
    assert said["extra"]["cost"] == 0.0
    for call in reply.tool_calls:
        assert json.dumps(call, ensure_ascii=False) in said["extra"]["model_response"]
    if not reply.tool_calls:
        assert said["extra"]["model_response"] == (reply.content or "")


def assert_sendable(messages):
    """An assistant turn that says something and whose calls all have decodable arguments and an answer."""
    said, *answers = messages
    calls = said.get("tool_calls", [])
    assert said["role"] == "assistant"
    assert said["content"] or calls
    assert all(isinstance(json.loads(call["function"]["arguments"]), dict) for call in calls)
    if calls:
        assert [answer["tool_call_id"] for answer in answers] == [call["id"] for call in calls]
        assert all(isinstance(call["id"], str) and call["id"] for call in calls)
    else:
        assert [answer["role"] for answer in answers] == ["user"]
    json.dumps(messages, ensure_ascii=False).encode("utf-8")


def test_a_bad_text_reply_is_kept_and_answered():
    error, _ = asked("text", Reply("Well\ud800", finish_reason="length"))
    said, answer = error.messages
    assert said["extra"]["model_response"] == "Well?"
    assert answer["role"] == "user"
    assert "cut at the token limit" in answer["content"]
    assert "```" in answer["content"]


def test_reasoning_is_traced_but_never_read_as_a_command():
    error, _ = asked("text", Reply(None, fields={"reasoning_content": fenced(RUN)}))
    assert error.messages[0]["extra"]["reasoning"] == fenced(RUN)
    assert_sendable(error.messages)


VALUE = st.none() | st.integers() | st.text(max_size=8) | st.dictionaries(st.text(max_size=3), st.text(max_size=3))
CALL = st.fixed_dictionaries(
    {},
    optional={
        "id": VALUE,
        "function": VALUE
        | st.fixed_dictionaries(
            {"name": st.sampled_from(OFFERED) | VALUE, "arguments": VALUE | VALUE.map(json.dumps)},
        ),
    },
)


class Canned:
    """A chat that gives one reply."""

    model = "canned"

    def __init__(self, reply):
        self.reply = reply

    def complete(self, messages, *, tools=None, **sampling):
        return self.reply


@given(st.lists(CALL, max_size=3), st.text(max_size=5))
def test_whatever_calls_come_the_conversation_stays_sendable(calls, content):
    reply = ChatReply(content, tuple(calls), "stop", None, None, 0.0)
    model = ApiModel(Canned(reply), "tool_call", OFFERED, {})
    try:
        message = model.query(START)
    except FormatError as error:
        assert_sendable(error.messages)
        return
    (action,) = message["extra"]["actions"]
    assert action["command"] in OFFERED
    assert isinstance(action["arguments"], dict)
    assert_sendable([message, *model.format_observation_messages(message, [{"output": "x"}])])


def test_lone_surrogates_in_arguments_become_storable():
    reply = ChatReply("", (tool_call("execute_sql", '{"query": "\\ud800"}'),), None, None, None, 0.0)
    message = ApiModel(Canned(reply), "tool_call", OFFERED, {}).query(START)
    assert message["extra"]["actions"][0]["arguments"] == {"query": "?"}
    error, _ = asked("tool_call", Reply(tool_calls=[tool_call("\ud800", {}, id="\ud800")]))
    assert '"name": "?"' in error.messages[0]["extra"]["model_response"]
    assert_sendable(error.messages)


def test_unknown_fields_of_a_call_are_sent_back():
    signed = {**ONE, "extra_content": {"signature": "s"}}
    assert replayable([signed], turn=2) == [signed]


class Echo:
    """An environment that repeats each action and ends at the first submission."""

    config = None

    def execute(self, action, cwd=""):
        if action["command"] == "submit_sql":
            raise Submitted({"role": "exit", "content": "", "extra": {"exit_status": "Submitted", "submission": "q"}})
        extra = {"command": action["command"], "argument": "", "status": "ok"}
        return {"output": json.dumps(action["arguments"]), "extra": extra}

    def get_template_vars(self, **_):
        return {}

    def serialize(self):
        return {}


def test_a_whole_episode_with_slips_stays_a_conversation_that_apis_accept():
    replies = [
        Reply(tool_calls=[ONE]),
        *(reply for reply, _ in list(BAD_REPLIES.values())[:4]),
        Reply(tool_calls=[ONE]),
    ]
    end = Reply(tool_calls=[tool_call("submit_sql", {"query": "q"})])
    with EndpointServer(in_turn(*replies, end)) as server:
        model = ApiModel(ChatClient(server.base_url, "m", max_retries=0), "tool_call", OFFERED, {})
        agent = HelpseekAgent(model, Echo(), Limits(format_errors=10), system="s", instruction="u")
        assert agent.run()["exit_status"] == "Submitted"
        unanswered = set()
        for message in server.requests[-1]["messages"]:
            assert "extra" not in message
            if message["role"] != "tool":
                assert not unanswered
            unanswered |= {call["id"] for call in message.get("tool_calls", ())}
            unanswered -= {message.get("tool_call_id")}
        assert not unanswered
    assert [step.status for step in agent.steps] == ["ok", *["format_error"] * 4, "ok", "submitted"]
