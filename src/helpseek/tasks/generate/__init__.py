"""Own SQL task families: seeded tasks with blockers over generated databases, each checked before it is kept."""

from __future__ import annotations

import random
from pathlib import Path

from helpseek.errors import UserError
from helpseek.progress import Progress
from helpseek.tasks.generate.blockers import KINDS, Gap
from helpseek.tasks.generate.databases import build_database
from helpseek.tasks.generate.notes import describe, distractors
from helpseek.tasks.generate.questions import families_for, make_question
from helpseek.tasks.generate.schemas import FAMILIES, Family, Schema, make_schema
from helpseek.tasks.generate.words import Split, names, terms
from helpseek.tasks.invariants import check_task, hard_failures, plain_runner
from helpseek.tasks.task import BlockerType, Registry, SqlSpec, Task, fill_template

MIN_BLOCKERS, MAX_BLOCKERS = 3, 5
MAX_TRIES = 200


def generate_tasks(
    folder: Path, *, n_train: int, n_held_out: int, seed: int, tasks_per_database: int
) -> tuple[list[Task], dict[str, Split]]:
    """Generate tasks and their databases (`folder/databases/*.sqlite`); returns the tasks and each one's split.

    Equal arguments give equal tasks and byte-equal databases; no two tasks have one problem. Database, table and column
    names and terms of held-out tasks occur in no training task, while their subjects do: both splits take the schema
    families in one order. Raises `UserError` when more databases are needed than there are names for.
    """
    tasks: list[Task] = []
    splits: dict[str, Split] = {}
    wanted: dict[Split, int] = {"train": n_train, "held_out": n_held_out}
    families = random.Random(f"{seed}/families").sample(FAMILIES, len(FAMILIES))
    problems: set[str] = set()
    with Progress("generate", sum(wanted.values()), unit="task") as progress:
        for split, count in wanted.items():
            available = names(split, random.Random(f"{seed}/{split}/names"))
            needed = -(-count // tasks_per_database)
            if needed > len(available):
                raise UserError(
                    f"{count} {split} tasks over databases of {tasks_per_database} need {needed} databases, and there "
                    f"are names for {len(available)}; raise `tasks_per_database`"
                )
            for number, name in enumerate(available[:needed]):
                size = min(tasks_per_database, count - sum(s == split for s in splits.values()))
                family = families[number % len(families)]
                made = _tasks_of_database(folder, name, family, split, size, seed, problems)
                tasks += made
                splits |= dict.fromkeys((task.task_id for task in made), split)
                progress.add(len(made), 0)
    return tasks, splits


def _tasks_of_database(
    folder: Path, name: str, family: Family, split: Split, count: int, seed: int, problems: set[str]
) -> list[Task]:
    """`count` tasks over a new database, none with a problem in `problems`, which grows by theirs."""
    rng = random.Random(f"{seed}/{split}/{name}")
    schema, database = make_schema(name, family, split, rng), folder / "databases" / f"{name}.sqlite"
    build_database(database, schema, rng)
    tasks: list[Task] = []
    with plain_runner() as run:
        for number in range(count):
            for _ in range(MAX_TRIES):
                task = _draw_task(f"{name}_{number}", schema, database, split, rng)
                if task.problem not in problems and not hard_failures(check_task(task, run)):
                    tasks.append(task)
                    problems.add(task.problem)
                    break
            else:
                raise AssertionError(f"no sound task in {MAX_TRIES} draws over {name}")
    return tasks


def _draw_task(task_id: str, schema: Schema, database: Path, split: Split, rng: random.Random) -> Task:
    gaps = _draw_gaps(schema, split, rng)
    question = make_question(schema, gaps, rng.choice(families_for(gaps)))
    notes = [*distractors(schema, rng), *(note for gap in gaps for note in gap.notes)]
    rng.shuffle(notes)
    blockers = tuple(gap.blocker for gap in gaps)
    right = {blocker.blocker_id: blocker.readings[0] for blocker in blockers}
    return Task(
        task_id=task_id,
        domain="sql",
        source="generated",
        problem=question.text,
        registry=Registry(blockers=blockers),
        sql=SqlSpec(
            database_name=schema.name,
            database=database,
            tables=describe(schema, {column: text for gap in gaps for column, text in gap.columns.items()}),
            business_info=tuple(notes),
            gold_sql=fill_template(question.template, right),
            gold_template=question.template,
            ordered=question.ordered,
            original_question=question.original,
        ),
    )


def _draw_gaps(schema: Schema, split: Split, rng: random.Random) -> list[Gap]:
    """One blocker of each type and up to two more, of different kinds, with a term of its own each."""
    kinds = [rng.choice(KINDS[kind]) for kind in BlockerType]
    others = [kind for group in KINDS.values() for kind in group if kind not in kinds]
    kinds += rng.sample(others, rng.randint(MIN_BLOCKERS, MAX_BLOCKERS) - len(kinds))
    rng.shuffle(kinds)
    return [kind(schema, term, rng) for kind, term in zip(kinds, terms(split, rng, len(kinds)), strict=True)]
