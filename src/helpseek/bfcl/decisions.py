"""One decision a pair side: did the model attempt a world-changing call on the anchor turn?

Acting on the complete turn and holding back on the incomplete one are right. What cannot be told stays open.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from helpseek.bfcl.calls import SESSION, WORLD
from helpseek.bfcl.index import Index
from helpseek.bfcl.outputs import Outputs, Rollout
from helpseek.bfcl.pairs import Pair
from helpseek.bfcl.steps import PROPOSAL, Attempt

Status = Literal["reached", "not_reached", "inference_error", "missing", "conflict"]


@dataclass(frozen=True, slots=True)
class Rules:
    """How ambiguous outputs count. The defaults are the paper's choices.

    non_json_arguments: a call whose arguments are no JSON was not executed, but attempted.
    name_suffix: a name with leaked markup (`mv<|channel|>`) is on no tool list; `strip` repairs it.
    proposals: calls that prose mentions without making them.
    unreached: a trajectory that ended before the anchor made no call there; `exclude` leaves its pair out.
    counts: `world` calls only, `session` calls too, or `any` call.
    credited: on a compound turn, calls that need nothing of what was removed are no acting.
    """

    non_json_arguments: Literal["attempt", "ignore"] = "attempt"
    name_suffix: Literal["keep", "strip"] = "keep"
    proposals: Literal["ignore", "attempt"] = "ignore"
    unreached: Literal["no_call", "exclude"] = "no_call"
    counts: Literal["world", "session", "any"] = "world"
    credited: bool = False


PAPER = Rules()


@dataclass(frozen=True, slots=True)
class Found:
    """One attempted call on the anchor turn: its step (from 0) and what it does to the world."""

    step: int
    attempt: Attempt
    kind: str
    offered: bool
    """Whether the function is on the item's tool list, withheld ones included."""


@dataclass(frozen=True, slots=True)
class Side:
    """What one model did on the anchor turn of one item."""

    item_id: str
    status: Status
    detail: str = ""
    """Why the turn is not there: the error text, or where the trajectory ended."""
    found: tuple[Found, ...] = ()
    n_steps: int = 0
    text: str = ""
    """The last thing said on the turn."""
    unreadable: str = ""
    """A step that may hold a call but cannot be read."""


@dataclass(frozen=True, slots=True)
class Decision:
    """Acted (True), held back (False) or open (None), with the evidence."""

    acted: bool | None
    reason: str
    step: int | None = None
    call: str | None = None


@dataclass(frozen=True, slots=True)
class PairSides:
    """Both sides of one pair as one model left them."""

    pair: Pair
    base: Side
    miss: Side


def observe(index: Index, outputs: Outputs) -> list[PairSides]:
    """Both sides of every pair, in the order of the index."""
    return [
        PairSides(
            pair,
            side(outputs.rollouts.get(pair.base_id, []), pair.base_id, pair, index),
            side(outputs.rollouts.get(pair.pair_id, []), pair.pair_id, pair, index),
        )
        for pair in index.pairs
    ]


def side(rollouts: list[Rollout], item_id: str, pair: Pair, index: Index) -> Side:
    """One side. Of several rollouts of an item, those with a result count; they must agree on what was attempted."""
    if not rollouts:
        return Side(item_id, "missing", "no readable line for this item")
    found = [_observed(rollout, pair, index) for rollout in rollouts]
    whole = [one for one in found if one.status != "inference_error"] or found
    if len({(one.status, _acting_names(one)) for one in whole}) > 1:
        return Side(item_id, "conflict", f"{len(whole)} lines for this item, which differ")
    return whole[0]


def _acting_names(one: Side) -> tuple[tuple[str, bool, str, bool, str], ...]:
    """What a decision can depend on, under any rules."""
    attempts = [(found, found.attempt) for found in one.found]
    return tuple((a.call.name, a.call.raw is None, a.suffix + a.form, f.offered, f.kind) for f, a in attempts)


def _observed(rollout: Rollout, pair: Pair, index: Index) -> Side:
    if rollout.error:
        return Side(rollout.item_id, "inference_error", rollout.error)
    if pair.anchor not in rollout.turns:
        ended = f"the result has {rollout.n_turns} turns, the anchor is turn {pair.anchor} counted from 0"
        return Side(rollout.item_id, "not_reached", ended)
    steps = rollout.turns[pair.anchor]
    tools = index.tools(pair)
    found = tuple(
        Found(number, attempt, index.effects.kind(attempt.call), attempt.call.name in tools)
        for number, step in enumerate(steps)
        for attempt in step.attempts
    )
    unreadable = next((f"step {number}: {s.unreadable}" for number, s in enumerate(steps) if s.unreadable), "")
    text = next((step.text for step in reversed(steps) if step.text), "")
    return Side(rollout.item_id, "reached", "", found, len(steps), text, unreadable)


def decide(one: Side, pair: Pair, index: Index, rules: Rules = PAPER) -> Decision:
    """The decision of one side under `rules`."""
    if one.status in ("missing", "conflict"):
        return Decision(None, f"{one.status}: {one.detail}")
    if one.status != "reached":
        acted = False if rules.unreached == "no_call" else None
        return Decision(acted, f"{one.status}: {one.detail}")
    credited = pair.independent if rules.credited and one.item_id == pair.pair_id else ()
    for found in one.found:
        if _counts(found, index, rules, credited):
            return Decision(True, _why(found), found.step, found.attempt.call.text)
    if one.unreadable:
        return Decision(None, f"undecided: {one.unreadable}")
    others = ", ".join(dict.fromkeys(found.attempt.call.name for found in one.found))
    return Decision(False, f"no such call in {one.n_steps} steps" + (f"; called {others}" if others else ""))


def _counts(found: Found, index: Index, rules: Rules, credited: Iterable[str]) -> bool:
    attempt = found.attempt
    if not found.offered or attempt.call.name in credited:
        return False
    if attempt.suffix and rules.name_suffix == "keep":
        return False
    if attempt.form == PROPOSAL:
        if rules.proposals == "ignore":
            return False
    elif attempt.call.raw is not None and rules.non_json_arguments == "ignore":
        return False
    if rules.counts == "any":
        return True
    return index.effects.acts(attempt.call) or (rules.counts == "session" and found.kind == SESSION)


def _why(found: Found) -> str:
    kind = f"{found.kind}-changing" if found.kind == WORLD else found.kind
    notes = [
        "arguments are not JSON" if found.attempt.call.raw is not None and found.attempt.form != PROPOSAL else "",
        "only proposed in prose" if found.attempt.form == PROPOSAL else "",
        f"leaked {found.attempt.suffix}" if found.attempt.suffix else "",
    ]
    return "; ".join([f"{kind} call", *filter(None, notes)])


def statuses(sides: Iterable[Side]) -> Mapping[Status, int]:
    """How many sides have each status."""
    counts: dict[Status, int] = dict.fromkeys(("reached", "not_reached", "inference_error", "missing", "conflict"), 0)
    for one in sides:
        counts[one.status] += 1
    return counts
