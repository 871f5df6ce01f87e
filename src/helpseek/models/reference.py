"""Reference policies: they read the task's solution and have a known result in every table.

A policy knows a blocker once its resolution stands in what it has read (instruction or replies). It fills the gold
template with the right reading of what it knows and with another reading of what it does not. Tasks without a template
(public ones) give the gold query when everything is known, and a query that answers nothing otherwise.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any, Literal

from helpseek.environments.commands import quote
from helpseek.tasks.task import Blocker, Task, fill_template

PolicyName = Literal["oracle_asker", "never_ask", "always_ask", "guesser"]

NEEDLESS_QUESTIONS = (
    "Is there anything else I should know?",
    "What is the deadline for this report?",
    "Who will read the result?",
    "Should I write the keywords in upper case?",
    "How many decimals do you like?",
    "Which dialect of SQL is this?",
    "May I use a common table expression?",
    "Do you want comments in the query?",
    "Should I explain my approach first?",
    "Is the data backed up every night?",
)
NEEDLESS_PER_BLOCKER = 2


class ReferenceModel:
    """One policy on one episode, as a mini-swe-agent Model in text mode; `seed` draws the guesses."""

    config: Any = None

    def __init__(self, policy: PolicyName, task: Task, offered: Sequence[str], seed: int) -> None:
        if task.sql is None:
            raise ValueError(f"reference policies play SQL tasks; {task.task_id} is {task.domain}")
        self.policy, self.task, self.sql, self.offered = policy, task, task.sql, offered
        self.random = random.Random(seed)
        self.read: list[str] = []
        self.commands = self._plan()

    def query(self, messages: list[dict[str, Any]], **_: Any) -> dict[str, Any]:
        self.read = [str(message.get("content", "")) for message in messages]
        command = next(self.commands)
        content = f"```\n{command}\n```"
        return {"role": "assistant", "content": content, "extra": {"actions": [{"command_line": command}], "cost": 0.0}}

    def _plan(self) -> Iterator[str]:
        if "get_database_info" in self.offered:
            yield f"get_database_info {quote(self.sql.database_name)}"
        if "ask_human" in self.offered:
            yield from (f"ask_human {quote(question)}" for question in self._questions())
        answer = self._answer()
        if "execute_sql" in self.offered:
            yield f"execute_sql {quote(answer)}"
        yield f"submit_sql {quote(answer)}"

    def _questions(self) -> Iterator[str]:
        if self.policy not in ("oracle_asker", "always_ask"):
            return
        for number, blocker in enumerate(self.task.registry):
            yield blocker.trigger_questions[0]
            if self.policy == "always_ask":
                start = number * NEEDLESS_PER_BLOCKER
                yield from NEEDLESS_QUESTIONS[start : start + NEEDLESS_PER_BLOCKER]

    def _answer(self) -> str:
        known = [blocker for blocker in self.task.registry if self._knows(blocker)]
        if self.sql.gold_template is None:
            return self.sql.gold_sql if len(known) == len(self.task.registry) else "SELECT NULL"
        readings = {blocker.blocker_id: self._reading(blocker, blocker in known) for blocker in self.task.registry}
        return fill_template(self.sql.gold_template, readings)

    def _knows(self, blocker: Blocker) -> bool:
        return any(blocker.resolution.strip() in text for text in self.read)

    def _reading(self, blocker: Blocker, known: bool) -> str:
        if known:
            return blocker.readings[0]
        if self.policy == "guesser":
            return self.random.choice(blocker.readings)
        return blocker.readings[1]

    def format_message(self, **fields: Any) -> dict[str, Any]:
        return fields

    def format_observation_messages(
        self, message: dict[str, Any], outputs: list[dict[str, Any]], template_vars: dict[str, Any] | None = None
    ) -> list[dict[str, Any]]:
        return [{"role": "user", "content": output["output"]} for output in outputs]

    def get_template_vars(self, **_: Any) -> dict[str, Any]:
        return {}

    def serialize(self) -> dict[str, Any]:
        return {"info": {"config": {"model": {"reference_policy": self.policy}}}}
