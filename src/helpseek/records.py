"""The Parquet schemas of every artefact, with atomic write and checked read.

The data dictionary (`docs/data-dictionary.md`) is generated from `SCHEMAS`, so each column says here what it means.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from helpseek.errors import UserError, nearest
from helpseek.files import atomic_path
from helpseek.provenance import stamp

Row = Mapping[str, Any]

STRING, INT, REAL, BOOL = pa.string(), pa.int64(), pa.float64(), pa.bool_()
STRINGS = pa.list_(pa.string())


def column(name: str, kind: pa.DataType, meaning: str, *, unit: str = "", nullable: bool = False) -> pa.Field:
    """One column of a schema; `meaning` and `unit` go into the file's own metadata and the data dictionary."""
    return pa.field(name, kind, nullable=nullable, metadata={"meaning": meaning, "unit": unit})


TABLE_TYPE = pa.struct(
    [
        ("name", STRING),
        ("description", STRING),
        (
            "columns",
            pa.list_(pa.struct([("name", STRING), ("description", STRING), ("data_format", STRING)])),
        ),
    ]
)

TASK_ID = column("task_id", STRING, "task, unique within its task set")
EPISODE_ID = column("episode_id", STRING, "episode: content hash of task, condition, model, sampling, attempt and code")

SCHEMAS: dict[str, pa.Schema] = {
    "tasks": pa.schema(
        [
            TASK_ID,
            column("domain", STRING, "sql or swe"),
            column("source", STRING, "where the task comes from: hilbench, generated or injected"),
            column("problem", STRING, "the blocked task text, as an agent gets it"),
            column("n_blockers", INT, "blockers in the registry", unit="blockers"),
            column("digest", STRING, "content hash of the whole task"),
            column("database_name", STRING, "SQL: name of the database", nullable=True),
            column(
                "database",
                STRING,
                "SQL: its SQLite file, relative to this file's folder or absolute",
                nullable=True,
            ),
            column("tables", pa.list_(TABLE_TYPE), "SQL: schema descriptions shown to the agent", nullable=True),
            column("business_info", STRINGS, "SQL: business notes the agent can search", nullable=True),
            column("gold_sql", STRING, "SQL: the right query; never shown", nullable=True),
            column(
                "gold_template",
                STRING,
                "SQL: the right query with a slot per blocker; never shown",
                nullable=True,
            ),
            column("ordered", BOOL, "SQL: the order of result rows counts", nullable=True),
            column("original_question", STRING, "SQL: the well-specified question before blockers", nullable=True),
            column("swe", STRING, "SWE: what grading needs, as JSON; never shown", nullable=True),
        ]
    ),
    "blockers": pa.schema(
        [
            TASK_ID,
            column("blocker_id", STRING, "blocker, unique within its task"),
            column("position", INT, "place in the registry, from 0"),
            column("type", STRING, "missing, ambiguous or contradictory", nullable=True),
            column(
                "place",
                STRING,
                "where the gap sits: question, business_info, schema or requirements",
                nullable=True,
            ),
            column("subtype", STRING, "the source's finer type", nullable=True),
            column("description", STRING, "the information gap in one statement"),
            column("published_description", STRING, "the description before the loader repaired it", nullable=True),
            column("resolution", STRING, "the exact reply of the oracle"),
            column("trigger_questions", STRINGS, "questions that deserve the resolution"),
            column("readings", STRINGS, "plausible SQL fragments, the right one first; generated tasks only"),
        ]
    ),
    "checks": pa.schema(
        [
            TASK_ID,
            column("check", STRING, "name of the invariant"),
            column("blocker_id", STRING, "the blocker it was checked on; null: the whole task", nullable=True),
            column("passed", BOOL, "whether the task satisfies it"),
            column("detail", STRING, "what was found when it does not; a note on form otherwise"),
        ]
    ),
    "splits": pa.schema(
        [
            TASK_ID,
            column("split", STRING, "train or held_out"),
            column("group", STRING, "what is disjoint between splits (the database schema)"),
        ]
    ),
    "selection": pa.schema(
        [
            TASK_ID,
            column("kept", BOOL, "whether the task passes both filters of the paper"),
            column(
                "dropped_by",
                STRING,
                "the filter that dropped it: solvable_without_help or unsolvable",
                nullable=True,
            ),
            column(
                "max_blocked_pass_rate",
                REAL,
                "highest pass rate of any model without the tool",
                nullable=True,
            ),
            column(
                "max_full_info_pass_rate",
                REAL,
                "highest pass rate of any model with full information",
                nullable=True,
            ),
        ]
    ),
    "embeddings": pa.schema(
        [
            column("text", STRING, "the embedded text"),
            column("vector", pa.list_(pa.float32()), "unit-length sentence embedding"),
        ]
    ),
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
    "additions": pa.schema(
        [
            TASK_ID,
            column("blocker_id", STRING, "the blocker that the question should match"),
            column("question", STRING, "a missed labelled question, added as a trigger question"),
        ]
    ),
    "validation": pa.schema(
        [
            column("round", INT, "0: the registry as published; each round after adds missed labelled questions"),
            column("domain", STRING, "sql or swe"),
            TASK_ID,
            column("question", STRING, "the labelled question"),
            column("label", STRING, "the blocker it should match; null: none", nullable=True),
            column("verdict", STRING, "the blocker the judge chose; null: none", nullable=True),
            column("score", REAL, "the judge's score", nullable=True),
            column("kind", STRING, "positive, other_task, broad or human"),
        ]
    ),
}


def write_rows(path: Path, schema: str, rows: Iterable[Row]) -> None:
    """Write `rows` to `path` as Parquet under `SCHEMAS[schema]`, all or nothing. Raises as `table_writer`."""
    with table_writer(path, schema) as write:
        write(list(rows))


@contextlib.contextmanager
def table_writer(path: Path, schema: str) -> Iterator[Callable[[Sequence[Row]], None]]:
    """Yield a function that appends rows to a Parquet file, which appears at `path` whole, at a clean end.

    Raises `UserError` when a row lacks a column, has an unknown one, or holds a value of another type.
    """
    expected = SCHEMAS[schema]

    def write(rows: Sequence[Row]) -> None:
        writer.write_table(_checked_table(path, schema, rows))

    stamped = expected.with_metadata({"produced_by": json.dumps(stamp())})
    with (
        atomic_path(path) as temporary,
        # A flipped bit must not pass for a result.
        pq.ParquetWriter(temporary, stamped, compression="zstd", write_page_checksum=True) as writer,
    ):
        yield write


def _checked_table(path: Path, schema: str, rows: Sequence[Row]) -> pa.Table:
    names = set(SCHEMAS[schema].names)
    for number, row in enumerate(rows):
        if names != set(row):
            raise UserError(f"{path} row {number}: columns {sorted(names ^ set(row))} do not fit schema `{schema}`")
    try:
        table = pa.Table.from_pylist([dict(row) for row in rows], schema=SCHEMAS[schema])
        table.validate(full=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise UserError(f"{path}: a value does not fit schema `{schema}`: {error}") from error
    for field in SCHEMAS[schema]:
        if not field.nullable and table.column(field.name).null_count:
            raise UserError(f"{path}: column `{field.name}` of schema `{schema}` must not be empty")
    return table


def read_table(path: Path, schema: str) -> pa.Table:
    """Read `path` and check it against `SCHEMAS[schema]`.

    Raises `UserError` when the file is missing, truncated, or has other columns or types.
    """
    expected = SCHEMAS[schema]
    try:
        table = pq.read_table(path, page_checksum_verification=True)
    except FileNotFoundError:
        raise UserError(f"{path}: no such file; expected a `{schema}` table") from None
    except (pa.ArrowInvalid, OSError) as error:
        reason = " ".join(str(error).split())
        raise UserError(f"{path}: not a readable Parquet file ({reason}); delete it and rerun its rule") from error
    for name in table.schema.names:
        if name not in expected.names:
            raise UserError(f"{path}: unknown column `{name}` in a `{schema}` table{nearest(name, expected.names)}")
    missing = [name for name in expected.names if name not in table.schema.names]
    if missing:
        raise UserError(f"{path}: column `{missing[0]}` is missing from a `{schema}` table")
    try:
        return table.select(expected.names).cast(expected)
    except (pa.ArrowInvalid, pa.ArrowTypeError, ValueError, pa.ArrowNotImplementedError) as error:
        raise UserError(f"{path}: a column does not have the type of a `{schema}` table: {error}") from error


def read_rows(path: Path, schema: str) -> list[dict[str, Any]]:
    """`read_table` as a list of dicts."""
    rows: list[dict[str, Any]] = read_table(path, schema).to_pylist()
    return rows
