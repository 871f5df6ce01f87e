"""The Parquet schema of every artefact; `docs/data-dictionary.md` is generated from it."""

from __future__ import annotations

import pyarrow as pa

from helpseek.schemas import bfcl, episodes, oracle, tasks

SCHEMAS: dict[str, pa.Schema] = {**tasks.SCHEMAS, **episodes.SCHEMAS, **oracle.SCHEMAS, **bfcl.SCHEMAS}
