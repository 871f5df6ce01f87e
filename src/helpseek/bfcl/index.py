"""What scoring needs to know of BFCL, in one small file: the pairs, the tools on offer, what each function does.

Made once from the wheel; scoring a directory then reads neither the wheel nor YAML nor Parquet.
"""

from __future__ import annotations

import dataclasses
import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from helpseek.bfcl.calls import Effects
from helpseek.bfcl.pairs import Pair
from helpseek.errors import UserError
from helpseek.files import atomic_path


@dataclass(frozen=True, slots=True)
class Index:
    """Pairs with what is needed to score them. `functions`: API class -> function -> parameter names."""

    pairs: tuple[Pair, ...]
    functions: Mapping[str, Mapping[str, tuple[str, ...]]]
    effects: Effects

    @property
    def parameters(self) -> dict[str, tuple[str, ...]]:
        """Parameter names of every function; no name occurs in two classes."""
        return {name: order for group in self.functions.values() for name, order in group.items()}

    def tools(self, pair: Pair) -> frozenset[str]:
        """Functions on the list of the pair's items, withheld ones included."""
        return frozenset(name for group in pair.classes for name in self.functions[group])

    def anchors(self) -> dict[str, frozenset[int]]:
        """Item id -> the anchor turns on which it is scored; a base twin can have two."""
        turns: dict[str, set[int]] = defaultdict(set)
        for pair in self.pairs:
            turns[pair.pair_id].add(pair.anchor)
            turns[pair.base_id].add(pair.anchor)
        return {item_id: frozenset(found) for item_id, found in turns.items()}


def write_index(index: Index, path: Path) -> None:
    """Write `index` as JSON, all or nothing."""
    effects = dataclasses.asdict(index.effects)
    content = {
        "pairs": [dataclasses.asdict(pair) for pair in index.pairs],
        "functions": index.functions,
        "effects": {key: sorted(value) if isinstance(value, frozenset) else value for key, value in effects.items()},
    }
    with atomic_path(path) as temporary:
        temporary.write_text(json.dumps(content, ensure_ascii=False) + "\n", encoding="utf-8")


def read_index(path: Path) -> Index:
    """Read what `write_index` wrote. Raises `UserError` when the file is not one."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        pairs = tuple(Pair(**_tuples(pair)) for pair in content["pairs"])
        functions = {group: _tuples(names) for group, names in content["functions"].items()}
        effects: dict[str, Any] = {
            key: frozenset(value) if isinstance(value, list) else value for key, value in content["effects"].items()
        }
        return Index(pairs, functions, Effects(**effects))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(f"{path}: not an index of BFCL pairs ({error}); delete it, it is made anew") from None


def _tuples(record: Mapping[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in record.items()}
