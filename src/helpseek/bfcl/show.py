"""One pair as a person reads it: the twin turns side by side, and what a model did on each."""

from __future__ import annotations

import re
import textwrap

from helpseek.bfcl.decisions import Decision, PairSides, Rules, Side, decide
from helpseek.bfcl.index import Index
from helpseek.bfcl.pairs import CERTIFIED, Pair
from helpseek.errors import UserError, nearest

COLUMN = 56
SHORT = {"P": "miss_param", "F": "miss_func"}


def pair_named(name: str, index: Index) -> Pair:
    """The pair `multi_turn_miss_param_7`, also as `miss_param_7` or `P7`. Raises `UserError` for any other name."""
    letter = re.fullmatch(r"([PFpf])(\d+)", name)
    full = f"{SHORT[letter.group(1).upper()]}_{letter.group(2)}" if letter else name
    full = full if full.startswith("multi_turn_") else f"multi_turn_{full}"
    pairs = {pair.pair_id: pair for pair in index.pairs}
    if full not in pairs:
        hint = nearest(full, pairs) or "; expected for example miss_param_7, P7 or F7"
        raise UserError(f"{name}: no such pair{hint}")
    return pairs[full]


def pair_text(sides: PairSides, index: Index, rules: Rules) -> str:
    """The two anchor turns beside each other, then the calls and the verdict of each side."""
    pair = sides.pair
    status = "certified" if pair.within(CERTIFIED) else f"not certified: {', '.join(set(CERTIFIED) & set(pair.failed))}"
    head = [f"{pair.pair_id} and {pair.base_id}, turn {pair.anchor} (from 0); {status}"]
    if pair.withheld:
        head.append(f"withheld on this turn: {', '.join(pair.withheld)}")
    if pair.independent:
        head.append(f"asked for beside it: {', '.join(pair.independent)}")
    head.append(f"gold on the complete turn: {'; '.join(pair.gold)}")
    left = _side("COMPLETE", pair.base_text, sides.base, decide(sides.base, pair, index, rules), right=True)
    right = _side("INCOMPLETE", pair.miss_text, sides.miss, decide(sides.miss, pair, index, rules), right=False)
    return "\n".join([*head, "", *_beside(left, right)])


def _side(title: str, request: str, side: Side, decision: Decision, *, right: bool) -> list[str]:
    """`right`: whether acting is the right thing to do on this side."""
    verdict = "open" if decision.acted is None else "acted" if decision.acted else "held back"
    mark = "" if decision.acted is None else " (right)" if decision.acted is right else " (wrong)"
    calls = [f"step {found.step}: {found.attempt.call.text} [{found.kind}]" for found in side.found]
    parts = [title, "", f"user: {request or '(nothing)'}", "", *(calls or ["no call"])]
    if side.text:
        parts += ["", f"model: {side.text}"]
    parts += ["", f"{verdict}{mark}: {decision.reason}"]
    return [line for part in parts for line in (textwrap.wrap(part, COLUMN) or [""])]


def _beside(left: list[str], right: list[str]) -> list[str]:
    height = max(len(left), len(right))
    rows = zip(left + [""] * (height - len(left)), right + [""] * (height - len(right)), strict=True)
    return [f"{a.ljust(COLUMN)}  | {b}".rstrip() for a, b in rows]
