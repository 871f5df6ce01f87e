"""Business notes that answer nothing, and plain descriptions of the schema."""

from __future__ import annotations

import random
from collections.abc import Mapping

from helpseek.tasks.generate.schemas import Schema
from helpseek.tasks.task import Column, Table

DISTRACTORS = (
    "Every {event} is entered by the team of the {place} where it takes place.",
    "{entities} may change their {category} once a year.",
    "The {place} list is kept by the operations team.",
    "A {event} without a {place} was made online.",
    "Names of {entities} are anonymised in this copy.",
    "Reports on {events} are read by the board every month.",
    "The {quantity} of a {event} is never zero.",
    "Dates are written as year, month and day.",
    "{entities} without a {score} are new to us.",
    "Amounts are kept in one currency.",
    "The {idle} of {entities} are counted anew every night.",
    "A closed {place} keeps its past {events}.",
    "Duplicate {events} are removed before the data is copied.",
    "The {entity} team answers questions on working days.",
)


def distractors(schema: Schema, rng: random.Random) -> list[str]:
    """Eight to twelve true and useless notes."""
    family = schema.family
    words = {
        "event": family.event[0],
        "events": family.event[1],
        "entity": family.entity[0],
        "entities": family.entity[1],
        "place": family.place[0],
        "category": schema.category,
        "score": schema.score,
        "idle": schema.idle,
        "quantity": schema.quantity,
    }
    filled = [note.format(**words) for note in rng.sample(DISTRACTORS, rng.randint(8, 12))]
    return [note[0].upper() + note[1:] for note in filled]


def describe(schema: Schema, blocked: Mapping[str, str]) -> tuple[Table, ...]:
    """Descriptions of all tables and columns; `blocked` replaces those a blocker makes useless."""
    family = schema.family
    event, entity, place = family.event[0], family.entity[0], family.place[0]
    tables = {
        schema.place_table: (
            f"all {family.place[1]}",
            {"id": ("key", "integer"), "name": (f"name of the {place}", "text"), "opened": ("first day", "date")},
        ),
        schema.entity_table: (
            f"all {family.entity[1]}",
            {
                "id": ("key", "integer"),
                "name": (f"name of the {entity}", "text"),
                schema.category: (f"{family.category} of the {entity}", "text"),
                schema.score: (f"{family.score} of the {entity}", "integer"),
                schema.idle: (f"days since the last {event}", "integer"),
                "joined": (f"day the {entity} joined", "date"),
            },
        ),
        schema.event_table: (
            f"all {family.event[1]}",
            {
                "id": ("key", "integer"),
                schema.entity_key: (f"the {entity}", "integer"),
                schema.place_key: (f"the {place}", "integer"),
                schema.day: (f"day of the {event}", "date"),
                schema.status: (f"internal code of the {event}", "text"),
                **{schema.value(n): (f"amount of the {event}", "real") for n in (1, 2, 3)},
                schema.quantity: (f"{family.quantity} of the {event}", "integer"),
            },
        ),
    }
    return tuple(
        Table(
            name=name,
            description=description,
            columns=tuple(
                Column(name=column, description=blocked.get(column, meaning), data_format=kind)
                for column, (meaning, kind) in columns.items()
            ),
        )
        for name, (description, columns) in tables.items()
    )
