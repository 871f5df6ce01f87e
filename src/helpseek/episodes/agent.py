"""mini-swe-agent's `DefaultAgent`, subclassed once: texts come rendered, and each step is kept as a typed record."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from minisweagent import Environment, Model
from minisweagent.agents.default import DefaultAgent
from minisweagent.exceptions import FormatError, Submitted

from helpseek.config import Limits


@dataclass(frozen=True, slots=True)
class Step:
    """One model call and what its command did; times in seconds, tokens None when the endpoint does not count."""

    response: str
    command: str | None
    argument: str | None
    observation: str
    status: str
    input_tokens: int | None
    output_tokens: int | None
    model_s: float
    environment_s: float


class HelpseekAgent(DefaultAgent):
    """Runs one episode and collects `steps`. `limits` end it as mini-swe-agent's own exits do."""

    def __init__(self, model: Model, env: Environment, limits: Limits, *, system: str, instruction: str) -> None:
        super().__init__(
            model,
            env,
            system_template=system,
            instance_template=instruction,
            step_limit=limits.steps,
            cost_limit=0.0,
            wall_time_limit_seconds=limits.wall_time_s,
            max_consecutive_format_errors=limits.format_errors,
        )
        self.steps: list[Step] = []

    def _render_template(self, template: str) -> str:
        # Task text may hold braces: it is never a template.
        return template

    def save(self, path: Path | None, *extra_dicts: dict[str, Any]) -> dict[str, Any]:
        # DefaultAgent serializes everything after each step, even without a path.
        return super().save(path, *extra_dicts) if path else {}

    def step(self) -> list[dict[str, Any]]:
        try:
            return super().step()
        except FormatError as error:
            # The first message is the model's own; several tool calls get the same answer each.
            answers = dict.fromkeys(str(message.get("content", "")) for message in error.messages[1:])
            feedback = "\n".join(answers)
            extra = error.messages[0].get("extra", {})
            response = str(extra.get("model_response", ""))
            self.steps.append(_step(response, extra, None, None, feedback, "format_error", 0.0))
            raise

    def execute_actions(self, message: dict[str, Any]) -> list[dict[str, Any]]:
        outputs = []
        for action in message["extra"]["actions"]:
            start = time.perf_counter()
            try:
                output = self.env.execute(action)
            except Submitted as exit_:
                submission = exit_.messages[0]["extra"]["submission"]
                self._record(message, "submit", submission, "", "submitted", start)
                raise
            extra = output["extra"]
            self._record(message, extra["command"], extra["argument"], output["output"], extra["status"], start)
            outputs.append(output)
        return self.add_messages(*self.model.format_observation_messages(message, outputs))

    def _record(
        self,
        message: dict[str, Any],
        command: str | None,
        argument: str,
        observation: str,
        status: str,
        start: float,
    ) -> None:
        response, elapsed = message.get("content") or "", time.perf_counter() - start
        self.steps.append(_step(response, message["extra"], command, argument, observation, status, elapsed))


def _step(
    response: str,
    extra: dict[str, Any],
    command: str | None,
    argument: str | None,
    observation: str,
    status: str,
    environment_s: float,
) -> Step:
    return Step(
        response=response,
        command=command,
        argument=argument,
        observation=observation,
        status=status,
        input_tokens=extra.get("input_tokens"),
        output_tokens=extra.get("output_tokens"),
        model_s=extra.get("model_s", 0.0),
        environment_s=environment_s,
    )
