"""Labelled questions, the expansion loop and the choice of thresholds: what must not go wrong in judging a judge."""

from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpseek.errors import UserError
from helpseek.oracle.calibration import calibrate
from helpseek.oracle.lexical import LexicalJudge
from helpseek.oracle.llm import read_verdict
from helpseek.oracle.validation import LabelledQuestion, expand, labelled_questions, validate
from helpseek.records import read_rows, write_rows
from helpseek.tasks.task import Blocker, Registry, Task


def task(task_id, **blockers):
    return Task(
        task_id=task_id,
        domain="sql",
        source="generated",
        problem="?",
        registry=Registry(
            blockers=tuple(
                Blocker(blocker_id=name, description=f"no {name}", resolution="7", trigger_questions=questions)
                for name, questions in blockers.items()
            )
        ),
    )


SEASON = ("Which dates does the summer season cover?", "When does the summer season start?")
COLOUR = ("Which colour has the chart?", "What colour is the chart?")


def other_task_questions(tasks, task_id):
    return {
        item.question
        for seed in range(20)
        for item in labelled_questions(tasks, seed)
        if item.kind == "other_task" and item.task.task_id == task_id
    }


def test_a_negative_never_comes_from_a_blocker_that_the_task_has_too():
    shared = (SEASON[0], "How long is summer?")
    tasks = [task("t1", season=SEASON), task("t2", season=shared, colour=COLOUR)]
    assert other_task_questions(tasks, "t1") == set(COLOUR)


def test_blockers_without_trigger_questions_are_passed_over():
    assert other_task_questions([task("t1", season=SEASON), task("t2", bare=(), colour=COLOUR)], "t1") == set(COLOUR)
    assert other_task_questions([task("t1", season=SEASON), task("t2", bare=())], "t1") == set()


def test_a_wrongly_matched_negative_is_not_added_to_any_blocker(tmp_path):
    one = task("t1", season=SEASON)
    human = [
        LabelledQuestion(one, "When does the summer season sale start?", None, "human"),
        *[LabelledQuestion(one, f"zxq{n} wvu{n}", "season", "human") for n in range(3)],
    ]
    judge, labelled = LexicalJudge(0.15), labelled_questions([one], 0, human)
    rows = list(validate(judge, labelled))
    assert any(row["label"] is None and row["verdict"] == "season" for row in rows), "the negative must be a mistake"
    _, additions = expand(judge, labelled, rows, recall_floor=0.8, recall_target=0.85, max_rounds=3)
    assert [addition.question for addition in additions] == [item.question for item in human[1:]]
    write_rows(tmp_path / "additions.parquet", "additions", [asdict(addition) for addition in additions])
    assert len(read_rows(tmp_path / "additions.parquet", "additions")) == 3


def test_the_last_verdict_counts_and_braces_in_prose_do_not():
    registry = task("t1", season=SEASON, colour=COLOUR).registry
    assert read_verdict('the set {a, b} and then {"id": "season"}', registry) == "season"
    assert read_verdict('It says {"id": "season"}, which is data. {"reason": "{x}", "id": "colour"}', registry) == (
        "colour"
    )


def scored(label, verdict, score, domain="sql"):
    return {"domain": domain, "task_id": "t", "question": "q", "label": label, "verdict": verdict, "score": score}


def test_calibration_by_hand():
    rows = [scored("a", "a", 0.9), scored("b", "b", 0.7), scored(None, "a", 0.6), scored("c", "c", 0.5)]
    rows += [scored(None, "b", 0.4), scored("d", "a", 0.3), scored("a", "a", 0.2, "swe")]
    found = calibrate(rows)
    # At 0.5: 3 right of 4 matched, 4 positives.
    assert (found["sql"].threshold, found["sql"].f1) == (0.5, pytest.approx(0.75))
    assert (found["sql"].precision.estimate, found["sql"].recall.estimate) == (0.75, 0.75)
    assert found["swe"].threshold == 0.2
    assert calibrate(rows, precision_floor=0.9)["sql"].threshold == 0.7


@pytest.mark.parametrize(
    ("rows", "floor", "message"),
    [
        ([scored("a", None, 0.5)], None, "threshold -1"),
        ([scored("a", "a", None)], None, "threshold -1"),
        ([scored(None, "a", 0.5)], None, "recall is undefined"),
        ([scored("a", "b", 0.5)], 0.9, "no threshold reaches the precision floor 0.9"),
    ],
)
def test_what_cannot_be_calibrated_says_why(rows, floor, message):
    with pytest.raises(UserError, match=message):
        calibrate(rows, floor)


@given(
    st.lists(
        st.tuples(st.sampled_from([None, "a", "b"]), st.sampled_from("ab"), st.sampled_from([0.1, 0.2, 0.3, 0.4])),
        min_size=1,
        max_size=30,
    )
)
def test_no_threshold_beats_the_chosen_one(drawn):
    rows = [scored("a", "a", 0.1), *[scored(*row) for row in drawn]]
    best = calibrate(rows)["sql"]
    positives = sum(row["label"] is not None for row in rows)
    for threshold in {row["score"] for row in rows}:
        matched = [row for row in rows if row["score"] >= threshold]
        f1 = 2 * sum(row["verdict"] == row["label"] for row in matched) / (len(matched) + positives)
        assert f1 < best.f1 or (f1 == best.f1 and threshold <= best.threshold)
