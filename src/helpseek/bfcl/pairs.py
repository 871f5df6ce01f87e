"""Ask-or-act pairs: a should-ask item and its base twin, the same request at the same turn, once complete.

Every filter is named and looks at one pair alone; a set of pairs is a list of filters. The order of `CERTIFIED`
reproduces the published counts: 400 -> 386 -> 382 -> 380 -> 374 -> 365 -> 231 -> 223.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from helpseek.bfcl.calls import SESSION, Call, Effects

if TYPE_CHECKING:
    from helpseek.bfcl.data import Dataset, Item
    from helpseek.bfcl.exclusions import Exclusions

MISS_KINDS = ("miss_func", "miss_param")


@dataclass(frozen=True, slots=True)
class Pair:
    """One should-ask item with its base twin. On turn `anchor` the twin says less than the base does."""

    pair_id: str
    """Id of the should-ask item."""
    base_id: str
    kind: str
    """miss_func or miss_param."""
    anchor: int
    classes: tuple[str, ...]
    """API classes on offer."""
    withheld: tuple[str, ...]
    """miss_func: functions not yet offered on the anchor."""
    base_text: str
    miss_text: str
    gold: tuple[str, ...]
    """Calls of the base's gold anchor turn."""
    world_calls: tuple[str, ...]
    """Those that change the world."""
    session_calls: tuple[str, ...]
    """Those that only log in or out."""
    independent: tuple[str, ...]
    """Functions that a compound turn asks for beside what was removed."""
    failed: tuple[str, ...]
    """Every filter that this pair fails."""

    def within(self, definition: Sequence[str]) -> bool:
        """Whether the pair passes all filters of a definition."""
        return not set(self.failed) & set(definition)


@dataclass(frozen=True, slots=True)
class _Candidate:
    """What a filter looks at."""

    miss: Item
    base: Item
    anchor: int
    exclusions: Exclusions
    world_calls: tuple[Call, ...]
    session_calls: tuple[Call, ...]


def _bad_key(pair: _Candidate) -> bool:
    """People found the gold trajectory or the task wrong."""
    return pair.miss.item_id in pair.exclusions.bad_keys


def _several_empty_turns(pair: _Candidate) -> bool:
    """More than one gold turn is empty, so the turn to ask on is not known."""
    return len(pair.miss.empty_gold_turns) != 1


def _gold_counts_differ(pair: _Candidate) -> bool:
    """Without the empty turn, the twin's gold has another number of calls on some turn."""
    return [len(turn) for turn in _without_anchor(pair)] != [len(turn) for turn in pair.base.gold_texts]


def _gold_calls_differ(pair: _Candidate) -> bool:
    """Without the empty turn, the twin's gold has other calls."""
    return _without_anchor(pair) != pair.base.gold_texts


def _dialogue_differs(pair: _Candidate) -> bool:
    """The dialogue before the anchor is not the same, byte by byte."""
    return pair.miss.turns[: pair.anchor] != pair.base.turns[: pair.anchor]


def _no_world_call(pair: _Candidate) -> bool:
    """The complete turn asks for nothing that changes the world."""
    return not pair.world_calls


def _no_world_or_session_call(pair: _Candidate) -> bool:
    """The complete turn asks for nothing but reading."""
    return not pair.world_calls and not pair.session_calls


def _construction_error(pair: _Candidate) -> bool:
    """People found that nothing needed was removed."""
    return pair.miss.item_id in pair.exclusions.construction_errors


def _compound_turn(pair: _Candidate) -> bool:
    """The turn also asks for calls that do not need what was removed."""
    return pair.miss.item_id in pair.exclusions.compound_turns


FILTERS: dict[str, Callable[[_Candidate], bool]] = {
    test.__name__.lstrip("_"): test
    for test in (
        _bad_key,
        _several_empty_turns,
        _gold_counts_differ,
        _gold_calls_differ,
        _dialogue_differs,
        _no_world_call,
        _construction_error,
        _no_world_or_session_call,
        _compound_turn,
    )
}
COMPARABLE = ("bad_key", "several_empty_turns", "gold_counts_differ", "gold_calls_differ", "dialogue_differs")
UNCERTIFIED = (*COMPARABLE, "no_world_call")
CERTIFIED = (*UNCERTIFIED, "construction_error")
JUDGEMENT_FREE = tuple(name for name in UNCERTIFIED if name != "bad_key")
LOGIN = (*COMPARABLE, "no_world_or_session_call", "construction_error")
NO_COMPOUND = (*CERTIFIED, "compound_turn")
DEFINITIONS: dict[str, tuple[str, ...]] = {
    "certified": CERTIFIED,
    "judgement-free": JUDGEMENT_FREE,
    "uncertified": UNCERTIFIED,
    "login": LOGIN,
    "comparable": COMPARABLE,
    "no-compound": NO_COMPOUND,
}


def _without_anchor(pair: _Candidate) -> tuple[tuple[str, ...], ...]:
    gold = pair.miss.gold_texts
    return gold[: pair.anchor] + gold[pair.anchor + 1 :]


def make_pairs(dataset: Dataset, effects: Effects, exclusions: Exclusions) -> list[Pair]:
    """Every should-ask item with its base twin and the filters it fails: 400 pairs, miss_func first."""
    items = [item for kind in MISS_KINDS for item in dataset.items.values() if item.category == kind]
    return [_pair(item, dataset.items[f"multi_turn_base_{item.number}"], effects, exclusions) for item in items]


def _pair(miss: Item, base: Item, effects: Effects, exclusions: Exclusions) -> Pair:
    anchor = anchor_turn(miss, base)
    gold = base.gold[anchor]
    candidate = _Candidate(
        miss,
        base,
        anchor,
        exclusions,
        world_calls=effects.acting(gold),
        session_calls=tuple(call for call in gold if effects.kind(call) == SESSION),
    )
    compound = exclusions.compound_turns.get(miss.item_id)
    return Pair(
        pair_id=miss.item_id,
        base_id=base.item_id,
        kind=miss.category,
        anchor=anchor,
        classes=miss.classes,
        withheld=miss.withheld,
        base_text=base.turns[anchor],
        miss_text=miss.turns[anchor],
        gold=base.gold_texts[anchor],
        world_calls=tuple(call.text for call in candidate.world_calls),
        session_calls=tuple(call.text for call in candidate.session_calls),
        independent=compound.independent if compound else (),
        failed=tuple(name for name, fails in FILTERS.items() if fails(candidate)),
    )


def anchor_turn(miss: Item, base: Item) -> int:
    """The turn on which the twin should ask.

    miss_func: the turn before the withheld functions are offered. miss_param: the empty gold turn; of several, the
    first whose text differs from the base's.
    """
    if miss.withheld_until is not None:
        return miss.withheld_until - 1
    empty = [turn for turn in miss.empty_gold_turns if turn < len(base.gold)]
    changed = [turn for turn in empty if miss.turns[turn] != base.turns[turn]]
    return (changed or empty)[0]


def dropped(pairs: Iterable[Pair], definition: Sequence[str]) -> Mapping[str, list[Pair]]:
    """What each filter of `definition`, applied in order, drops of what the earlier ones left."""
    left = list(pairs)
    drops = {}
    for name in definition:
        drops[name] = [pair for pair in left if name in pair.failed]
        left = [pair for pair in left if name not in pair.failed]
    return drops
