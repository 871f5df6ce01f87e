"""Everything known about one model's decisions: scores with intervals, coverage, variants, the official score."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from helpseek.bfcl.decisions import PAPER, PairSides, Rules, observe
from helpseek.bfcl.index import Index
from helpseek.bfcl.official import OfficialScores, find_scores, read_scores
from helpseek.bfcl.output_files import SCORED_CATEGORIES, ModelFiles, find_models
from helpseek.bfcl.outputs import Outputs, read_outputs
from helpseek.bfcl.scores import (
    Coverage,
    Score,
    Scored,
    Sensitivity,
    Variant,
    coverage,
    score,
    scored_pairs,
    sensitivities,
    variants,
    within,
)
from helpseek.errors import UserError

if TYPE_CHECKING:
    from helpseek.scoring.intervals import Interval, Resampling

# Below this share of pairs with both anchors reached, a rate says more about what is missing than about the model.
MIN_REACHED = 0.8


@dataclass(frozen=True, slots=True)
class Options:
    """How to score: which pairs, how outputs count, how intervals are made (None: no intervals)."""

    definition: str = "certified"
    rules: Rules = PAPER
    resampling: Resampling | None = None
    allow_partial: bool = False
    scores: Path | None = None
    """BFCL's score folder, when it is not beside the results."""


@dataclass(frozen=True, slots=True)
class Scorecard:
    """One model under one set of options."""

    files: ModelFiles
    options: Options
    observed: list[PairSides]
    """All pairs of the index, scored or not."""
    scored: list[Scored]
    score: Score
    coverage: Coverage
    intervals: Mapping[str, Interval]
    """Empty when none were asked for."""
    partial: bool
    """Too few anchors were reached for a rate to describe the model."""
    official: OfficialScores | None
    problems: Mapping[str, int]
    """Lines that gave no rollout, by kind."""
    notes: tuple[str, ...]

    @property
    def model(self) -> str:
        return self.files.model

    def readings(self, index: Index) -> tuple[list[tuple[Variant, Score]], list[Sensitivity]]:
        """The same outputs under other readings: every variant, and each ambiguous rule turned."""
        pairs = within(self.observed, self.options.definition)
        return (
            variants(self.observed, index, self.options.definition, self.options.rules),
            sensitivities(pairs, index, self.options.rules),
        )

    @property
    def official_base(self) -> float | None:
        """BFCL's own score of the scored pairs' base twins."""
        return self.official.share(one.base_id for one in self.scored) if self.official else None

    @property
    def official_miss(self) -> float | None:
        """BFCL's own score of the scored pairs' should-ask items."""
        return self.official.share(one.pair_id for one in self.scored) if self.official else None


def score_directories(directories: Iterable[Path], index: Index, options: Options) -> tuple[list[Scorecard], list[str]]:
    """Score every model under `directories`. One that cannot be scored gives a message and spoils no other."""
    cards: list[Scorecard] = []
    faults: list[str] = []
    for directory in directories:
        try:
            models = find_models(directory)
        except UserError as error:
            faults.append(str(error))
            continue
        for files in models:
            try:
                cards.append(score_model(files, index, options))
            except UserError as error:
                faults.append(str(error))
    return cards, faults


def score_model(files: ModelFiles, index: Index, options: Options) -> Scorecard:
    """Read and score the outputs of one model.

    Raises `UserError` when too few anchors were reached, unless `options.allow_partial`.
    """
    outputs = read_outputs(files, index.anchors(), index.parameters)
    observed = observe(index, outputs)
    pairs = within(observed, options.definition)
    covered = coverage(pairs)
    partial = not covered.reached_share >= MIN_REACHED
    if partial and not options.allow_partial:
        raise UserError(_refusal(files, covered, pairs))
    scored = scored_pairs(pairs, index, options.rules)
    intervals: Mapping[str, Interval] = {}
    if options.resampling is not None:
        # NumPy takes longer to import than the scoring itself.
        from helpseek.bfcl.resampling import intervals as bootstrap

        intervals = bootstrap(scored, options.resampling)
    official, note = _official(files, outputs, options.scores)
    return Scorecard(
        files=files,
        options=options,
        observed=observed,
        scored=scored,
        score=score(pairs, index, options.rules),
        coverage=covered,
        intervals=intervals,
        partial=partial,
        official=official,
        problems=Counter(problem.kind for problem in outputs.problems),
        notes=(*files.notes, *note, *_problem_notes(outputs)),
    )


def _refusal(files: ModelFiles, covered: Coverage, pairs: list[PairSides]) -> str:
    missing = [category for category in SCORED_CATEGORIES if category not in files.categories]
    sides = [one for both in pairs for one in (both.base, both.miss) if one.status != "reached"]
    counts = ", ".join(f"{n} {status}" for status, n in Counter(one.status for one in sides).most_common())
    reason = (
        f"no file for {', '.join(missing)}" if missing else f"for example {sides[0].item_id}: {sides[0].detail:.200}"
    )
    return (
        f"{files.folder}: only {covered.reached_pairs} of {covered.n_pairs} pairs reach the scored turn on both "
        f"sides, fewer than {MIN_REACHED:.0%} ({counts}; {reason}); rates would describe what is missing, not the "
        f"model. `--allow-partial` (`bfcl.allow_partial` in a config) scores what is there and marks it"
    )


def _official(
    files: ModelFiles, outputs: Outputs, scores: Path | None
) -> tuple[OfficialScores | None, tuple[str, ...]]:
    """The official scores, or a note when the files that are there do not fit the outputs."""
    folder = find_scores(files, scores)
    if folder is None:
        if scores is not None:
            raise UserError(f"{scores}: no BFCL score file of {files.model}; expected names like BFCL_v4_…_score.json")
        return None, ()
    items = {name: [i for i in outputs.rollouts if i.startswith(f"multi_turn_{name}_")] for name in SCORED_CATEGORIES}
    try:
        return read_scores(folder, items), ()
    except UserError as error:
        if scores is not None:
            raise
        return None, (f"official scores not used: {error}",)


def _problem_notes(outputs: Outputs) -> tuple[str, ...]:
    """The first of each kind of problem, with how many there are."""
    counts = Counter(problem.kind for problem in outputs.problems)
    firsts = {problem.kind: problem for problem in reversed(outputs.problems)}
    return tuple(
        f"{n} {kind.replace('_', ' ')}{'s' if n > 1 else ''}: first {firsts[kind].file.name} line {firsts[kind].line}: "
        f"{firsts[kind].detail}"
        for kind, n in counts.items()
    )


def as_json(card: Scorecard, index: Index | None = None) -> str:
    """One line: rates from 0 to 1, null where undefined; with `index`, other readings too."""
    covered = card.coverage
    content: dict[str, Any] = {
        "model": card.model,
        "directory": str(card.files.folder),
        "pairs": card.options.definition,
        "partial": card.partial,
        "n_pairs": covered.n_pairs,
        "n_scored": card.score.n_scored,
        "n_base_twins": card.score.n_base_twins,
        **_numbers(card.score.rates),
        "intervals": {name: _numbers({"low": i.low, "high": i.high}) for name, i in card.intervals.items()},
        "reached_pairs": covered.reached_pairs,
        "unreached_base": covered.unreached_base,
        "unreached_miss": covered.unreached_miss,
        "status_base": covered.base,
        "status_miss": covered.miss,
        "inference_errors": covered.inference_errors,
        "undecided": covered.undecided,
        "official_base": card.official_base,
        "official_miss": card.official_miss,
        "official_accuracy": card.official.accuracy if card.official else None,
        "problems": card.problems,
        "notes": card.notes,
    }
    if index is not None:
        found, turned = card.readings(index)
        content["variants"] = {v.name: {"n_scored": s.n_scored, **_numbers(s.rates)} for v, s in found}
        content["sensitivities"] = {
            f"{one.option}={one.value}": {"changed_sides": one.changed, **_numbers(one.score.rates)} for one in turned
        }
    return json.dumps(content, ensure_ascii=False)


def _numbers(values: Mapping[str, float]) -> dict[str, float | None]:
    """JSON has no NaN."""
    return {name: None if math.isnan(value) else round(value, 6) for name, value in values.items()}
