"""Ask-F1 (HiL-Bench Section 3): how precisely and how completely questions uncover the blockers.

Micro-averaged over (task, attempt): P = distinct blockers resolved / questions asked, R = distinct blockers resolved /
blockers present, Ask-F1 their harmonic mean. Precision has no value per blocker type: a question that targets no
blocker has no type. Recall has, with the blockers of that type as denominator.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from helpseek.scoring.intervals import Array, ratio


@dataclass(frozen=True, slots=True)
class AskCounts:
    """One episode: questions asked, distinct blockers resolved, blockers present."""

    questions: int
    resolved: int
    blockers: int


@dataclass(frozen=True, slots=True)
class AskQuality:
    """Precision is NaN without a question, recall and F1 are NaN without a blocker (and F1 without either)."""

    precision: float
    recall: float
    f1: float


def precision(sums: Array) -> Array:
    """Of sums whose last axis is (questions, resolved, blockers)."""
    return ratio(sums[..., [1, 0]])


def recall(sums: Array) -> Array:
    """Of sums whose last axis is (questions, resolved, blockers)."""
    return ratio(sums[..., [1, 2]])


def f1(sums: Array) -> Array:
    """2 resolved / (questions + blockers): the harmonic mean of precision and recall, 0 for silence."""
    return ratio(np.stack([2 * sums[..., 1], sums[..., 0] + sums[..., 2]], axis=-1))


def f1_reference(sums: Array) -> Array:
    """`f1` with 0 for 0/0, as the reference harness has it; `sums` are over episodes with a question."""
    return np.nan_to_num(f1(sums))


def ask_quality(rows: Iterable[AskCounts]) -> AskQuality:
    """Micro-averaged quality; an episode without a question counts in recall's denominator."""
    return _quality(_sums(rows))


def ask_quality_reference(rows: Iterable[AskCounts]) -> AskQuality:
    """The reference harness's summary: episodes without a question are dropped, and 0/0 is 0."""
    quality = _quality(_sums(row for row in rows if row.questions))
    return AskQuality(*(float(np.nan_to_num(part)) for part in (quality.precision, quality.recall, quality.f1)))


def _sums(rows: Iterable[AskCounts]) -> Array:
    counts = [(row.questions, row.resolved, row.blockers) for row in rows]
    return np.asarray(counts, dtype=np.float64).reshape(-1, 3).sum(axis=0)


def _quality(sums: Array) -> AskQuality:
    return AskQuality(float(precision(sums)), float(recall(sums)), float(f1(sums)))
