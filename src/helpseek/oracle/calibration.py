"""Choose a judge's threshold from labelled questions, so that thresholds in a config can be made again."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from helpseek.errors import UserError
from helpseek.scoring.intervals import Interval, wilson


@dataclass(frozen=True, slots=True)
class Calibration:
    """A threshold and what the judge reaches with it on the questions it was chosen on (so: optimistic)."""

    threshold: float
    precision: Interval
    recall: Interval
    f1: float


def calibrate(rows: Iterable[Mapping[str, Any]], precision_floor: float | None = None) -> dict[str, Calibration]:
    """The best threshold by domain, from `validation` rows of a judge that ran below every score (threshold -1).

    Best is the largest F1, among thresholds of at least `precision_floor` when given; ties go to the higher threshold.
    A match needs a score of at least the threshold. Raises `UserError` when a row has no score or no verdict, when a
    domain has no labelled positive, or when no threshold reaches the floor.
    """
    by_domain: defaultdict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        if row["score"] is None or row["verdict"] is None:
            raise UserError(
                f"validation row of task `{row['task_id']}`, question {row['question']!r}: calibration needs the "
                "judge's score and best blocker for every question; validate it with threshold -1 (an LLM judge has "
                "no threshold)"
            )
        by_domain[row["domain"]].append(row)
    return {domain: _best(domain, found, precision_floor) for domain, found in sorted(by_domain.items())}


def _best(domain: str, rows: Sequence[Mapping[str, Any]], floor: float | None) -> Calibration:
    positives = sum(row["label"] is not None for row in rows)
    if not positives:
        raise UserError(f"domain `{domain}`: no labelled question has a blocker, so recall is undefined")
    candidates = [
        calibration for calibration in _at_each_score(rows, positives) if calibration.precision.estimate >= (floor or 0)
    ]
    if not candidates:
        raise UserError(f"domain `{domain}`: no threshold reaches the precision floor {floor}")
    return max(candidates, key=lambda calibration: (calibration.f1, calibration.threshold))


def _at_each_score(rows: Sequence[Mapping[str, Any]], positives: int) -> list[Calibration]:
    """One calibration per distinct score, with that score as the threshold."""
    calibrations, matched, right = [], 0, 0
    ordered = sorted(rows, key=lambda row: -row["score"])
    for score, group in itertools.groupby(ordered, key=lambda row: row["score"]):
        for row in group:
            matched += 1
            right += row["verdict"] == row["label"]
        f1 = 2 * right / (matched + positives)
        calibrations.append(Calibration(score, wilson(right, matched), wilson(right, positives), f1))
    return calibrations
