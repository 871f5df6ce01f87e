"""Every shape that a step can have, and none that stops the reader."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpseek.bfcl.steps import PROPOSAL, STRUCTURED, TEXT, read_step

PARAMETERS = {"mkdir": ("dir_name",), "ls": ("a",), "echo": ("content", "file_name"), "mv": ("source", "destination")}


def calls(raw, logged=None):
    return [(a.call.name, dict(a.call.arguments), a.form) for a in read_step(raw, PARAMETERS, logged).attempts]


MKDIR = ("mkdir", {"dir_name": "x"})


@pytest.mark.parametrize(
    "raw",
    [
        [{"mkdir": '{"dir_name": "x"}'}],
        [{"mkdir": {"dir_name": "x"}}],
        {"mkdir": {"dir_name": "x"}},
        [{"tool_name": "mkdir", "parameters": {"dir_name": "x"}}],
        [{"name": "mkdir", "arguments": '{"dir_name": "x"}'}],
        [{"name": "mkdir", "arguments": {"dir_name": "x"}}],
        [{"type": "function", "function": {"name": "mkdir", "arguments": '{"dir_name": "x"}'}}],
        [{"type": "tool_use", "id": "1", "name": "mkdir", "input": {"dir_name": "x"}}],
        [{"type": "text", "text": "I will."}, {"mkdir": '{"dir_name": "x"}'}],
        ["I will.", {"GorillaFileSystem.mkdir": {"dir_name": "x"}}],
        [[{"mkdir": {"dir_name": "x"}}]],
        [{"tool_calls": [{"function": {"name": "mkdir", "arguments": {"dir_name": "x"}}}]}],
    ],
)
def test_structured_calls(raw):
    assert calls(raw) == [(*MKDIR, STRUCTURED)]


@pytest.mark.parametrize(
    "raw",
    [
        "[mkdir(dir_name='x')]",
        "mkdir(dir_name='x')",
        "[mkdir('x')]",
        "```python\n[mkdir(dir_name='x')]\n```",
        "`mkdir(dir_name='x')`",
        "[GorillaFileSystem.mkdir(dir_name='x')]",
        '[{"GorillaFileSystem.mkdir": {"dir_name": "x"}}]',
        '[{"mkdir": "{\\"dir_name\\": \\"x\\"}"}]',
        '{"name": "mkdir", "parameters": {"dir_name": "x"}}',
        '<|python_tag|>{"name": "mkdir", "parameters": {"dir_name": "x"}}',
        '<think>ls()?</think>\n<tool_call>\n{"name": "mkdir", "arguments": {"dir_name": "x"}}\n</tool_call>',
        '<TOOLCALL>[mkdir(dir_name="x")]</TOOLCALL>',
        '<TOOLCALL>[{"name": "mkdir", "arguments": {"dir_name": "x"}}]</TOOLCALL>',
        '<function_call> {"name": "mkdir", "arguments": {"dir_name": "x"}}',
        '[TOOL_CALLS] [{"name": "mkdir", "arguments": {"dir_name": "x"}}]',
        '[TOOL_CALLS]mkdir[ARGS]{"dir_name": "x"}',
        '<function=mkdir>{"dir_name": "x"}</function>',
        'mkdir\n{"dir_name": "x"}',
        '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>mkdir\n```json\n{"dir_name": "x"}\n```'
        "<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    ],
)
def test_calls_in_strings(raw):
    assert calls(raw) == [(*MKDIR, TEXT)]


def test_several_calls_in_one_string():
    both = [(*MKDIR, TEXT), ("ls", {}, TEXT)]
    assert calls("[mkdir(dir_name='x'), ls()]") == both
    objects = ('{"name": "mkdir", "arguments": {"dir_name": "x"}}', '{"name": "ls", "arguments": {}}')
    for text in ("; ".join(objects), ", ".join(objects), "".join(f"<tool_call>{o}</tool_call>\n" for o in objects)):
        assert calls(text) == both


@pytest.mark.parametrize(
    "raw", ["Which folder do you mean?", "Done.", "", "[]", [], None, ["Which", "folder?"], "Done"]
)
def test_text_holds_no_call(raw):
    step = read_step(raw, PARAMETERS)
    assert not step.attempts
    assert not step.unreadable


def test_calls_in_prose_are_proposals():
    assert [a[::2] for a in calls("Here is the sequence: [mkdir(dir_name='x'), ls()]")] == [
        ("mkdir", PROPOSAL),
        ("ls", PROPOSAL),
    ]
    # A list of text blocks is never decoded by a handler.
    assert [a[::2] for a in calls(["[mkdir(dir_name='x')]"])] == [("mkdir", PROPOSAL)]


def test_arguments_that_are_not_json_stay_raw():
    (attempt,) = read_step([{"mkdir": '{"dir_name": "x"'}], PARAMETERS).attempts
    assert attempt.call.raw == '{"dir_name": "x"'
    (attempt,) = read_step('<tool_call>{"name": "mkdir", "arguments": {"dir_name": </tool_call>', PARAMETERS).attempts
    assert attempt.call.name == "mkdir"
    assert attempt.call.raw


def test_a_leaked_suffix_is_kept_apart():
    (attempt,) = read_step([{"mv<|channel|>commentary": "{}"}], PARAMETERS).attempts
    assert (attempt.call.name, attempt.suffix) == ("mv", "<|channel|>commentary")


def test_the_log_decides_what_a_string_was():
    text = "Here is the sequence: [mkdir(dir_name='x')]"
    assert calls(text, {"model_response_decoded": ["mkdir(dir_name='x')"]}) == [(*MKDIR, TEXT)]
    failed = {"content": "Error decoding the model response.", "error": "invalid syntax"}
    assert [a[2] for a in calls("[mkdir(dir_name='x')]", failed)] == [PROPOSAL]
    assert [a[2] for a in calls("[mkdir(dir_name='x')]", {"model_response_decoded": []})] == [PROPOSAL]


@pytest.mark.parametrize(
    "raw", [5, [[[[[[{"ls": {}}]]]]]], [{"a": 5}], "<tool_call>", "<tool_call>{</tool_call>", [True]]
)
def test_what_cannot_be_read_says_so(raw):
    step = read_step(raw, PARAMETERS)
    if raw == "<tool_call>":
        assert not step.attempts
    else:
        assert step.unreadable
        assert not step.attempts


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["name", "arguments", "function", "mkdir", "text", "tool_calls"]) | st.text(), inner
        )
    ),
    max_leaves=20,
)


@given(JSON)
@settings(max_examples=300)
def test_any_json_is_read_without_an_exception(raw):
    read_step(raw, PARAMETERS)
    read_step(json.dumps(raw), PARAMETERS)


PIECES = [
    "<tool_call>",
    "</tool_call>",
    '{"name": "mkdir"',
    "}",
    "[",
    "]",
    "mkdir(",
    "'",
    '"',
    ")",
    "\n",
    "```",
    "<think>",
    "\\x",
]


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=5), max_size=12).map("".join))
@settings(max_examples=300)
def test_any_text_is_read_without_an_exception(text):
    read_step(text, PARAMETERS)
    read_step(text, PARAMETERS, {"model_response_decoded": [text]})
    read_step([{text: text}], PARAMETERS)
