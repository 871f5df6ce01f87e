"""The oracle's judge on labelled questions."""

from __future__ import annotations

import pyarrow as pa

from helpseek.schemas.columns import INT, REAL, STRING, TASK_ID, column

SCHEMAS = {
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
