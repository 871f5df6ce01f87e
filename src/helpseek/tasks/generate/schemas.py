"""Schema families: what the three tables of a generated database are about and what their columns are called."""

from __future__ import annotations

import random
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Family:
    """One subject: someone (`entity`) has something happen (`event`) at some `place`.

    `category` groups entities, `score` and `idle` are numbers of an entity, `status` is a coded column of an event,
    `value` is the stem of three amounts of an event, `quantity` a count, `day` its date.
    """

    entity: tuple[str, str]
    event: tuple[str, str]
    place: tuple[str, str]
    category: str
    score: str
    idle: str
    status: str
    value: str
    quantity: str
    day: str


def _family(words: str) -> Family:
    entity, entities, event, events, place, places, *columns = words.split()
    return Family((entity, entities), (event, events), (place, places), *columns)


# entity and its plural, event, place, then the columns in the order of `Family`.
FAMILIES = tuple(
    _family(words)
    for words in (
        "customer customers order orders store stores region score idle_days state net quantity order_day",
        "patient patients visit visits clinic clinics district risk gap_days code cost minutes visit_day",
        "member members loan loans branch branches group_name points away_days stage fee copies loan_day",
        "driver drivers trip trips depot depots fleet rating rest_days phase fare stops trip_day",
        "student students course courses campus campuses faculty level pause_days step mark credits start_day",
        "client clients ticket tickets desk desks segment weight quiet_days flag effort replies open_day",
        "guest guests booking bookings hotel hotels market loyalty absent_days mode rate nights arrival_day",
        "farmer farmers harvest harvests silo silos valley quality fallow_days lot_code yield loads harvest_day",
    )
)

CATEGORIES = tuple("Aspen Brook Coral Dune Elm Fern Glade Heath".split())
CODE_LETTERS = "KLMPRTVX"


@dataclass(frozen=True, slots=True)
class Schema:
    """One generated database: a family, its table names, and the values its coded columns take."""

    name: str
    family: Family
    entity_table: str
    event_table: str
    place_table: str
    categories: tuple[str, ...]
    codes: tuple[str, ...]

    @property
    def entity_key(self) -> str:
        return f"{self.family.entity[0]}_id"

    @property
    def place_key(self) -> str:
        return f"{self.family.place[0]}_id"

    def value(self, number: int) -> str:
        """Name of the `number`-th amount column, 1 to 3."""
        return f"{self.family.value}_{number}"


def make_schema(name: str, rng: random.Random) -> Schema:
    """A schema called `name` (for example amber_bay), of a random family."""
    family = rng.choice(FAMILIES)
    letter = rng.choice(CODE_LETTERS)
    return Schema(
        name=name,
        family=family,
        entity_table=family.entity[1],
        event_table=family.event[1],
        place_table=family.place[1],
        categories=tuple(rng.sample(CATEGORIES, 6)),
        codes=tuple(f"{letter}{number}" for number in sorted(rng.sample(range(1, 10), 6))),
    )
