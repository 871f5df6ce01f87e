"""Look for faulty items by machine, and say how well each heuristic finds those that people listed.

Every heuristic is a function of one item or pair, named as it is reported. None decides anything: the curated lists do.
"""

from __future__ import annotations

import difflib
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from helpseek.bfcl.data import Dataset, Item
from helpseek.bfcl.exclusions import Exclusions
from helpseek.bfcl.pairs import Pair
from helpseek.bfcl.world_calls.execution import ExecutedCall

# Words less alike than this are other words, not typos.
DIFFERENT = 0.6
# Shorter literals occur in texts by chance.
MIN_LITERAL = 3
TOKEN = re.compile(r"[\w#@$.:/-]+")


@dataclass(frozen=True, slots=True)
class Flag:
    """One suspicion about one item."""

    item_id: str
    heuristic: str
    detail: str


@dataclass(frozen=True, slots=True)
class Suspect:
    """What a heuristic over pairs looks at."""

    pair: Pair
    miss: Item
    base: Item
    executed: Sequence[ExecutedCall]
    """Calls of the base's gold, executed."""

    @property
    def removed(self) -> list[str]:
        """Gold literals of the complete turn that its text says and the incomplete text does not."""
        return [
            literal
            for literal in literals(self.base, self.pair.anchor)
            if says(self.pair.base_text, literal) and not says(self.pair.miss_text, literal)
        ]


def literals(item: Item, turn: int) -> list[str]:
    """Argument values of a gold turn as text, nested ones apart, each once."""
    found: dict[str, None] = {}
    for call in item.gold[turn]:
        for value in call.arguments.values():
            found |= dict.fromkeys(_texts(value))
    return [text for text in found if len(text) >= MIN_LITERAL]


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict | list | tuple):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _texts(part)
    elif not isinstance(value, bool) and value is not None:
        yield str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def says(text: str, literal: str) -> bool:
    """Whether `text` holds `literal`, case and thousands separators aside."""
    return literal.lower() in text.lower().replace(",", "") or literal.lower() in text.lower()


def unchanged_text(suspect: Suspect) -> str:
    """miss_param: nothing was removed from the request."""
    same = suspect.pair.kind == "miss_param" and suspect.pair.miss_text == suspect.pair.base_text
    return "the incomplete request is the complete one" if same else ""


def value_stated_earlier(suspect: Suspect) -> str:
    """miss_param: every removed value was said by the user, or returned by a gold call, on an earlier turn."""
    removed = suspect.removed if suspect.pair.kind == "miss_param" else []
    earlier = " ".join(suspect.miss.turns[: suspect.pair.anchor])
    earlier += " ".join(call.returned for call in suspect.executed if call.turn < suspect.pair.anchor)
    return f"said before: {', '.join(removed)}" if removed and all(says(earlier, value) for value in removed) else ""


def current_id(suspect: Suspect) -> str:
    """miss_param: what was removed is the user who is already logged in."""
    if suspect.pair.kind != "miss_param":
        return ""
    gone = set(TOKEN.findall(suspect.pair.base_text)) - set(TOKEN.findall(suspect.pair.miss_text))
    gone = {token.strip(".:/-") for token in gone}
    for group, state in suspect.miss.initial_config.items():
        for name, value in state.items():
            if name.startswith("current_") and value in gone:
                return f"{value} is {group}.{name} from the start"
    return ""


def withheld_not_in_gold(suspect: Suspect) -> str:
    """miss_func: no withheld function is among the gold calls of the complete turn."""
    called = {call.name for call in suspect.base.gold[suspect.pair.anchor]}
    unused = suspect.pair.withheld and not called & set(suspect.pair.withheld)
    return f"withheld {', '.join(suspect.pair.withheld)}, gold calls {', '.join(sorted(called))}" if unused else ""


def text_differs(suspect: Suspect) -> str:
    """miss_func: the request differs from the base's by more than typos."""
    if suspect.pair.kind != "miss_func" or suspect.pair.miss_text == suspect.pair.base_text:
        return ""
    old, new = (TOKEN.findall(text) for text in (suspect.pair.base_text, suspect.pair.miss_text))
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for tag, a, b, c, d in matcher.get_opcodes():
        before, after = " ".join(old[a:b]), " ".join(new[c:d])
        if tag == "replace" and difflib.SequenceMatcher(None, before.lower(), after.lower()).ratio() < DIFFERENT:
            return f"{before!r} became {after!r}"
    return ""


def gold_mismatch(suspect: Suspect) -> str:
    """Without the empty turn, the twin's gold is not the base's."""
    different = {"gold_counts_differ", "gold_calls_differ"} & set(suspect.pair.failed)
    return "the twins' gold calls differ" if different else ""


def several_empty_turns(suspect: Suspect) -> str:
    """More than one gold turn of the twin is empty."""
    empty = suspect.miss.empty_gold_turns
    return f"empty gold turns {', '.join(map(str, empty))}" if len(empty) > 1 else ""


def dialogue_differs(suspect: Suspect) -> str:
    """The dialogue before the anchor is not the base's."""
    return "the dialogue before the turn differs" if "dialogue_differs" in suspect.pair.failed else ""


def followup_does_not_restore(suspect: Suspect) -> str:
    """miss_param: a removed value is not told on the next turn either."""
    if suspect.pair.kind != "miss_param" or suspect.pair.anchor + 1 >= len(suspect.miss.turns):
        return ""
    told = suspect.miss.turns[suspect.pair.anchor + 1]
    lost = [value for value in suspect.removed if not says(told, value)]
    return f"never told: {', '.join(lost)}" if lost else ""


def nothing_of_gold_removed(suspect: Suspect) -> str:
    """miss_param: no removed word occurs in a gold argument, so gold may not need it."""
    if suspect.pair.kind != "miss_param" or suspect.pair.miss_text == suspect.pair.base_text:
        return ""
    gone = set(TOKEN.findall(suspect.pair.base_text)) - set(TOKEN.findall(suspect.pair.miss_text))
    needed = " ".join(literals(suspect.base, suspect.pair.anchor)).lower()
    words = {word.strip(".:/-").lower() for word in gone}
    return (
        ""
        if any(len(word) >= MIN_LITERAL and word in needed for word in words)
        else f"removed: {' '.join(sorted(gone))}"
    )


PAIR_HEURISTICS: tuple[Callable[[Suspect], str], ...] = (
    unchanged_text,
    value_stated_earlier,
    current_id,
    withheld_not_in_gold,
    text_differs,
    gold_mismatch,
    several_empty_turns,
    dialogue_differs,
    followup_does_not_restore,
    nothing_of_gold_removed,
)


def gold_call_fails(_: Item, executed: Sequence[ExecutedCall]) -> str:
    """A gold call that should change something raises or is refused when it is executed."""
    failed = [call for call in executed if call.failure and not call.function.startswith("verify_")]
    return "; ".join(f"turn {call.turn} {call.function}: {call.failure}" for call in failed)


def ungrounded_literal(item: Item, executed: Sequence[ExecutedCall]) -> str:
    """A gold value that no user text, earlier result or initial state holds."""
    known = str(item.initial_config)
    for turn, text in enumerate(item.turns):
        known += " " + text
        calls = [call for call in executed if call.turn == turn]
        grounded = known + " ".join(call.returned for call in calls)
        for literal in literals(item, turn):
            if not says(grounded, literal):
                return f"turn {turn}: {literal[:80]!r} is in no text and no result so far"
        known = grounded
    return ""


ITEM_HEURISTICS: tuple[Callable[[Item, Sequence[ExecutedCall]], str], ...] = (gold_call_fails, ungrounded_literal)


def audit(dataset: Dataset, pairs: Iterable[Pair], executed: Iterable[ExecutedCall]) -> list[Flag]:
    """Every flag: pair heuristics on should-ask items, item heuristics on all four categories."""
    by_item: dict[str, list[ExecutedCall]] = defaultdict(list)
    for call in executed:
        by_item[call.item_id].append(call)
    flags = []
    for pair in pairs:
        suspect = Suspect(pair, dataset.items[pair.pair_id], dataset.items[pair.base_id], by_item[pair.base_id])
        flags += [Flag(pair.pair_id, h.__name__, found) for h in PAIR_HEURISTICS if (found := h(suspect))]
    for item in dataset.items.values():
        calls = by_item[item.item_id]
        flags += [Flag(item.item_id, h.__name__, found) for h in ITEM_HEURISTICS if (found := h(item, calls))]
    return flags


def looked_at(dataset: Dataset, pairs: Sequence[Pair]) -> dict[str, list[str]]:
    """Heuristic -> the items it looks at, which its precision and recall are over."""
    kinds = {kind: [pair.pair_id for pair in pairs if pair.kind == kind] for kind in ("miss_param", "miss_func")}
    every = [pair.pair_id for pair in pairs]
    only = dict.fromkeys(("withheld_not_in_gold", "text_differs"), kinds["miss_func"])
    only |= dict.fromkeys(("gold_mismatch", "several_empty_turns", "dialogue_differs"), every)
    found = {heuristic.__name__: only.get(heuristic.__name__, kinds["miss_param"]) for heuristic in PAIR_HEURISTICS}
    return found | {heuristic.__name__: list(dataset.items) for heuristic in ITEM_HEURISTICS}


@dataclass(frozen=True, slots=True)
class Quality:
    """One heuristic against the curated lists, over the items it looks at."""

    heuristic: str
    looked_at: int
    flagged: int
    bad_keys_found: int
    bad_keys_listed: int
    construction_errors_found: int
    construction_errors_listed: int

    @property
    def precision(self) -> float | None:
        """Share of flagged items that are on either list; None when nothing was flagged."""
        return (self.bad_keys_found + self.construction_errors_found) / self.flagged if self.flagged else None

    @property
    def recall(self) -> float | None:
        """Share of listed items that were flagged; None when none was listed."""
        listed = self.bad_keys_listed + self.construction_errors_listed
        return (self.bad_keys_found + self.construction_errors_found) / listed if listed else None


def quality(flags: Iterable[Flag], looked_at: Mapping[str, Sequence[str]], exclusions: Exclusions) -> list[Quality]:
    """Quality of each heuristic of `looked_at`."""
    flagged: dict[str, set[str]] = defaultdict(set)
    for flag in flags:
        flagged[flag.heuristic].add(flag.item_id)
    return [
        Quality(
            heuristic,
            len(items),
            len(flagged[heuristic]),
            len(flagged[heuristic] & exclusions.bad_keys.keys()),
            len(exclusions.bad_keys.keys() & set(items)),
            len(flagged[heuristic] & exclusions.construction_errors.keys()),
            len(exclusions.construction_errors.keys() & set(items)),
        )
        for heuristic, items in looked_at.items()
    ]
