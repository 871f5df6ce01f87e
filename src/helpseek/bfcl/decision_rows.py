"""Scorecards as Parquet rows: every decision with its evidence, and every other reading of the same outputs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from helpseek.bfcl.decisions import decide
from helpseek.bfcl.index import Index
from helpseek.bfcl.scorecard import Scorecard
from helpseek.bfcl.scores import Score
from helpseek.records import write_rows

MAX_REASON = 400


def write_decisions(cards: Iterable[Scorecard], index: Index, path: Path) -> None:
    """Write a `bfcl_decisions` table: one row a model and pair, all 400 pairs."""
    write_rows(path, "bfcl_decisions", [row for card in cards for row in decision_rows(card, index)])


def decision_rows(card: Scorecard, index: Index) -> Iterator[dict[str, Any]]:
    """Rows of one model, under the rules of its scorecard."""
    passed = card.official.passed if card.official else {}
    for both in card.observed:
        pair = both.pair
        row: dict[str, Any] = {
            "model": card.model,
            "pair_id": pair.pair_id,
            "base_id": pair.base_id,
            "kind": pair.kind,
            "anchor": pair.anchor,
            "failed_filters": list(pair.failed),
        }
        for name, side in (("base", both.base), ("miss", both.miss)):
            decision = decide(side, pair, index, card.options.rules)
            row |= {
                f"{name}_status": side.status,
                f"{name}_acted": decision.acted,
                f"{name}_step": decision.step,
                f"{name}_call": decision.call,
                f"{name}_reason": decision.reason[:MAX_REASON],
                f"{name}_passed": passed.get(side.item_id),
            }
        yield row


def reading_rows(card: Scorecard, index: Index) -> Iterator[dict[str, Any]]:
    """Rows of a `bfcl_readings` table of one model."""
    variants, sensitivities = card.readings(index)
    for variant, score in variants:
        yield _reading(card, variant.name, variant.meaning, score, None)
    for option in sensitivities:
        yield _reading(card, f"{option.option}={option.value}", option.meaning, option.score, option.changed)


def _reading(card: Scorecard, name: str, meaning: str, score: Score, changed: int | None) -> dict[str, Any]:
    rates = {
        rate: None if math.isnan(score.rates[rate]) else score.rates[rate]
        for rate in ("act_rate", "hold_rate", "decision_accuracy", "both_rate")
    }
    row = {"model": card.model, "reading": name, "meaning": meaning, "n_scored": score.n_scored}
    return row | rates | {"changed_sides": changed}
