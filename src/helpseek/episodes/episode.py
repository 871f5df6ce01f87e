"""One episode: a task under a condition, an agent, an oracle and limits, ending in a typed outcome and its rows."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from minisweagent import Model

from helpseek.condition import Condition
from helpseek.config import Limits
from helpseek.environments.notes import Embed, NoteSearch
from helpseek.environments.sql import SqlEnvironment, SqlView
from helpseek.environments.sql_guard import SqlGuard
from helpseek.episodes.agent import HelpseekAgent
from helpseek.episodes.outcome import EpisodeRows, Outcome
from helpseek.episodes.prompts import system_prompt
from helpseek.errors import InfraError
from helpseek.models.chat import ContextLengthExceeded
from helpseek.oracle.oracle import AnswerPolicy, Oracle
from helpseek.oracle.verdict import Judge
from helpseek.scoring.grade import Grade, SqlGrader
from helpseek.tasks.instructions import offered_commands, render_instruction
from helpseek.tasks.task import Task

OUTCOME_OF_EXIT = {
    "Submitted": Outcome.OK,
    "LimitsExceeded": Outcome.LIMIT,
    "TimeExceeded": Outcome.LIMIT,
    "RepeatedFormatError": Outcome.MODEL_FAILURE,
    "ContextLengthExceeded": Outcome.MODEL_FAILURE,
}


@dataclass(frozen=True, slots=True)
class Setting:
    """What every episode of a shard shares and what its result depends on, beside the task.

    `model_spec` is the model's section of the config, `code_digest` the hash of the package modules that count.
    """

    taskset: str
    model: str
    model_spec: Mapping[str, Any]
    mode: Literal["text", "tool_call"]
    condition: Condition
    style: Literal["helpseek", "harbor"]
    policy: AnswerPolicy
    judge: str
    judge_spec: Mapping[str, Any]
    limits: Limits
    sql_spec: Mapping[str, Any]
    code_digest: str


@dataclass(frozen=True, slots=True)
class Run:
    """One episode to run: `seed` is the same in every condition and for every model, so that runs pair up."""

    task: Task
    attempt: int
    seed: int


@dataclass(frozen=True, slots=True)
class Services:
    """What episodes of a shard use together; all are safe to share between threads."""

    guard: SqlGuard
    grader: SqlGrader
    judge: Judge
    embed: Embed
    build_model: Callable[[Task, Sequence[str], int], Model]


def attempt_seed(seed: int, task_id: str, attempt: int) -> int:
    """A 31-bit seed of one attempt, independent of model and condition."""
    return int(hashlib.sha256(f"{seed}/{task_id}/{attempt}".encode()).hexdigest()[:8], 16) & 0x7FFFFFFF


def episode_key(setting: Setting, run: Run) -> str:
    """Content hash (16 hex digits) of everything that can change the episode's result; also its id."""
    content = asdict(setting) | {"task": run.task.digest, "attempt": run.attempt, "seed": run.seed}
    text = json.dumps(content, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def run_episode(setting: Setting, run: Run, services: Services) -> EpisodeRows:
    """Run one episode to its end and grade it. Errors that are neither the model's nor of infrastructure propagate."""
    start = time.perf_counter()
    oracle = Oracle(run.task.registry, run.task.domain, services.judge, setting.policy)
    offered = offered_commands(run.task.domain, setting.condition)
    asked_at: list[int] = []

    def ask(question: str) -> str:
        asked_at.append(len(agent.steps))
        return oracle.ask(question).text

    agent = HelpseekAgent(
        services.build_model(run.task, offered, run.seed),
        SqlEnvironment(_view(run.task, services.embed), services.guard, offered, ask),
        setting.limits,
        system=system_prompt(setting.mode),
        instruction=render_instruction(run.task, setting.condition, setting.style),
    )
    end = _drive(agent, run.task, services.grader)
    key = episode_key(setting, run)
    # A question whose judge failed was asked and has no reply: it is in no row.
    questions = [
        {"episode_id": key, "step": step, **row} for step, row in zip(asked_at, oracle.log_rows(), strict=False)
    ]
    steps = [{"episode_id": key, "step": number, **asdict(step)} for number, step in enumerate(agent.steps)]
    measured = {
        "n_questions": len(questions),
        "n_resolved": len({row["blocker_id"] for row in questions if row["verdict"] == "resolved"}),
        "n_steps": agent.n_calls,
        "input_tokens": _total(step.input_tokens for step in agent.steps),
        "output_tokens": _total(step.output_tokens for step in agent.steps),
        "duration_s": time.perf_counter() - start,
    }
    return EpisodeRows(_identity(setting, run, key) | _result(end) | measured, steps, questions)


@dataclass(frozen=True, slots=True)
class End:
    """How an episode ended: `error` of the infrastructure, or a `grade`."""

    exit_status: str
    submission: str | None = None
    error: str | None = None
    grade: Grade | None = None


def _view(task: Task, embed: Embed) -> SqlView:
    sql = task.sql
    assert sql is not None and sql.database is not None, "a shard takes only tasks that can run"
    return SqlView(sql.database_name, sql.database, sql.tables, NoteSearch(sql.business_info, embed))


def _drive(agent: HelpseekAgent, task: Task, grader: SqlGrader) -> End:
    """Run the agent and grade what it left."""
    assert task.sql is not None
    try:
        extra = agent.run()
        submission = extra["submission"] or None
        return End(extra["exit_status"], submission, grade=grader.grade(task.sql, submission))
    except ContextLengthExceeded:
        return End("ContextLengthExceeded", grade=Grade(False, False, "nothing submitted"))
    except InfraError as error:
        return End("InfraError", error=str(error))


def _identity(setting: Setting, run: Run, key: str) -> dict[str, Any]:
    """Columns that say which episode a row is of."""
    return {
        "episode_id": key,
        "taskset": setting.taskset,
        "task_id": run.task.task_id,
        "domain": run.task.domain,
        "model": setting.model,
        "condition": str(setting.condition),
        "attempt": run.attempt,
        "seed": run.seed,
        "n_blockers": len(run.task.registry),
        "judge": setting.judge,
        "per_task_cap": setting.policy.per_task_cap,
        "per_blocker_cap": setting.policy.per_blocker_cap,
        "code_digest": setting.code_digest,
    }


def _result(end: End) -> dict[str, Any]:
    """Columns that say what came of it."""
    outcome = Outcome.INFRA_ERROR if end.error is not None else OUTCOME_OF_EXIT[end.exit_status]
    return {
        "outcome": str(outcome),
        "exit_status": end.exit_status,
        "error": end.error,
        "submission": end.submission,
        "resolved": end.grade.resolved if end.grade else None,
        "resolved_reference": end.grade.resolved_reference if end.grade else None,
        "grade": end.grade.reason if end.grade else "not graded",
    }


def _total(counts: Any) -> int | None:
    """Sum of token counts; None as soon as one call did not count, since a partial sum would look like a total."""
    listed = list(counts)
    return None if not listed or any(count is None for count in listed) else sum(listed)
