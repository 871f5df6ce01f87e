"""Question families: what is asked of the events that pass every condition, and the query that answers it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from helpseek.tasks.generate.blockers import Gap
from helpseek.tasks.generate.schemas import Schema

FamilyName = Literal["count", "entities", "total", "average", "share", "total_by_place", "average_by_place", "top"]
FAMILY_NAMES: tuple[FamilyName, ...] = (
    "count",
    "entities",
    "total",
    "average",
    "share",
    "total_by_place",
    "average_by_place",
    "top",
)
TOP = 5


@dataclass(frozen=True, slots=True)
class Question:
    """A blocked question, the well-specified one it was, its gold template, and whether row order counts."""

    text: str
    original: str
    template: str
    ordered: bool


@dataclass(frozen=True, slots=True)
class Words:
    """What a question is worded with: the events asked about, and the amount summed over them."""

    events: str
    value: str
    closing: str


def families_for(gaps: Sequence[Gap]) -> tuple[FamilyName, ...]:
    """Families that use every gap: a count has no place for an amount."""
    return tuple(name for name in FAMILY_NAMES if name != "count" or not any(gap.value for gap in gaps))


def make_question(schema: Schema, gaps: Sequence[Gap], family: FamilyName) -> Question:
    """Ask `family` about the events and entities that `gaps` describe."""
    return Question(
        text=_ask(schema, family, _blocked_words(schema, gaps)),
        original=_ask(schema, family, _clear_words(schema, gaps)),
        template=_query(schema, gaps, family),
        ordered=family == "top",
    )


def _ask(schema: Schema, family: FamilyName, words: Words) -> str:
    entity, place = schema.family.entity, schema.family.place
    match family:
        case "count":
            text = f"How many {words.events} are there?"
        case "entities":
            text = f"How many different {entity[1]} are behind {words.events}, and what is the total {words.value}?"
        case "total":
            text = f"What is the total {words.value} of {words.events}?"
        case "average":
            text = f"What is the average {words.value} of {words.events}?"
        case "share":
            text = f"What percent of the total {words.value} of all {schema.family.event[1]} is of {words.events}?"
        case "total_by_place":
            text = f"For each {place[0]} name, what is the total {words.value} of {words.events}?"
        case "average_by_place":
            text = f"For each {place[0]} name, what is the average {words.value} of {words.events}?"
        case "top":
            text = (
                f"Which {TOP} {entity[1]} lead by total {words.value} of {words.events}? "
                "Best first, ties by id: name and total."
            )
    return f"{text} {words.closing}".rstrip()


def _blocked_words(schema: Schema, gaps: Sequence[Gap]) -> Words:
    events = _noun([gap.event for gap in gaps], schema.family.event[1])
    entities = _noun([gap.entity for gap in gaps], schema.family.entity[1])
    # The shortest ending first: "in the … period" would attach to the last words of a longer one.
    tails = sorted((gap.tail for gap in gaps if gap.tail), key=len)
    return Words(
        events=" ".join([events, "of", entities, *tails]),
        value=next((gap.value for gap in gaps if gap.value), schema.quantity),
        closing=" ".join(gap.closing for gap in gaps if gap.closing),
    )


def _clear_words(schema: Schema, gaps: Sequence[Gap]) -> Words:
    plain = _blocked_words(schema, [replace(gap, event="", entity="", tail="", closing="") for gap in gaps])
    taken = " and only ".join(gap.meaning for gap in gaps if not gap.value)
    value = next((gap.meaning for gap in gaps if gap.value), schema.quantity)
    return replace(plain, events=f"{plain.events} (only {taken})", value=value)


def _query(schema: Schema, gaps: Sequence[Gap], family: FamilyName) -> str:
    amount = next((_slot(gap) for gap in gaps if gap.value), f"e.{schema.quantity}")
    source = f"FROM {schema.event_table} e JOIN {schema.entity_table} c ON c.id = e.{schema.entity_key}"
    with_place = f"{source} JOIN {schema.place_table} p ON p.id = e.{schema.place_key}"
    conditions = " AND ".join(_slot(gap) for gap in gaps if not gap.value)
    # No rounding: the question asks for none, and an answer given in full must equal the gold result.
    match family:
        case "count":
            select = f"COUNT(*) {source} WHERE {conditions}"
        case "entities":
            select = f"COUNT(DISTINCT c.id), SUM({amount}) {source} WHERE {conditions}"
        case "total":
            select = f"SUM({amount}) {source} WHERE {conditions}"
        case "average":
            select = f"AVG({amount}) {source} WHERE {conditions}"
        case "share":
            select = f"100.0 * SUM(CASE WHEN {conditions} THEN {amount} END) / SUM({amount}) {source}"
        case "total_by_place":
            select = f"p.name, SUM({amount}) {with_place} WHERE {conditions} GROUP BY p.name"
        case "average_by_place":
            select = f"p.name, AVG({amount}) {with_place} WHERE {conditions} GROUP BY p.name"
        case "top":
            grouped = f"{source} WHERE {conditions} GROUP BY c.id"
            select = f"c.name, SUM({amount}) AS total {grouped} ORDER BY total DESC, c.id LIMIT {TOP}"
    return f"SELECT {select}"


def _slot(gap: Gap) -> str:
    return f"{{{gap.blocker.blocker_id}}}"


def _noun(adjectives: Sequence[str], noun: str) -> str:
    return " ".join([", ".join(filter(None, adjectives)), noun]).strip()
