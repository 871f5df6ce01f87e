"""Scores as text for a terminal."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from helpseek.bfcl.calls import READ, SESSION, WORLD
from helpseek.bfcl.index import Index
from helpseek.bfcl.pairs import CERTIFIED, DEFINITIONS, MISS_KINDS, dropped
from helpseek.bfcl.scorecard import Scorecard

if TYPE_CHECKING:
    from helpseek.bfcl.audit import Flag, Quality

# Flagged items of a heuristic are listed up to this many; more are a queue to review.
MAX_LISTED = 20
HEADER = ("model", "act", "hold", "decision", "both", *MISS_KINDS, "n", "not reached", "errors", "open", "official")


def score_table(cards: Sequence[Scorecard]) -> str:
    """One row a model: rates in percent with intervals; what is missing beside them."""
    rows = [HEADER, *(_row(card) for card in cards)]
    lines = [aligned(rows)]
    if any(card.partial for card in cards):
        lines.append("* partial: too few pairs reach the scored turn; the rates describe what is there, not the model")
    lines += [f"{card.model}: {note}" for card in cards for note in card.notes]
    return "\n".join(lines)


def _row(card: Scorecard) -> tuple[str, ...]:
    covered = card.coverage
    open_sides = covered.n_pairs - card.score.n_scored
    official = (card.official_base, card.official_miss)
    return (
        card.model + (" *" if card.partial else ""),
        *(_rate(card, name) for name in ("act_rate", "hold_rate", "decision_accuracy", "both_rate")),
        *(percent(card.score.rates[f"decision_accuracy_{kind}"]) for kind in MISS_KINDS),
        str(card.score.n_scored) if not open_sides else f"{card.score.n_scored} of {covered.n_pairs}",
        f"{covered.unreached_base}/{covered.unreached_miss}",
        f"{covered.base['inference_error']}/{covered.miss['inference_error']}",
        str(open_sides),
        "/".join(percent(math.nan if value is None else value) for value in official),
    )


def _rate(card: Scorecard, name: str) -> str:
    interval = card.intervals.get(name)
    estimate = percent(card.score.rates[name])
    if interval is None or math.isnan(interval.low):
        return estimate
    return f"{estimate} [{percent(interval.low)}, {percent(interval.high)}]"


def sensitivity_table(cards: Sequence[Scorecard], index: Index) -> str:
    """Variants and options of each model: what each would change."""
    rows: list[tuple[str, ...]] = [("model", "reading", "n", "act", "hold", "decision", "sides changed", "meaning")]
    for card in cards:
        variants, sensitivities = card.readings(index)
        for variant, score in variants:
            rows.append((card.model, variant.name, *_short(score.n_scored, score.rates), "", variant.meaning))
        for option in sensitivities:
            short = _short(option.score.n_scored, option.score.rates)
            rows.append((card.model, f"{option.option}={option.value}", *short, str(option.changed), option.meaning))
    return aligned(rows)


def _short(n: int, rates: Mapping[str, float]) -> tuple[str, ...]:
    return (str(n), *(percent(rates[name]) for name in ("act_rate", "hold_rate", "decision_accuracy")))


def percent(value: float) -> str:
    """One decimal; a dash where undefined."""
    return "–" if math.isnan(value) else f"{100 * value:.1f}"


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Columns of text, the first line underlined."""
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]])


def filter_table(index: Index) -> str:
    """How the pairs come about: what each filter drops, and how many every definition keeps."""
    rows: list[tuple[str, ...]] = [("filter", *MISS_KINDS, "dropped", "left")]
    left = len(index.pairs)
    for name, pairs in dropped(index.pairs, CERTIFIED).items():
        left -= len(pairs)
        kinds = (str(sum(pair.kind == kind for pair in pairs)) for kind in MISS_KINDS)
        rows.append((name, *kinds, str(len(pairs)), str(left)))
    sets: list[tuple[str, ...]] = [("pairs", *MISS_KINDS, "all", "base twins")]
    for name, definition in DEFINITIONS.items():
        kept = [pair for pair in index.pairs if pair.within(definition)]
        kinds = (str(sum(pair.kind == kind for pair in kept)) for kind in MISS_KINDS)
        sets.append((name, *kinds, str(len(kept)), str(len({pair.base_id for pair in kept}))))
    kinds_of = index.effects.kinds.values()
    counts = ", ".join(f"{sum(kind == name for kind in kinds_of)} {name}" for name in (WORLD, SESSION, READ))
    return "\n".join([aligned(rows), "", aligned(sets), "", f"{len(index.effects.kinds)} functions: {counts}"])


def audit_table(flags: Sequence[Flag], qualities: Sequence[Quality]) -> str:
    """What each heuristic found against the curated lists, and the flagged items of the precise ones."""
    rows: list[tuple[str, ...]] = [
        ("heuristic", "looked at", "flagged", "bad keys", "construction", "precision", "recall")
    ]
    rows += [
        (
            one.heuristic,
            str(one.looked_at),
            str(one.flagged),
            f"{one.bad_keys_found} of {one.bad_keys_listed}",
            f"{one.construction_errors_found} of {one.construction_errors_listed}",
            percent(math.nan if one.precision is None else one.precision),
            percent(math.nan if one.recall is None else one.recall),
        )
        for one in qualities
    ]
    short = [one.heuristic for one in qualities if one.flagged <= MAX_LISTED]
    items = [(flag.item_id, flag.heuristic, flag.detail) for flag in flags if flag.heuristic in short]
    return "\n".join([aligned(rows), "", aligned([("item", "heuristic", "found"), *items])])
