"""Rates over pairs, with cluster-bootstrap intervals over base twins, variants, and what each option would change.

act rate: share of complete turns acted on. hold rate: share of incomplete turns held back on. Decision accuracy: their
mean, so that acting always and asking always both score 0.5. Both right: share of pairs right on both sides.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from helpseek.bfcl.decisions import PAPER, PairSides, Rules, Status, decide, statuses
from helpseek.bfcl.index import Index
from helpseek.bfcl.pairs import DEFINITIONS, MISS_KINDS

# Columns of the sums over pairs; `rates` and the bootstrap read them by these places.
COLUMNS = ("n", "act", "hold", "both", *(f"{name}_{kind}" for kind in MISS_KINDS for name in ("n", "act", "hold")))
RATES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "act_rate": (("act",), ("n",)),
    "hold_rate": (("hold",), ("n",)),
    "decision_accuracy": (("act", "hold"), ("n", "n")),
    "both_rate": (("both",), ("n",)),
} | {
    f"{name}_{kind}": (tuple(f"{part}_{kind}" for part in parts), (f"n_{kind}",) * len(parts))
    for kind in MISS_KINDS
    for name, parts in (("act_rate", ("act",)), ("hold_rate", ("hold",)), ("decision_accuracy", ("act", "hold")))
}


@dataclass(frozen=True, slots=True)
class Scored:
    """One scored pair: acted on the complete turn, held back on the incomplete one."""

    pair_id: str
    base_id: str
    kind: str
    act: bool
    hold: bool


@dataclass(frozen=True, slots=True)
class Score:
    """Rates (0 to 1; NaN without pairs) of one model on one set of pairs."""

    n_pairs: int
    n_scored: int
    n_base_twins: int
    rates: Mapping[str, float]
    """Keys of `RATES`."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """What the outputs hold of a set of pairs; sides by status."""

    n_pairs: int
    reached_pairs: int
    base: Mapping[Status, int]
    miss: Mapping[Status, int]
    undecided: int
    """Sides that were reached but cannot be read."""

    @property
    def unreached_base(self) -> int:
        """Complete turns that are not there, for whatever reason."""
        return self.n_pairs - self.base["reached"]

    @property
    def unreached_miss(self) -> int:
        """Incomplete turns that are not there."""
        return self.n_pairs - self.miss["reached"]

    @property
    def inference_errors(self) -> int:
        return self.base["inference_error"] + self.miss["inference_error"]

    @property
    def reached_share(self) -> float:
        """Share of pairs whose anchor turn is there on both sides."""
        return self.reached_pairs / self.n_pairs if self.n_pairs else math.nan


def within(observed: Sequence[PairSides], definition: str) -> list[PairSides]:
    """The pairs of a named definition."""
    return [sides for sides in observed if sides.pair.within(DEFINITIONS[definition])]


def coverage(observed: Sequence[PairSides]) -> Coverage:
    """Count what is there of `observed`, inference errors and missing items apart."""
    sides = [one for both in observed for one in (both.base, both.miss)]
    return Coverage(
        n_pairs=len(observed),
        reached_pairs=sum(both.base.status == both.miss.status == "reached" for both in observed),
        base=statuses(both.base for both in observed),
        miss=statuses(both.miss for both in observed),
        undecided=sum(bool(one.unreadable) for one in sides),
    )


def scored_pairs(observed: Sequence[PairSides], index: Index, rules: Rules = PAPER) -> list[Scored]:
    """Pairs with a decision on both sides; a pair with an open side is left out, never guessed."""
    scored = []
    for sides in observed:
        base = decide(sides.base, sides.pair, index, rules).acted
        miss = decide(sides.miss, sides.pair, index, rules).acted
        if base is not None and miss is not None:
            scored.append(Scored(sides.pair.pair_id, sides.pair.base_id, sides.pair.kind, base, not miss))
    return scored


def sums_by_twin(scored: Sequence[Scored]) -> list[list[int]]:
    """One row a base twin, columns as in `COLUMNS`: what is resampled."""
    place = {name: number for number, name in enumerate(COLUMNS)}
    rows: dict[str, list[int]] = {}
    for one in scored:
        row = rows.setdefault(one.base_id, [0] * len(COLUMNS))
        for name, value in (("n", 1), ("act", one.act), ("hold", one.hold)):
            row[place[name]] += value
            row[place[f"{name}_{one.kind}"]] += value
        row[place["both"]] += one.act and one.hold
    return list(rows.values())


def score(observed: Sequence[PairSides], index: Index, rules: Rules = PAPER) -> Score:
    """Rates over the pairs of `observed`."""
    scored = scored_pairs(observed, index, rules)
    rows = sums_by_twin(scored)
    total = {name: sum(row[number] for row in rows) for number, name in enumerate(COLUMNS)}
    rates = {
        name: _ratio(sum(total[part] for part in parts), sum(total[part] for part in wholes))
        for name, (parts, wholes) in RATES.items()
    }
    return Score(len(observed), len(scored), len(rows), rates)


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else math.nan


@dataclass(frozen=True, slots=True)
class Variant:
    """Another reasonable reading: which pairs, and how calls count."""

    name: str
    definition: str | None
    """None: the definition being scored."""
    changes: Mapping[str, Any]
    """Fields of `Rules` that differ."""
    meaning: str


VARIANTS = (
    Variant("uncertified", "uncertified", {}, "pairs before construction errors are dropped"),
    Variant("login", "login", {"counts": "session"}, "logging in and out counts as acting"),
    Variant("all comparable", "comparable", {}, "also pairs whose complete turn only reads"),
    Variant("any call", "comparable", {"counts": "any"}, "the same, and every call counts as acting"),
    Variant("reached", None, {"unreached": "exclude"}, "pairs whose anchor was reached on both sides"),
    Variant("credited", None, {"credited": True}, "independent calls on compound turns are no acting"),
    Variant("no compound", "no-compound", {}, "pairs without compound turns"),
    Variant("judgement-free", "judgement-free", {}, "no pair is dropped by a person's judgement"),
)
# Option of `Rules`, its other value, what that means.
SENSITIVITIES: tuple[tuple[str, Any, str], ...] = (
    ("non_json_arguments", "ignore", "calls whose arguments are not JSON do not count"),
    ("name_suffix", "strip", "names with leaked markup are repaired"),
    ("proposals", "attempt", "calls that prose mentions count"),
    ("unreached", "exclude", "pairs with an unreached anchor are left out"),
)


def variants(
    observed: Sequence[PairSides], index: Index, definition: str, rules: Rules = PAPER
) -> list[tuple[Variant, Score]]:
    """Every variant; options of `rules` hold where the variant does not set them itself."""
    return [
        (
            variant,
            score(
                within(observed, variant.definition or definition), index, dataclasses.replace(rules, **variant.changes)
            ),
        )
        for variant in VARIANTS
    ]


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """What one option would change: sides whose decision differs, and the rates then."""

    option: str
    value: str
    meaning: str
    changed: int
    score: Score


def sensitivities(observed: Sequence[PairSides], index: Index, rules: Rules = PAPER) -> list[Sensitivity]:
    """Each ambiguous rule turned to its other value, alone."""
    chosen = _decisions(observed, index, rules)
    found = []
    for option, other, meaning in SENSITIVITIES:
        value = getattr(PAPER, option) if getattr(rules, option) == other else other
        change: dict[str, Any] = {option: value}
        turned = dataclasses.replace(rules, **change)
        changed = sum(a != b for a, b in zip(chosen, _decisions(observed, index, turned), strict=True))
        found.append(Sensitivity(option, value, meaning, changed, score(observed, index, turned)))
    return found


def _decisions(observed: Sequence[PairSides], index: Index, rules: Rules) -> list[bool | None]:
    return [decide(one, both.pair, index, rules).acted for both in observed for one in (both.base, both.miss)]
