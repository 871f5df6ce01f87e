"""The chat client against a real local server that misbehaves in every way servers do."""

import email.utils
import json
import logging
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpseek.errors import InfraError, UserError
from helpseek.models.chat import ChatClient, ContextLengthExceeded
from helpseek.models.completion import ChatReply, read_completion
from helpseek.models.retry import PassingError, pause_s, retry_after_s
from tests.endpoint_server import EndpointServer, Reply, in_turn

HELLO = [{"role": "user", "content": "hello there"}]


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch):
    monkeypatch.setattr("helpseek.models.retry.FIRST_PAUSE_S", 0.001)


def client(server, **options):
    return ChatClient(server.base_url, "m", **{"timeout_s": 5, "max_retries": 3} | options)


def test_a_reply_and_its_tokens():
    with EndpointServer(in_turn(Reply("hi you two"))) as server:
        reply = client(server, extra_headers={"X-Title": "helpseek"}).complete(HELLO, temperature=0.5, top_p=None)
        assert (reply.content, reply.input_tokens, reply.output_tokens) == ("hi you two", 2, 3)
        assert server.requests[0] == {"model": "m", "messages": HELLO, "temperature": 0.5}
        assert "X-Title: helpseek" in server.headers[0]


@pytest.mark.parametrize(
    "usage",
    [
        None,
        {},
        [],
        {"prompt_tokens": 0, "completion_tokens": 0},
        {"prompt_tokens": "7"},
        {"prompt_tokens": None},
        {"prompt_tokens": 10**30},
    ],
)
def test_uncounted_tokens_are_unknown_not_zero(usage):
    body = {"choices": [{"message": {"content": "hi"}}], "usage": usage}
    reply = read_completion(body, 0.0)
    assert (reply.input_tokens, reply.output_tokens) == (None, None)


def test_absent_usage_is_unknown():
    with EndpointServer(in_turn(Reply("hi", usage=False))) as server:
        reply = client(server).complete(HELLO)
        assert (reply.input_tokens, reply.output_tokens) == (None, None)


@pytest.mark.parametrize(
    ("message", "content", "reasoning"),
    [
        ({"content": None}, "", ""),
        ({}, "", ""),
        ({"content": None, "reasoning_content": "hm"}, "", "hm"),
        ({"content": "a", "reasoning": "hm"}, "a", "hm"),
        ({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, "ab", ""),
        ({"content": "lone \ud800 surrogate"}, "lone ? surrogate", ""),
    ],
)
def test_content_in_all_its_forms(message, content, reasoning):
    reply = read_completion({"choices": [{"message": message}]}, 0.0)
    assert (reply.content, reply.reasoning) == (content, reasoning)


FAULTS = {
    "429": Reply(status=429, body=b"slow down: too many tokens a minute"),
    "500": Reply(status=500, body=b"oops"),
    "503 empty": Reply(status=503, body=b""),
    "html": Reply(body=b"<html>not json</html>"),
    "no choices": Reply(body=b'{"choices": []}'),
    "list": Reply(body=b"[]"),
    "null": Reply(body=b"null"),
    "null message": Reply(body=b'{"choices": [{"message": null}]}'),
    "number as content": Reply(content=5),
    "tool calls of text": Reply(tool_calls=["x"]),
    "error under 200": Reply(body=b'{"error": {"message": "overloaded"}}'),
    "broke off": Reply("partial", finish_reason="error"),
    "bytes": Reply(body=b"\xff\xfe"),
    "deep": Reply(body=b"[" * 100_000),
    "reset": Reply(reset=True),
    "cut": Reply("half of it", truncate=True),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_a_passing_fault_is_retried(fault):
    with EndpointServer(in_turn(fault, fault, Reply("at last"))) as server:
        assert client(server).complete(HELLO).content == "at last"
        assert len(server.requests) == 3


def test_a_lasting_fault_is_an_infrastructure_error_that_says_what_came():
    with EndpointServer(in_turn(Reply(status=500, body=b"the cat sat on the server " + b"x" * 500))) as server:
        with pytest.raises(InfraError, match=r"gave up after 4 tries.*HTTP 500: the cat sat") as caught:
            client(server).complete(HELLO)
        assert len(server.requests) == 4
        assert server.base_url in str(caught.value)
        assert "x" * 300 not in str(caught.value)


def test_retries_are_logged(caplog):
    with (
        caplog.at_level(logging.WARNING),
        EndpointServer(in_turn(Reply(status=503, body=b"busy"), Reply("ok"))) as server,
    ):
        client(server).complete(HELLO)
    assert "HTTP 503: busy; retry 1 of 3" in caplog.text


def test_a_hanging_server_times_out():
    with EndpointServer(in_turn(Reply(delay_s=30))) as server, pytest.raises(InfraError, match="Timeout"):
        client(server, timeout_s=0.2, max_retries=1).complete(HELLO)


def test_a_dripping_server_times_out_too():
    # Each drip comes in time for the socket; only the whole reply is late.
    with EndpointServer(in_turn(Reply("hello", drip_s=0.1))) as server:
        start = time.perf_counter()
        with pytest.raises(InfraError, match="no complete reply within"):
            client(server, timeout_s=0.3, max_retries=0).complete(HELLO)
        assert time.perf_counter() - start < 0.8
        assert client(server, timeout_s=5).complete(HELLO).content == "hello"


def test_nobody_listens():
    with pytest.raises(InfraError, match=r"127\.0\.0\.1:9/v1/chat/completions \(model m\): gave up after 2 tries"):
        ChatClient("http://127.0.0.1:9/v1", "m", max_retries=1).complete(HELLO)


def test_retry_after_is_honoured():
    limited = Reply(status=429, body=b"wait", headers={"Retry-After": "0.3"})
    with EndpointServer(in_turn(limited, Reply("ok"))) as server:
        start = time.perf_counter()
        client(server).complete(HELLO)
        assert time.perf_counter() - start >= 0.3


@pytest.mark.parametrize(
    ("header", "least", "most"),
    [
        (None, 0, 0),
        ("7", 7, 7),
        ("-3", 0, 0),
        ("nan", 0, 0),
        ("inf", 0, 0),
        ("soon", 0, 0),
        (email.utils.formatdate(time.time() + 3600, usegmt=True), 3000, 3600),
        (email.utils.formatdate(0, usegmt=True), 0, 0),
    ],
    # Not made of the date, which differs between the processes that collect tests.
    ids=["absent", "number", "negative", "nan", "inf", "word", "date", "past date"],
)
def test_retry_after_is_read(header, least, most):
    assert least <= retry_after_s(header) <= most


@given(st.text() | st.datetimes().map(email.utils.format_datetime), st.integers(0, 10_000))
def test_no_header_and_no_count_breaks_the_pause(header, attempt):
    assert 0 <= pause_s(attempt, retry_after_s(header)) <= 60


def test_closing_ends_a_pause():
    limited = Reply(status=429, body=b"wait", headers={"Retry-After": "50"})
    with EndpointServer(in_turn(limited)) as server:
        chat = client(server)
        threading.Timer(0.2, chat.close).start()
        start = time.perf_counter()
        with pytest.raises(InfraError, match="stopped while waiting"):
            chat.complete(HELLO)
        assert time.perf_counter() - start < 5


@pytest.mark.parametrize(
    ("status", "hint"), [(401, "api_key_env"), (403, "rights"), (404, "base_url"), (400, "sampling"), (307, "check")]
)
def test_a_refusal_is_not_retried(status, hint):
    with EndpointServer(in_turn(Reply(status=status, body=b"no"))) as server:
        with pytest.raises(InfraError, match=f"HTTP {status}: no; .*{hint}"):
            client(server).complete(HELLO)
        assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens"),
        (400, "The decoder prompt (length 5000) is longer than the maximum model length of 4096"),
        (400, "The input (5000 tokens) is longer than the model's context length (4096 tokens)."),
        (400, "the request exceeds the available context size"),
        (422, "`inputs` tokens + `max_new_tokens` must be <= 4096"),
        (500, "context size exceeded"),
        (400, "prompt is too long: 5000 tokens > 4096 maximum"),
        (200, "This endpoint's maximum context length is 4096 tokens"),
    ],
)
def test_a_full_context_is_the_models_limit(status, message):
    body = json.dumps({"error": {"message": message}}).encode()
    with EndpointServer(in_turn(Reply(status=status, body=body))) as server:
        with pytest.raises(ContextLengthExceeded):
            client(server).complete(HELLO, max_tokens=1000)
        assert len(server.requests) == 1


def test_a_reply_length_that_never_fits_is_a_mistake_in_the_config():
    body = b"max_tokens is too large: 4096. This model's maximum context length is 4096 tokens"
    refused = pytest.raises(InfraError, match=r"sampling\.max_tokens")
    with EndpointServer(in_turn(Reply(status=400, body=body))) as server, refused:
        client(server).complete(HELLO, max_tokens=4096)


@pytest.mark.parametrize("url", ["localhost:8000/v1", "ftp://x/v1", "", "http://", "http://x:port/v1"])
def test_an_address_that_is_none(url):
    with pytest.raises(UserError, match="expected an address such as"):
        ChatClient(url, "m")


@pytest.mark.parametrize("url", ["http://me:hush@host/v1", "http://host/v1?key=hush"])
def test_an_address_with_a_secret_is_refused_and_not_shown(url):
    with pytest.raises(UserError) as caught:
        ChatClient(url, "m")
    assert "hush" not in str(caught.value)


def test_keys_come_from_the_environment_and_show_nowhere(monkeypatch, caplog):
    monkeypatch.delenv("TEST_KEY", raising=False)
    with pytest.raises(UserError, match="TEST_KEY"):
        ChatClient("http://127.0.0.1:9/v1", "m", api_key_env="TEST_KEY")
    monkeypatch.setenv("TEST_KEY", "very-secret-value\n")
    echo = b"bad key: very-secret-value"
    faults = (Reply(status=500, body=echo), Reply(body=echo), Reply(status=401, body=echo))
    with caplog.at_level(logging.DEBUG), EndpointServer(in_turn(*faults)) as server:
        chat = client(server, api_key_env="TEST_KEY")
        with pytest.raises(InfraError, match=r"bad key: \*\*\*") as caught:
            chat.complete(HELLO)
        assert "Authorization: Bearer very-secret-value\r" in server.headers[0]
    assert len(server.requests) == 3
    assert "very-secret" not in str(caught.value) + repr(chat) + repr(chat._secret) + caplog.text


@pytest.mark.parametrize("key", ["two words", "é", "a\nb"])
def test_a_key_that_no_header_can_carry_is_not_shown(key, monkeypatch):
    monkeypatch.setenv("TEST_KEY", key)
    with pytest.raises(UserError, match="TEST_KEY") as caught:
        ChatClient("http://127.0.0.1:9/v1", "m", api_key_env="TEST_KEY")
    assert key not in str(caught.value)


def test_connections_are_kept_and_shared_between_threads():
    with EndpointServer(lambda request: Reply(request["messages"][0]["content"])) as server:
        chat = client(server, connections=4)
        wrong = []

        def ask(number):
            for call in range(50):
                text = f"{number}-{call}"
                if chat.complete([{"role": "user", "content": text}]).content != text:
                    wrong.append(text)

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong
        assert len(server.requests) == 200
        assert server.connections <= 4


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["choices", "message", "content", "tool_calls", "usage", "prompt_tokens", "error"]), inner
        )
    ),
)


@given(JSON | JSON.map(lambda message: {"choices": [{"message": message}], "usage": message}))
def test_no_body_breaks_the_reader(body):
    try:
        reply = read_completion(body, 0.0)
    except PassingError:
        return
    assert isinstance(reply, ChatReply)
    assert reply.content.encode("utf-8").decode() == reply.content
    assert reply.input_tokens is None or reply.input_tokens > 0
