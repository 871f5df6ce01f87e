"""What an episode leaves: a typed outcome and its rows."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Outcome(StrEnum):
    """How an episode ended. Only `infra_error` leaves a denominator."""

    OK = "ok"
    MODEL_FAILURE = "model_failure"
    LIMIT = "limit"
    INFRA_ERROR = "infra_error"


@dataclass(frozen=True, slots=True)
class EpisodeRows:
    """Rows of one finished episode for the tables `episodes`, `steps` and `questions`."""

    episode: dict[str, Any]
    steps: list[dict[str, Any]]
    questions: list[dict[str, Any]]
