"""The LiteLLM backend against the same local server: its turns and errors are those of `ChatClient`."""

import pytest
from minisweagent.exceptions import FormatError

from helpseek.errors import InfraError, UserError
from helpseek.models.chat import ContextLengthExceeded
from helpseek.models.endpoint import ApiModel
from tests.endpoint_server import EndpointServer, Reply, in_turn, tool_call

pytestmark = pytest.mark.slow  # importing LiteLLM takes most of it

ONE = tool_call("execute_sql", {"query": "SELECT 1"})


@pytest.fixture(scope="module")
def litellm_chat():
    from helpseek.models.litellm_chat import LitellmChat

    return LitellmChat


def through_litellm(litellm_chat, monkeypatch, *replies, retries=1):
    """What LiteLLM's backend gives for `replies`, and the requests it made."""
    monkeypatch.setattr("helpseek.models.retry.FIRST_PAUSE_S", 0.001)
    monkeypatch.setenv("TEST_KEY", "very-secret-value")
    with EndpointServer(in_turn(*replies)) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_BASE", server.base_url)
        chat = litellm_chat("openai/m", api_key_env="TEST_KEY", timeout_s=5, max_retries=retries)
        model = ApiModel(
            chat, "tool_call", ("execute_sql", "submit_sql"), {"temperature": 1.0, "seed": 7, "top_p": None}
        )
        try:
            return model.query([{"role": "user", "content": "u u"}]), server.requests
        except (FormatError, InfraError, ContextLengthExceeded) as error:
            return error, server.requests


def test_litellm_gives_the_same_turn(litellm_chat, monkeypatch):
    message, requests = through_litellm(litellm_chat, monkeypatch, Reply(None, tool_calls=[ONE]))
    assert message["extra"]["actions"][0]["arguments"] == {"query": "SELECT 1"}
    assert message["extra"]["input_tokens"] == 2
    assert (requests[0]["temperature"], requests[0]["seed"]) == (1.0, 7)
    message, _ = through_litellm(litellm_chat, monkeypatch, Reply(None, tool_calls=[ONE], usage=False))
    assert message["extra"]["input_tokens"] is None


@pytest.mark.parametrize(
    ("reply", "kind", "text", "calls"),
    [
        (Reply(status=500, body=b"oops"), InfraError, "gave up after 2 tries", 2),
        (Reply(status=429, body=b"slow"), InfraError, "gave up after 2 tries", 2),
        (Reply(body=b"<html>"), InfraError, "gave up after 2 tries", 2),
        (Reply(body=b'{"choices": []}'), InfraError, "gave up after 2 tries", 2),
        (Reply(reset=True), InfraError, "gave up after 2 tries", 2),
        (Reply(status=401, body=b"bad key very-secret-value"), InfraError, "api_key_env", 1),
        (Reply(status=404, body=b'{"error": {"message": "no such model"}}'), InfraError, "`model`", 1),
        (Reply(status=400, body=b'{"error": {"message": "nonsense"}}'), InfraError, "HTTP 400", 1),
        (
            Reply(status=400, body=b'{"error": {"message": "maximum context length is 10 tokens"}}'),
            ContextLengthExceeded,
            "context",
            1,
        ),
        (Reply("no call"), FormatError, "", 1),
    ],
)
def test_litellm_errors_are_the_same(litellm_chat, monkeypatch, reply, kind, text, calls):
    error, requests = through_litellm(litellm_chat, monkeypatch, reply)
    assert type(error) is kind
    assert text in str(error)
    assert "very-secret" not in str(error)
    assert len(requests) == calls


def test_litellm_needs_its_key(litellm_chat, monkeypatch):
    monkeypatch.delenv("TEST_KEY", raising=False)
    with pytest.raises(UserError, match="TEST_KEY"):
        litellm_chat("openai/m", api_key_env="TEST_KEY", timeout_s=5, max_retries=0)


def test_a_provider_without_seeds_gets_none_and_says_so(litellm_chat, caplog, monkeypatch):
    monkeypatch.setenv("TEST_KEY", "k")
    chat = litellm_chat("anthropic/claude-3-5-sonnet-20241022", api_key_env="TEST_KEY", timeout_s=5, max_retries=0)
    asked = []

    def refuse(**request):
        asked.append(request)
        raise chat.litellm.exceptions.AuthenticationError("no", "anthropic", "m")

    monkeypatch.setattr(chat.litellm, "completion", refuse)
    with pytest.raises(InfraError):
        chat.complete([], seed=7, temperature=1.0)
    assert "seed" not in asked[0]
    assert asked[0]["temperature"] == 1.0
    assert "takes no seed" in caplog.text
