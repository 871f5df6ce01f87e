"""Episodes, their steps and questions."""

from __future__ import annotations

import pyarrow as pa

from helpseek.schemas.columns import BOOL, EPISODE_ID, INT, REAL, STRING, TASK_ID, column

SCHEMAS = {
    "episodes": pa.schema(
        [
            EPISODE_ID,
            column("taskset", STRING, "task set"),
            TASK_ID,
            column("domain", STRING, "sql or swe"),
            column("model", STRING, "model id of the config"),
            column("condition", STRING, "full_info, blocked, tool or spec_only"),
            column("attempt", INT, "attempt on this task, from 0"),
            column("seed", INT, "seed of this attempt"),
            column("outcome", STRING, "ok, model_failure, limit or infra_error"),
            column("exit_status", STRING, "what ended the episode, in detail"),
            column("error", STRING, "message of an infra_error", nullable=True),
            column("submission", STRING, "what the agent submitted", nullable=True),
            column("resolved", BOOL, "whether the submission is right; null when infra_error", nullable=True),
            column("resolved_reference", BOOL, "the same under the reference harness's rule", nullable=True),
            column("grade", STRING, "why it was graded so"),
            column("n_blockers", INT, "blockers present", unit="blockers"),
            column("n_questions", INT, "questions asked", unit="questions"),
            column("n_resolved", INT, "distinct blockers resolved", unit="blockers"),
            column("n_steps", INT, "model calls", unit="steps"),
            column(
                "input_tokens",
                INT,
                "prompt tokens over all calls, as the endpoint counts",
                unit="tokens",
                nullable=True,
            ),
            column("output_tokens", INT, "generated tokens over all calls", unit="tokens", nullable=True),
            column("duration_s", REAL, "wall time of the episode", unit="s"),
            column("judge", STRING, "judge of the oracle"),
            column("per_task_cap", INT, "answered questions allowed per episode; null: no cap", nullable=True),
            column("per_blocker_cap", INT, "answers allowed per blocker; null: no cap", nullable=True),
            column("code_digest", STRING, "hash of the package modules that produced this row"),
        ]
    ),
    "steps": pa.schema(
        [
            EPISODE_ID,
            column("step", INT, "model call, from 0"),
            column("response", STRING, "the model's text"),
            column("command", STRING, "name of the command, or null when none could be read", nullable=True),
            column("argument", STRING, "its argument as sent to the environment", nullable=True),
            column("observation", STRING, "what the agent saw in return"),
            column("status", STRING, "ok, error, timeout, refused, format_error or submitted"),
            column("input_tokens", INT, "prompt tokens of this call", unit="tokens", nullable=True),
            column("output_tokens", INT, "generated tokens of this call", unit="tokens", nullable=True),
            column("model_s", REAL, "time of the model call", unit="s"),
            column("environment_s", REAL, "time of the command", unit="s"),
        ]
    ),
    "questions": pa.schema(
        [
            EPISODE_ID,
            column("position", INT, "question of the episode, from 0"),
            column("step", INT, "the step that asked it"),
            column("question", STRING, "the question, verbatim"),
            column("verdict", STRING, "resolved, repeated, irrelevant, capped or empty"),
            column("blocker_id", STRING, "the matched blocker", nullable=True),
            column("score", REAL, "the judge's score of the match", nullable=True),
            column("reply", STRING, "what the agent was told"),
        ]
    ),
}
