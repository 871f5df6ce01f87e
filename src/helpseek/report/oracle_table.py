"""How reliable the oracle's judge is (HiL-Bench Appendix D): precision and recall on labelled questions."""

from __future__ import annotations

from typing import Any

import pandas as pd

from helpseek.report.episode_groups import estimate, estimate_columns
from helpseek.scoring.intervals import wilson

HEAD = ["domain", "round", "questions"]
COUNTS = ["n_questions", "n_matched", "n_labelled"]


def oracle_validation(validation: pd.DataFrame, confidence: float) -> pd.DataFrame:
    """Per domain, round and kind of question (`all` for every kind): precision over matched, recall over labelled ones.

    Round 0 judges registries as published; later rounds judge only tasks that got questions added.
    """
    rows = []
    for (domain, number), frame in validation.groupby(["domain", "round"], sort=True):
        rows.append({"domain": domain, "round": number, "questions": "all"} | _quality(frame, confidence))
        for kind, part in frame.groupby("kind", sort=True):
            rows.append({"domain": domain, "round": number, "questions": kind} | _quality(part, confidence))
    return pd.DataFrame(rows, columns=[*HEAD, *COUNTS, *estimate_columns("precision", "recall")])


def oracle_by_task(validation: pd.DataFrame, confidence: float, recall_target: float) -> pd.DataFrame:
    """The same per task in its last round, with those `flagged` whose recall stayed under `recall_target`."""
    rows = []
    for (domain, task_id), frame in validation.groupby(["domain", "task_id"], sort=True):
        last = frame[frame["round"] == frame["round"].max()]
        quality = _quality(last, confidence)
        head = {"domain": domain, "task_id": task_id, "rounds": int(frame["round"].max()) + 1}
        rows.append(head | quality | {"flagged": bool(quality["recall"] < recall_target)})
    columns = ["domain", "task_id", "rounds", *COUNTS, *estimate_columns("precision", "recall"), "flagged"]
    return pd.DataFrame(rows, columns=columns)


def _quality(frame: pd.DataFrame, confidence: float) -> dict[str, Any]:
    matched, labelled = frame["verdict"].notna(), frame["label"].notna()
    right = int((matched & (frame["verdict"] == frame["label"])).sum())
    counts = {"n_questions": len(frame), "n_matched": int(matched.sum()), "n_labelled": int(labelled.sum())}
    precision = wilson(right, counts["n_matched"], confidence)
    recall = wilson(right, counts["n_labelled"], confidence)
    return counts | estimate("precision", precision) | estimate("recall", recall)
