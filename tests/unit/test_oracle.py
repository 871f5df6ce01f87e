"""The oracle: what each question counts as, under each policy."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpseek.errors import InfraError
from helpseek.oracle.oracle import IRRELEVANT, AnswerPolicy, Oracle
from helpseek.oracle.verdict import Match
from helpseek.tasks.task import Blocker, Registry

REGISTRY = Registry(
    blockers=tuple(
        Blocker(
            blocker_id=name,
            description=f"no {name}",
            resolution=f" {name} is 7\n",
            trigger_questions=(f"which {name}?",),
        )
        for name in ("alpha", "beta", "gamma")
    )
)


class WordJudge:
    """Matches the blocker whose name is in the question; ids come back with stray white space."""

    name = "word"

    def __init__(self):
        self.calls = 0

    def match(self, question, registry, domain):
        self.calls += 1
        found = [b.blocker_id for b in registry if b.blocker_id in question]
        return Match(f"{found[0]}\n" if found else None, 0.5)


def ask_all(questions, **policy):
    judge = WordJudge()
    oracle = Oracle(REGISTRY, "sql", judge, AnswerPolicy(**policy))
    return [oracle.ask(question) for question in questions], oracle, judge


def test_replies_are_the_exact_resolution_or_irrelevant():
    replies, oracle, _ = ask_all(["which alpha?", "which delta?", "alpha again?", "  ", "hm"])
    assert [reply.verdict for reply in replies] == ["resolved", "irrelevant", "repeated", "empty", "empty"]
    assert replies[0].text == replies[2].text == " alpha is 7\n"
    assert {replies[1].text, replies[3].text} == {IRRELEVANT}
    assert [row["verdict"] for row in oracle.log_rows()] == [reply.verdict for reply in replies]


def test_the_cap_of_a_task_counts_repeats_and_spares_the_judge():
    replies, _, judge = ask_all(["alpha?", "alpha!", "alpha.", "beta?"], per_task_cap=3)
    assert [reply.verdict for reply in replies] == ["resolved", "repeated", "repeated", "capped"]
    assert replies[3].text == IRRELEVANT
    assert judge.calls == 3


def test_the_cap_of_a_blocker_leaves_the_others_open():
    replies, _, _ = ask_all(["alpha?", "alpha!", "beta?"], per_blocker_cap=1)
    assert [reply.verdict for reply in replies] == ["resolved", "capped", "resolved"]


def test_short_questions_never_reach_the_judge():
    _, _, judge = ask_all(["", "?", " a "])
    assert judge.calls == 0


def test_a_question_no_judge_could_read_is_irrelevant_not_an_error():
    replies, _, judge = ask_all(["alpha " * 1000])
    assert replies[0].verdict == "irrelevant"
    assert judge.calls == 0


def test_a_judge_that_fails_leaves_no_trace():
    class Broken:
        name = "broken"

        def match(self, question, registry, domain):
            raise InfraError("down")

    oracle = Oracle(REGISTRY, "sql", Broken(), AnswerPolicy())
    with pytest.raises(InfraError):
        oracle.ask("which alpha?")
    assert oracle.log_rows() == []


@given(
    st.lists(st.sampled_from(["alpha?", "beta?", "gamma?", "other?", "?"]), max_size=12), st.none() | st.integers(1, 5)
)
def test_each_blocker_is_resolved_once_and_caps_hold(questions, cap):
    replies, _, _ = ask_all(questions, per_task_cap=cap)
    resolved = [reply.blocker_id for reply in replies if reply.verdict == "resolved"]
    assert len(resolved) == len(set(resolved))
    answered = sum(reply.verdict in ("resolved", "repeated") for reply in replies)
    assert cap is None or answered <= cap
    assert all((reply.text == IRRELEVANT) == (reply.verdict not in ("resolved", "repeated")) for reply in replies)
