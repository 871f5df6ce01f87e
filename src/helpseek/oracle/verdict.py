"""What a judge and the oracle answer: `Match` and `Judge`, shared by every judge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from helpseek.tasks.task import Domain, Registry


@dataclass(frozen=True, slots=True)
class Match:
    """A judge's verdict on one question: the blocker it targets, or None, and a score (higher: surer)."""

    blocker_id: str | None
    score: float | None


class Judge(Protocol):
    """Decides which blocker of a registry a question targets, at most one.

    Equal input gives equal output. Raises `InfraError` when no verdict could be had.
    """

    name: str

    def match(self, question: str, registry: Registry, domain: Domain) -> Match: ...
