"""The curated lists beside this file: faulty items and compound turns, each with its reason and source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from helpseek.config_file import read_yaml
from helpseek.errors import UserError

FILE = Path(__file__).with_name("exclusions.yaml")


@dataclass(frozen=True, slots=True)
class Exclusion:
    """One listed item. `independent`: for a compound turn, functions its request can be credited for."""

    item_id: str
    reason: str
    source: str
    independent: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Exclusions:
    """The three lists, each by item id."""

    bad_keys: Mapping[str, Exclusion]
    construction_errors: Mapping[str, Exclusion]
    compound_turns: Mapping[str, Exclusion]


def read_exclusions(file: Path = FILE) -> Exclusions:
    """Read the curated lists. Raises `UserError` naming the list and entry that is incomplete or listed twice."""
    content = read_yaml(file)
    lists = ("bad_keys", "construction_errors", "compound_turns")
    return Exclusions(*(_entries(file, name, content.get(name)) for name in lists))


def _entries(file: Path, name: str, rows: Any) -> dict[str, Exclusion]:
    if not isinstance(rows, list):
        raise UserError(f"{file}: `{name}` must be a list of items")
    entries: dict[str, Exclusion] = {}
    for number, row in enumerate(rows):
        where = f"{file}: `{name}.{number}`"
        if not isinstance(row, dict) or not {"item", "reason", "source"} <= set(row):
            raise UserError(f"{where}: expected the keys item, reason and source")
        if row["item"] in entries:
            raise UserError(f"{where}: {row['item']} is listed twice")
        independent = tuple(row.get("independent", ()))
        entries[row["item"]] = Exclusion(row["item"], row["reason"], row["source"], independent)
    return entries
