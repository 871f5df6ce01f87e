"""What both rules compare and what they say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from helpseek.environments.sql_guard import SqlValue

Row = Sequence[SqlValue]


class ResultTable(Protocol):
    """A query's result: names and rows."""

    @property
    def columns(self) -> Sequence[str]: ...
    @property
    def rows(self) -> Sequence[Row]: ...


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether the results agree, and why not."""

    equal: bool
    reason: str
