"""Schema families: what the three tables of a generated database are about and what their columns are called."""

from __future__ import annotations

import random
from dataclasses import dataclass

from helpseek.tasks.generate.words import PREFIXES, Split, pairs


@dataclass(frozen=True, slots=True)
class Family:
    """One subject: someone (`entity`) has something happen (`event`) at some `place`, each with its plural.

    The rest are stems of column names. `category` groups entities, `score` and `idle` are numbers of an entity,
    `status` is a coded column of an event, `value` stands for three amounts of an event, `quantity` is a count, `day`
    its date.
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

    @property
    def stems(self) -> tuple[str, ...]:
        """What a prefix goes before, in this family: three tables and seven columns."""
        tables = (self.entity[1], self.event[1], self.place[1])
        columns = (self.category, self.score, self.idle, self.status, self.value, self.quantity, self.day)
        return (*tables, *columns)


def _family(words: str) -> Family:
    entity, entities, event, events, place, places, *columns = words.split()
    return Family((entity, entities), (event, events), (place, places), *columns)


# entity and its plural, event, place, then the stems in the order of `Family`.
FAMILIES = tuple(
    _family(words)
    for words in (
        "customer customers sale sales store stores region score idle_days state net quantity sale_day",
        "patient patients visit visits clinic clinics district risk gap_days code cost minute_count visit_day",
        "member members loan loans branch branches group_name points away_days stage fee page_count loan_day",
        "driver drivers trip trips depot depots fleet rating rest_days phase fare mile_count trip_day",
        "student students course courses campus campuses faculty level pause_days step mark hour_count start_day",
        "client clients ticket tickets desk desks segment weight quiet_days flag effort word_count open_day",
        "guest guests booking bookings hotel hotels market loyalty absent_days mode rate credit_count arrival_day",
        "farmer farmers harvest harvests silo silos valley quality fallow_days lot_code yield crate_count harvest_day",
    )
)
STEMS = tuple(dict.fromkeys(stem for family in FAMILIES for stem in family.stems))

CATEGORIES = tuple("Aspen Brook Coral Dune Elm Fern Glade Heath Inlet Jasper Knoll Larch".split())
# One a family, so that held-out databases use no letter that training lacks.
CODE_LETTERS = "KLMPRTVX"
CODES = 9
CATEGORIES_PER_DATABASE = 9


@dataclass(frozen=True, slots=True)
class Schema:
    """One generated database: a family, the names of its tables and columns, and the values its coded columns take."""

    name: str
    family: Family
    entity_table: str
    event_table: str
    place_table: str
    category: str
    score: str
    idle: str
    status: str
    value_stem: str
    quantity: str
    day: str
    categories: tuple[str, ...]
    codes: tuple[str, ...]

    @property
    def entity_key(self) -> str:
        return _key(self.entity_table, self.family.entity)

    @property
    def place_key(self) -> str:
        return _key(self.place_table, self.family.place)

    def value(self, number: int) -> str:
        """Name of the `number`-th amount column, 1 to 3."""
        return f"{self.value_stem}_{number}"


def _key(table: str, noun: tuple[str, str]) -> str:
    return f"{table.removesuffix(noun[1])}{noun[0]}_id"


def make_schema(name: str, family: Family, split: Split, rng: random.Random) -> Schema:
    """A schema called `name` (for example amber_bay): each stem of `family` with a prefix that `split` may put there.

    Only the columns every database has (id, name, joined, opened) occur in both splits.
    """
    allowed = pairs(PREFIXES, STEMS, split)
    compound = {
        own: rng.choice([f"{prefix}_{stem}" for prefix, stem in allowed if stem == own]) for own in family.stems
    }
    letter = CODE_LETTERS[FAMILIES.index(family)]
    return Schema(
        name=name,
        family=family,
        entity_table=compound[family.entity[1]],
        event_table=compound[family.event[1]],
        place_table=compound[family.place[1]],
        category=compound[family.category],
        score=compound[family.score],
        idle=compound[family.idle],
        status=compound[family.status],
        value_stem=compound[family.value],
        quantity=compound[family.quantity],
        day=compound[family.day],
        categories=tuple(rng.sample(CATEGORIES, CATEGORIES_PER_DATABASE)),
        codes=tuple(rng.sample([f"{letter}{number}" for number in range(1, CODES + 1)], CODES)),
    )
