"""Columns of the Parquet schemas: their types, and those that several tables share."""

from __future__ import annotations

import pyarrow as pa

STRING, INT, REAL, BOOL = pa.string(), pa.int64(), pa.float64(), pa.bool_()
STRINGS = pa.list_(pa.string())


def column(name: str, kind: pa.DataType, meaning: str, *, unit: str = "", nullable: bool = False) -> pa.Field:
    """One column of a schema; `meaning` and `unit` go into the file's own metadata and the data dictionary."""
    return pa.field(name, kind, nullable=nullable, metadata={"meaning": meaning, "unit": unit})


TASK_ID = column("task_id", STRING, "task, unique within its task set")
EPISODE_ID = column("episode_id", STRING, "episode: content hash of task, condition, model, sampling, attempt and code")
