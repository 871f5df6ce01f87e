"""Tasks, their blockers, checks, splits, selection and embeddings."""

from __future__ import annotations

import pyarrow as pa

from helpseek.schemas.columns import BOOL, INT, REAL, STRING, STRINGS, TASK_ID, column

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

SCHEMAS = {
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
}
