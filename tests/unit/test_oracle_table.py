"""Precision and recall of a judge on hand-counted verdicts."""

import pandas as pd
import pytest

from helpseek.report.oracle_table import oracle_by_task, oracle_validation


def row(task_id, label, verdict, number=0, kind="positive"):
    return {"domain": "sql", "round": number, "task_id": task_id, "label": label, "verdict": verdict, "kind": kind}


ROWS = pd.DataFrame(
    [
        *[row("a", "x", "x")] * 6,
        *[row("a", "x", "y")] * 2,
        *[row("a", "x", None)] * 2,
        *[row("a", None, "x", kind="broad")] * 2,
        *[row("b", "x", "x")] * 4,
        *[row("b", "x", None)] * 4,
        *[row("b", "x", "x", number=1)] * 7,
        row("b", "x", None, number=1),
    ]
)


def test_overall_and_by_kind():
    table = oracle_validation(ROWS, 0.95).set_index(["round", "questions"])
    first = table.loc[(0, "all")]
    assert (first.n_questions, first.n_matched, first.n_labelled) == (20, 14, 18)
    assert first.precision == pytest.approx(10 / 14)
    assert first.recall == pytest.approx(10 / 18)
    assert first.recall_low < first.recall < first.recall_high
    assert table.loc[(0, "broad")].precision == 0
    assert pd.isna(table.loc[(0, "broad")].recall)
    assert table.loc[(1, "all")].recall == pytest.approx(7 / 8)


def test_a_task_counts_by_its_last_round():
    table = oracle_by_task(ROWS, 0.95, recall_target=0.85).set_index("task_id")
    assert table.loc["a", "recall"] == pytest.approx(0.6)
    assert table.loc["b", "recall"] == pytest.approx(7 / 8)
    assert list(table.flagged) == [True, False]
    assert list(table.rounds) == [1, 2]
