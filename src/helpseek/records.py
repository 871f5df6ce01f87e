"""Parquet artefacts: atomic write and checked read under the schemas of `helpseek.schemas`."""

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
from helpseek.schemas import SCHEMAS

Row = Mapping[str, Any]


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
