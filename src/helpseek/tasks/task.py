"""The records of a task: `Task`, its `Registry` of `Blocker`s, and what its domain needs to run it.

Terms follow HiL-Bench (Section 3): a blocker is a piece of missing, ambiguous or contradictory information; its
resolution is the one right answer, given only by the oracle; trigger questions are questions that deserve it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

Domain = Literal["sql", "swe"]
SLOT = re.compile(r"\{([a-z0-9_]+)\}")


class BlockerType(StrEnum):
    """What is wrong with the information (HiL-Bench Table 2)."""

    MISSING = "missing"
    AMBIGUOUS = "ambiguous"
    CONTRADICTORY = "contradictory"


class Place(StrEnum):
    """Where in the task the gap sits. The public SQL registries call this `type`."""

    QUESTION = "question"
    BUSINESS_INFO = "business_info"
    SCHEMA = "schema"
    REQUIREMENTS = "requirements"


class Record(BaseModel):
    """Base of all task records: frozen, unknown keys refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Blocker(Record):
    """One information gap of one task.

    `resolution` is kept exactly as published (white space included), since it is what the oracle replies;
    `published_description` is set where the loader had to repair the description.
    `readings` are the SQL fragments a solver could plausibly take, the right one first; only generated tasks have them.
    """

    blocker_id: str
    description: str
    resolution: str
    type: BlockerType | None = None
    place: Place | None = None
    subtype: str | None = None
    trigger_questions: tuple[str, ...] = ()
    readings: tuple[str, ...] = ()
    published_description: str | None = None

    @property
    def shown_description(self) -> str:
        """The description as published, for renderings that must equal the release's."""
        return self.description if self.published_description is None else self.published_description


class Registry(Record):
    """The blockers of one task, in published order. Ids are unique within a task only."""

    blockers: tuple[Blocker, ...]

    def __iter__(self) -> Iterator[Blocker]:  # type: ignore[override]
        return iter(self.blockers)

    def __len__(self) -> int:
        return len(self.blockers)

    def get(self, blocker_id: str) -> Blocker | None:
        """The blocker with this id (surrounding white space ignored), or None."""
        return next((b for b in self.blockers if b.blocker_id == blocker_id.strip()), None)


def fill_template(template: str, readings: Mapping[str, str]) -> str:
    """Fill each `{blocker_id}` slot of `template` in one pass; other braces are left as they are."""
    return SLOT.sub(lambda slot: readings.get(slot.group(1), slot.group()), template)


class Column(Record):
    name: str
    description: str = ""
    data_format: str = ""


class Table(Record):
    name: str
    description: str = ""
    columns: tuple[Column, ...] = ()


class SqlSpec(Record):
    """What running a SQL task needs. Everything but `gold_*` and `original_question` may be shown to an agent.

    `gold_template` holds one `{blocker_id}` slot per blocker; filled with each first reading it is `gold_sql`.
    `database` is None while a public task's database has not been fetched.
    """

    database_name: str
    database: Path | None
    tables: tuple[Table, ...] = ()
    business_info: tuple[str, ...] = ()
    gold_sql: str
    gold_template: str | None = None
    ordered: bool = False
    original_question: str | None = None


class SweSpec(Record):
    """What running and grading a SWE task needs; patches and test names are never shown to an agent."""

    instance_id: str
    repo_name: str
    base_commit: str
    image: str
    language: str
    log_parser: str
    test_command: str
    test_patch: str
    fail_to_pass: tuple[str, ...]
    pass_to_pass: tuple[str, ...] = ()
    test_files: tuple[str, ...] = ()
    gold_patch: str = ""


class Task(Record):
    """One task with its blockers. `problem` is the blocked text, the only description an agent gets by default."""

    task_id: str
    domain: Domain
    source: str
    problem: str
    registry: Registry
    sql: SqlSpec | None = None
    swe: SweSpec | None = None

    @property
    def digest(self) -> str:
        """Content hash (hex) of everything that can change an episode or its grade; paths do not count."""
        content = self.model_dump_json(exclude={"sql": {"database"}})
        return hashlib.sha256(content.encode()).hexdigest()[:16]
