"""The chat client against a real local server that misbehaves in every way servers do."""

import time

import pytest

from helpseek.errors import InfraError, UserError
from helpseek.models.chat import ChatClient, ContextLengthExceeded
from tests.endpoint_server import EndpointServer, Reply

HELLO = [{"role": "user", "content": "hello there"}]


def in_turn(*replies):
    """An answer function that gives `replies` one after another, the last one for ever."""
    rest = list(replies)
    return lambda request: rest.pop(0) if len(rest) > 1 else rest[0]


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch):
    monkeypatch.setattr("helpseek.models.chat.FIRST_PAUSE_S", 0.001)


def client(server, **options):
    return ChatClient(server.base_url, "m", **{"timeout_s": 5, "max_retries": 3} | options)


def test_a_reply_and_its_tokens():
    with EndpointServer(in_turn(Reply("hi you two"))) as server:
        reply = client(server).complete(HELLO, temperature=0.5, top_p=None)
        assert (reply.content, reply.input_tokens, reply.output_tokens) == ("hi you two", 2, 3)
        assert server.requests[0]["temperature"] == 0.5
        assert "top_p" not in server.requests[0]


def test_absent_usage_is_unknown_not_zero():
    with EndpointServer(in_turn(Reply("hi", usage=False))) as server:
        reply = client(server).complete(HELLO)
        assert (reply.input_tokens, reply.output_tokens) == (None, None)


@pytest.mark.parametrize(
    "fault",
    [
        Reply(status=429, body=b"slow down"),
        Reply(status=500, body=b"oops"),
        Reply(status=503, body=b""),
        Reply(body=b"<html>not json</html>"),
        Reply(body=b'{"choices": []}'),
        Reply(body=b"[]"),
        Reply(body=b'{"choices": [{"message": null}]}'),
        Reply(body=b"\xff\xfe"),
        Reply(reset=True),
        Reply(truncate=True),
    ],
    ids=lambda fault: f"{fault.status} {fault.body} {'reset' if fault.reset else ''}{'cut' if fault.truncate else ''}",
)
def test_a_passing_fault_is_retried(fault):
    with EndpointServer(in_turn(fault, fault, Reply("at last"))) as server:
        assert client(server).complete(HELLO).content == "at last"
        assert len(server.requests) == 3


def test_a_lasting_fault_is_an_infrastructure_error_that_says_what_came():
    with EndpointServer(in_turn(Reply(status=500, body=b"the cat sat on the server"))) as server:
        with pytest.raises(InfraError, match=r"gave up after 4 tries.*HTTP 500: the cat sat"):
            client(server).complete(HELLO)
        assert len(server.requests) == 4


def test_a_hanging_server_times_out():
    with EndpointServer(in_turn(Reply(delay_s=30))) as server, pytest.raises(InfraError, match="Timeout"):
        client(server, timeout_s=0.2, max_retries=1).complete(HELLO)


def test_nobody_listens():
    with pytest.raises(InfraError, match="gave up"):
        ChatClient("http://127.0.0.1:9/v1", "m", max_retries=1).complete(HELLO)


def test_retry_after_is_honoured():
    limited = Reply(status=429, body=b"wait", headers={"Retry-After": "0.3"})
    with EndpointServer(in_turn(limited, Reply("ok"))) as server:
        start = time.perf_counter()
        client(server).complete(HELLO)
        assert time.perf_counter() - start >= 0.3


@pytest.mark.parametrize(("status", "hint"), [(401, "api_key_env"), (404, "base_url"), (400, "check the request")])
def test_a_refusal_is_not_retried(status, hint):
    with EndpointServer(in_turn(Reply(status=status, body=b"no"))) as server:
        with pytest.raises(InfraError, match=hint):
            client(server).complete(HELLO)
        assert len(server.requests) == 1


def test_a_full_context_is_the_models_limit():
    body = b'{"error": {"message": "This model\'s maximum context length is 4096 tokens."}}'
    with EndpointServer(in_turn(Reply(status=400, body=body))) as server, pytest.raises(ContextLengthExceeded):
        client(server).complete(HELLO)


def test_keys_come_from_the_environment_and_show_nowhere(monkeypatch):
    monkeypatch.delenv("TEST_KEY", raising=False)
    with pytest.raises(UserError, match="TEST_KEY"):
        ChatClient("http://127.0.0.1:9/v1", "m", api_key_env="TEST_KEY")
    monkeypatch.setenv("TEST_KEY", "very-secret-value")
    with EndpointServer(in_turn(Reply(status=401, body=b"bad key"))) as server:
        chat = client(server, api_key_env="TEST_KEY")
        with pytest.raises(InfraError) as caught:
            chat.complete(HELLO)
        assert "Authorization: Bearer very-secret-value" in server.headers[0]
    assert "very-secret" not in str(caught.value) + repr(chat)
