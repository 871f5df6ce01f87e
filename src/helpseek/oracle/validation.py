"""Judge the judge on labelled questions (HiL-Bench Appendix D), and extend registries it fails on.

Labelled questions are the registry's own trigger questions, each left out of the registry while it is judged, human
labels from a CSV, and negatives: questions of other tasks, and broad questions that isolate no gap. A human-labelled
question that the judge misses on a task under the recall floor is added to that task's trigger questions, and the task
is judged again. Judging an added question is then trivial, so every round's rows are kept apart by `round` and the
figures of round 0 are the ones to quote.
"""

from __future__ import annotations

import csv
import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from helpseek.errors import UserError, nearest
from helpseek.oracle.verdict import Judge
from helpseek.tasks.task import Blocker, Registry, Task

Kind = Literal["positive", "other_task", "broad", "human"]

BROAD_QUESTIONS = (
    "Can you tell me more about the task?",
    "What are the requirements?",
    "Is there anything unclear that I should know about?",
    "How should I solve this?",
    "Do you have any other details for me?",
)
LABEL_COLUMNS = ("task_id", "question", "blocker_id")


@dataclass(frozen=True, slots=True)
class LabelledQuestion:
    """A question to a task's oracle with the blocker it should match; None: no blocker."""

    task: Task
    question: str
    label: str | None
    kind: Kind


@dataclass(frozen=True, slots=True)
class Addition:
    """A missed labelled question that becomes a trigger question."""

    task_id: str
    blocker_id: str
    question: str


def labelled_questions(
    tasks: Sequence[Task], seed: int, human: Sequence[LabelledQuestion] = ()
) -> list[LabelledQuestion]:
    """Positives and as many cross-task negatives, one broad question a task, and the human labels."""
    rng = random.Random(f"{seed}/validation")
    labelled: list[LabelledQuestion] = []
    for task in tasks:
        foreign = _foreign_questions(task, tasks)
        for blocker in task.registry:
            for question in blocker.trigger_questions:
                labelled.append(LabelledQuestion(task, question, blocker.blocker_id, "positive"))
                if foreign:
                    negative = rng.choice(rng.choice(rng.choice(foreign)))
                    labelled.append(LabelledQuestion(task, negative, None, "other_task"))
        labelled.append(LabelledQuestion(task, rng.choice(BROAD_QUESTIONS), None, "broad"))
    return [*labelled, *human]


def _foreign_questions(task: Task, tasks: Sequence[Task]) -> list[list[tuple[str, ...]]]:
    """Trigger questions of other tasks of the domain, by task and blocker.

    A blocker that shares a question with `task` is left out: generated tasks share terms, and it would be no negative.
    """
    own = {question for blocker in task.registry for question in blocker.trigger_questions}
    foreign = [
        [b.trigger_questions for b in other.registry if b.trigger_questions and own.isdisjoint(b.trigger_questions)]
        for other in tasks
        if other.domain == task.domain and other is not task
    ]
    return [questions for questions in foreign if questions]


def validate(judge: Judge, labelled: Iterable[LabelledQuestion], round_number: int = 0) -> Iterator[dict[str, Any]]:
    """Rows of the `validation` table: the judge's verdict on each question."""
    for item in labelled:
        match = judge.match(item.question, _without(item.task.registry, item), item.task.domain)
        yield {
            "round": round_number,
            "domain": item.task.domain,
            "task_id": item.task.task_id,
            "question": item.question,
            "label": item.label,
            "verdict": match.blocker_id,
            "score": match.score,
            "kind": item.kind,
        }


def expand(
    judge: Judge,
    labelled: Sequence[LabelledQuestion],
    first: Sequence[Mapping[str, Any]],
    *,
    recall_floor: float,
    recall_target: float,
    max_rounds: int,
) -> tuple[list[dict[str, Any]], list[Addition]]:
    """The paper's loop over tasks under `recall_floor`: add missed human-labelled questions, judge again.

    Returns the rows of every later round and all additions. A task still under `recall_target` at the end shows in
    `recall_by_task` of the last round.
    """
    rows: list[dict[str, Any]] = []
    additions: list[Addition] = []
    current = [dict(row) for row in first]
    for number in range(1, max_rounds + 1):
        bar = recall_floor if number == 1 else recall_target
        weak = {task_id for task_id, recall in recall_by_task(current).items() if recall < bar}
        human = [row for row in current if row["task_id"] in weak and row["kind"] == "human"]
        # A question without a label that got a blocker is wrong too, but there is no blocker to add it to.
        missed = [row for row in human if row["label"] is not None and _missed(row)]
        new = [Addition(row["task_id"], row["label"], row["question"]) for row in missed]
        if not new:
            break
        additions += new
        again = [item for item in labelled if item.task.task_id in weak]
        current = list(validate(judge, _extended(again, additions), number))
        rows += current
    return rows, additions


def recall_by_task(rows: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """Share of questions with a label that got it, by task."""
    hits: defaultdict[str, list[bool]] = defaultdict(list)
    for row in rows:
        if row["label"] is not None:
            hits[row["task_id"]].append(not _missed(row))
    return {task_id: sum(found) / len(found) for task_id, found in hits.items()}


def with_additions(tasks: Sequence[Task], additions: Iterable[Addition]) -> list[Task]:
    """`tasks` with each addition among its blocker's trigger questions."""
    added: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for addition in additions:
        added[addition.task_id, addition.blocker_id].append(addition.question)
    return [_with_questions(task, added) if any(key[0] == task.task_id for key in added) else task for task in tasks]


def read_human_labels(path: Path, tasks: Sequence[Task]) -> list[LabelledQuestion]:
    """Human labels from a CSV with the columns task_id, question, blocker_id (empty: no blocker).

    Raises `UserError` naming the row when a column is missing or an id is unknown.
    """
    by_id = {task.task_id: task for task in tasks}
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.DictReader(file)
            missing = [column for column in LABEL_COLUMNS if column not in (reader.fieldnames or ())]
            if missing:
                raise UserError(f"{path}: column `{missing[0]}` is missing; expected {', '.join(LABEL_COLUMNS)}")
            return [_human_label(path, number, row, by_id) for number, row in enumerate(reader, start=2)]
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise UserError(f"{path}: not UTF-8 text") from None


def _human_label(path: Path, line: int, row: Mapping[str, str | None], by_id: Mapping[str, Task]) -> LabelledQuestion:
    task_id, question = (row["task_id"] or "").strip(), (row["question"] or "").strip()
    label = (row["blocker_id"] or "").strip() or None
    if task_id not in by_id:
        raise UserError(f"{path} line {line}: unknown task `{task_id}`{nearest(task_id, by_id)}")
    if not question:
        raise UserError(f"{path} line {line}: the question is empty")
    registry = by_id[task_id].registry
    if label is not None and registry.get(label) is None:
        ids = [blocker.blocker_id for blocker in registry]
        raise UserError(f"{path} line {line}: `{label}` is no blocker of `{task_id}`{nearest(label, ids)}")
    return LabelledQuestion(by_id[task_id], question, label, "human")


def _missed(row: Mapping[str, Any]) -> bool:
    return bool(row["verdict"] != row["label"])


def _without(registry: Registry, item: LabelledQuestion) -> Registry:
    """The registry as the judge may see it: a positive's own question is left out."""
    if item.kind != "positive":
        return registry
    return Registry(
        blockers=tuple(
            _replace_questions(b, tuple(q for q in b.trigger_questions if q != item.question)) for b in registry
        )
    )


def _extended(labelled: Sequence[LabelledQuestion], additions: Sequence[Addition]) -> Iterator[LabelledQuestion]:
    tasks = {item.task.task_id: item.task for item in labelled}
    extended = {task.task_id: task for task in with_additions(list(tasks.values()), additions)}
    for item in labelled:
        yield LabelledQuestion(extended[item.task.task_id], item.question, item.label, item.kind)


def _with_questions(task: Task, added: Mapping[tuple[str, str], list[str]]) -> Task:
    blockers = []
    for blocker in task.registry:
        new = added.get((task.task_id, blocker.blocker_id), [])
        blockers.append(_replace_questions(blocker, tuple(dict.fromkeys([*blocker.trigger_questions, *new]))))
    return task.model_copy(update={"registry": Registry(blockers=tuple(blockers))})


def _replace_questions(blocker: Blocker, questions: tuple[str, ...]) -> Blocker:
    return blocker.model_copy(update={"trigger_questions": questions})
