"""Output directories of behaviours whose scores are known: they check every table, and show what each score rewards."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from helpseek.bfcl.calls import READ, Call, Effects
from helpseek.bfcl.data import Dataset, Item
from helpseek.bfcl.output_files import SCORED_CATEGORIES
from helpseek.bfcl.pairs import anchor_turn
from helpseek.files import atomic_path

ASK = "Before I go on: could you tell me what is missing?"
DONE = "Done."
Turns = list[tuple[Call, ...]]


@dataclass(frozen=True, slots=True)
class Situation:
    """What a behaviour sees of one item: everything. `anchor` is None for a base item."""

    item: Item
    base: Item
    anchor: int | None
    dataset: Dataset
    effects: Effects


def _act_always(seen: Situation) -> Turns:
    """Makes the base's calls on the anchor of both twins, and again when the rest is told."""
    turns = list(seen.item.gold)
    if seen.anchor is not None:
        turns[seen.anchor] = seen.base.gold[seen.anchor]
    return turns


def _ask_always(seen: Situation) -> Turns:
    """Never calls anything."""
    return [() for _ in seen.item.gold]


def _gold(seen: Situation) -> Turns:
    """Asks on the anchor, and makes the gold calls elsewhere."""
    return list(seen.item.gold)


def _guess_then_read(seen: Situation) -> Turns:
    """Guesses the gold calls on the anchor and only looks on the next turn: BFCL's own score pays it in full."""
    turns = _act_always(seen)
    if seen.anchor is not None:
        turns[seen.anchor + 1] = _look(seen) or turns[seen.anchor + 1]
    return turns


def _look(seen: Situation) -> tuple[Call, ...]:
    """One read that needs no argument, where the item's classes have one."""
    names = (
        name
        for group in seen.item.classes
        for name, parameters in seen.dataset.functions[group].items()
        if not parameters and seen.effects.kind(Call(name)) == READ
    )
    first = next(names, None)
    return (Call(first),) if first else ()


Behaviour = Callable[[Situation], Turns]
BEHAVIOURS: Mapping[str, Behaviour] = {
    "act_always": _act_always,
    "ask_always": _ask_always,
    "gold": _gold,
    "guess_then_read": _guess_then_read,
}


def write_reference(behaviour: str, dataset: Dataset, effects: Effects, folder: Path) -> None:
    """Write the outputs of one behaviour as BFCL would: `folder/multi_turn/BFCL_v4_multi_turn_*_result.json`."""
    for category in SCORED_CATEGORIES:
        items = [item for item in dataset.items.values() if item.category == category]
        rows = [
            {"id": item.item_id, "result": _result(BEHAVIOURS[behaviour], item, dataset, effects)} for item in items
        ]
        with atomic_path(folder / "multi_turn" / f"BFCL_v4_multi_turn_{category}_result.json") as path:
            path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def _result(behave: Behaviour, item: Item, dataset: Dataset, effects: Effects) -> list[list[Any]]:
    """Turns of steps: one call a step as function-calling handlers write it, then a closing text."""
    base = dataset.items[f"multi_turn_base_{item.number}"]
    anchor = None if item.category == "base" else anchor_turn(item, base)
    return [
        [*([{call.name: json.dumps(dict(call.arguments))}] for call in calls), DONE if calls else ASK]
        for calls in behave(Situation(item, base, anchor, dataset, effects))
    ]
