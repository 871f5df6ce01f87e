"""Question families: what is asked of the events that pass every condition, and the query that answers it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from helpseek.tasks.generate.blockers import Gap
from helpseek.tasks.generate.schemas import Schema

FamilyName = Literal["count", "entities", "total", "average", "by_place", "top"]
FAMILY_NAMES: tuple[FamilyName, ...] = ("count", "entities", "total", "average", "by_place", "top")
TOP = 5


@dataclass(frozen=True, slots=True)
class Question:
    """A blocked question, its gold template with one slot per blocker, and whether row order counts."""

    text: str
    template: str
    ordered: bool


def families_for(gaps: Sequence[Gap]) -> tuple[FamilyName, ...]:
    """Families that use every gap: a count has no place for an amount."""
    return tuple(name for name in FAMILY_NAMES if name != "count" or not any(gap.value for gap in gaps))


def make_question(schema: Schema, gaps: Sequence[Gap], family: FamilyName) -> Question:
    """Ask `family` about the events and entities that `gaps` describe."""
    events, entity, place = schema.family.event[1], schema.family.entity, schema.family.place
    amount = next((f"{{{gap.blocker.blocker_id}}}" for gap in gaps if gap.value), f"e.{schema.family.quantity}")
    value = next((gap.value for gap in gaps if gap.value), schema.family.quantity)
    noun, entities = _noun(gaps, "event", events), _noun(gaps, "entity", entity[1])
    # The shortest ending first: "in the … period" would attach to the last words of a longer one.
    tail = " ".join([f"of {entities}", *sorted((gap.tail for gap in gaps if gap.tail), key=len)])
    source = f"FROM {schema.event_table} e JOIN {schema.entity_table} c ON c.id = e.{schema.entity_key}"
    with_place = f"{source} JOIN {schema.place_table} p ON p.id = e.{schema.place_key}"
    conditions = " AND ".join(f"{{{gap.blocker.blocker_id}}}" for gap in gaps if not gap.value)
    match family:
        case "count":
            text, select = f"How many {noun} {tail} are there?", f"SELECT COUNT(*) {source} WHERE {conditions}"
        case "entities":
            text = f"How many different {entity[1]} are behind {noun} {tail}, and what is the total {value}?"
            select = f"SELECT COUNT(DISTINCT c.id), ROUND(SUM({amount}), 2) {source} WHERE {conditions}"
        case "total":
            text = f"What is the total {value} of {noun} {tail}?"
            select = f"SELECT ROUND(SUM({amount}), 2) {source} WHERE {conditions}"
        case "average":
            text = f"What is the average {value} of {noun} {tail}?"
            select = f"SELECT ROUND(AVG({amount}), 4) {source} WHERE {conditions}"
        case "by_place":
            text = f"For each {place[0]} name, what is the total {value} of {noun} {tail}?"
            select = f"SELECT p.name, ROUND(SUM({amount}), 2) {with_place} WHERE {conditions} GROUP BY p.name"
        case "top":
            text = f"Which {TOP} {entity[1]} lead by total {value} of {noun} {tail}? Best first, name and total."
            select = (
                f"SELECT c.name, ROUND(SUM({amount}), 2) AS total {source} WHERE {conditions} "
                f"GROUP BY c.id ORDER BY total DESC, c.id LIMIT {TOP}"
            )
    return Question(text, select, family == "top")


def _noun(gaps: Sequence[Gap], role: Literal["event", "entity"], noun: str) -> str:
    adjectives = [adjective for gap in gaps if (adjective := gap.event if role == "event" else gap.entity)]
    return " ".join([", ".join(adjectives), noun]).strip()
