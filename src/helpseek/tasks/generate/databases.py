"""Fill a generated schema with skewed, gappy, reproducible data."""

from __future__ import annotations

import datetime as dt
import random
import sqlite3
from collections.abc import Sequence
from pathlib import Path

from helpseek.files import atomic_path
from helpseek.tasks.generate.schemas import Schema

ENTITIES, EVENTS, PLACES = 160, 1600, 12
FIRST_DAY, DAYS = dt.date(2022, 1, 1), 730
NULL_SHARE = 0.06
MEAN_QUANTITY = 40


def build_database(path: Path, schema: Schema, rng: random.Random) -> None:
    """Write the SQLite file of `schema`; equal generators give equal bytes."""
    statements = [
        f"CREATE TABLE {schema.place_table} (id INTEGER PRIMARY KEY, name TEXT NOT NULL, opened TEXT NOT NULL)",
        f"CREATE TABLE {schema.entity_table} (id INTEGER PRIMARY KEY, name TEXT NOT NULL, {schema.category} TEXT, "
        f"{schema.score} INTEGER, {schema.idle} INTEGER NOT NULL, joined TEXT NOT NULL)",
        f"CREATE TABLE {schema.event_table} (id INTEGER PRIMARY KEY, "
        f"{schema.entity_key} INTEGER NOT NULL REFERENCES {schema.entity_table}(id), "
        f"{schema.place_key} INTEGER REFERENCES {schema.place_table}(id), {schema.day} TEXT NOT NULL, "
        f"{schema.status} TEXT NOT NULL, {schema.value(1)} REAL, {schema.value(2)} REAL, {schema.value(3)} REAL, "
        f"{schema.quantity} INTEGER NOT NULL)",
    ]
    with atomic_path(path) as temporary:
        connection = sqlite3.connect(temporary)
        try:
            for statement in statements:
                connection.execute(statement)
            for table, rows in (
                (schema.place_table, _places(schema, rng)),
                (schema.entity_table, _entities(schema, rng)),
                (schema.event_table, _events(schema, rng)),
            ):
                marks = ", ".join("?" * len(rows[0]))
                connection.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)
            connection.commit()
            connection.execute("VACUUM")
        finally:
            connection.close()


def _places(schema: Schema, rng: random.Random) -> list[Sequence[object]]:
    return [(n, f"{schema.family.place[0].title()} {n}", _day(rng)) for n in range(1, PLACES + 1)]


def _entities(schema: Schema, rng: random.Random) -> list[Sequence[object]]:
    weights = [1 / (n + 1) ** 0.7 for n in range(len(schema.categories))]
    return [
        (
            n,
            f"{schema.family.entity[0].title()} {n}",
            _sometimes_null(rng, rng.choices(schema.categories, weights)[0]),
            _sometimes_null(rng, min(99, max(1, round(rng.gauss(55, 20))))),
            min(200, int(rng.expovariate(1 / 55)) + 1),
            _day(rng),
        )
        for n in range(1, ENTITIES + 1)
    ]


def _events(schema: Schema, rng: random.Random) -> list[Sequence[object]]:
    weights = [1 / (n + 1) ** 0.6 for n in range(ENTITIES)]
    code_weights = [1 / (n + 1) ** 0.5 for n in range(len(schema.codes))]
    return [
        (
            n,
            rng.choices(range(1, ENTITIES + 1), weights)[0],
            _sometimes_null(rng, rng.randint(1, PLACES)),
            _day(rng),
            rng.choices(schema.codes, code_weights)[0],
            round(rng.lognormvariate(4.5, 0.8), 2),
            round(rng.lognormvariate(4.2, 0.7), 2),
            _sometimes_null(rng, round(rng.lognormvariate(3.5, 0.9), 2)),
            1 + int(rng.expovariate(1 / MEAN_QUANTITY)),
        )
        for n in range(1, EVENTS + 1)
    ]


def _day(rng: random.Random) -> str:
    return (FIRST_DAY + dt.timedelta(days=rng.randrange(DAYS))).isoformat()


def _sometimes_null(rng: random.Random, value: object) -> object:
    return None if rng.random() < NULL_SHARE else value
