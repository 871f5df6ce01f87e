"""The human behind `ask_human`: one oracle per episode, with its answer policy and its log."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, Literal

from helpseek.oracle.verdict import Judge
from helpseek.tasks.task import Domain, Registry

Verdict = Literal["resolved", "repeated", "irrelevant", "capped", "empty"]

IRRELEVANT = "irrelevant question"
SHORTEST_QUESTION = 3
# A question that overflows a judge's context would end as an infrastructure error and leave the denominator.
LONGEST_QUESTION = 4_000


@dataclass(frozen=True, slots=True)
class AnswerPolicy:
    """How often the oracle answers; None: always.

    `per_task_cap` counts every answered question of an episode, repeated ones too, as the reference harness does (its
    cap is 3). `per_blocker_cap` counts the answers to one blocker.
    """

    per_task_cap: int | None = None
    per_blocker_cap: int | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """What the agent is told, and what the question counts as.

    resolved: a blocker for the first time; repeated: one again; capped: the policy allows no more answers.
    """

    text: str
    verdict: Verdict
    blocker_id: str | None
    score: float | None


class Oracle:
    """Answers the questions of one episode, one after another."""

    def __init__(self, registry: Registry, domain: Domain, judge: Judge, policy: AnswerPolicy) -> None:
        self.registry, self.domain, self.judge, self.policy = registry, domain, judge, policy
        self.answers: Counter[str] = Counter()
        self.log: list[tuple[str, Reply]] = []

    def ask(self, question: str) -> Reply:
        """Answer `question`. Raises `InfraError` when the judge gave no verdict: nothing is logged or scored then."""
        reply = self._reply(question)
        self.log.append((question, reply))
        return reply

    def _reply(self, question: str) -> Reply:
        if len(question.strip()) < SHORTEST_QUESTION:
            return Reply(IRRELEVANT, "empty", None, None)
        if self.policy.per_task_cap is not None and self.answers.total() >= self.policy.per_task_cap:
            return Reply(IRRELEVANT, "capped", None, None)
        if len(question) > LONGEST_QUESTION:
            return Reply(IRRELEVANT, "irrelevant", None, None)
        match = self.judge.match(question, self.registry, self.domain)
        blocker = self.registry.get(match.blocker_id) if match.blocker_id is not None else None
        if blocker is None:
            return Reply(IRRELEVANT, "irrelevant", None, match.score)
        cap = self.policy.per_blocker_cap
        if cap is not None and self.answers[blocker.blocker_id] >= cap:
            return Reply(IRRELEVANT, "capped", blocker.blocker_id, match.score)
        self.answers[blocker.blocker_id] += 1
        verdict: Verdict = "resolved" if self.answers[blocker.blocker_id] == 1 else "repeated"
        return Reply(blocker.resolution, verdict, blocker.blocker_id, match.score)

    def log_rows(self) -> list[dict[str, Any]]:
        """The log as rows of the `questions` table, without episode and step."""
        return [
            {
                "position": position,
                "question": question,
                "verdict": reply.verdict,
                "blocker_id": reply.blocker_id,
                "score": reply.score,
                "reply": reply.text,
            }
            for position, (question, reply) in enumerate(self.log)
        ]
