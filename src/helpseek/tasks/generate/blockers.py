"""The kinds of blocker a generated task can have: each removes one fact that the gold query needs.

Together they cover the three types (missing, ambiguous, contradictory) in the three places a SQL task keeps
information (question, business notes, schema descriptions).
"""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from helpseek.tasks.generate.databases import FIRST_DAY
from helpseek.tasks.generate.schemas import Schema
from helpseek.tasks.task import Blocker, BlockerType, Place


@dataclass(frozen=True, slots=True)
class Gap:
    """A blocker and what it leaves in the task.

    `event` and `entity` are adjectives before those nouns, `tail` ends the question, `closing` is a sentence after it,
    `value` names what is summed; `notes` and `columns` are business notes and column descriptions that the gap needs.
    The slot is a condition of the gold query, or its amount when `value` is set. `meaning` says in the words of the
    schema what the slot holds: the well-specified question uses it in place of all the others.
    """

    blocker: Blocker
    meaning: str
    event: str = ""
    entity: str = ""
    tail: str = ""
    closing: str = ""
    value: str = ""
    notes: tuple[str, ...] = ()
    columns: dict[str, str] = field(default_factory=dict)


def threshold(schema: Schema, term: str, rng: random.Random) -> Gap:
    """Missing, in the question: an adjective of events whose bar is stated nowhere."""
    event, column = schema.family.event, schema.quantity
    right, low, high = _spread(rng, 15, 60, 8)
    return Gap(
        _blocker(
            f"bar_{_slug(term)}",
            BlockerType.MISSING,
            Place.QUESTION,
            f'The question speaks of "{term}" {event[1]} and nothing says from which {column} a {event[0]} is one.',
            f"A {event[0]} is {term} when its {column} is at least {right}.",
            (
                f'From which {column} on is a {event[0]} "{term}"?',
                f'What makes a {event[0]} count as "{term}"?',
                f'How is "{term}" defined for {event[1]}?',
                f"Which smallest {column} do you require for {term} {event[1]}?",
            ),
            tuple(f"e.{column} >= {bar}" for bar in (right, low, high)),
        ),
        meaning=f"{event[1]} whose {column} is at least {right}",
        event=term,
    )


def period(schema: Schema, term: str, rng: random.Random) -> Gap:
    """Ambiguous, in the question: a named period that could be any."""
    event, day = schema.family.event, schema.day
    start = FIRST_DAY + dt.timedelta(days=rng.randrange(20, 200))
    end = start + dt.timedelta(days=rng.randrange(250, 450))
    other = FIRST_DAY + dt.timedelta(days=rng.randrange(240, 360))
    ranges = ((start, end), (other, dt.date(2024, 1, 1)), (dt.date(2023, 1, 1), dt.date(2024, 1, 1)))
    return Gap(
        _blocker(
            f"period_{_slug(term)}",
            BlockerType.AMBIGUOUS,
            Place.QUESTION,
            f'The question limits {event[1]} to the "{term} period", which could be any range of dates.',
            f"The {term} period runs from {start} up to and including {end}.",
            (
                f'Which dates does the "{term} period" cover?',
                f'When does the "{term} period" start and end?',
                f"What date range do you mean by the {term} period?",
                f"Which first and last {day} belong to the {term} period?",
            ),
            tuple(f"e.{day} BETWEEN '{first}' AND '{last}'" for first, last in ranges),
        ),
        meaning=f"{event[1]} whose {day} is from {start} up to and including {end}",
        tail=f"in the {term} period",
    )


def status_codes(schema: Schema, term: str, rng: random.Random) -> Gap:
    """Missing, in the schema: a state of events whose codes no description explains."""
    event, column = schema.family.event, schema.status
    codes = rng.sample(schema.codes, 5)
    right, *wrong = (codes[:3], [codes[0], codes[3]], codes[3:])
    stated = _either(right)
    return Gap(
        _blocker(
            f"codes_{_slug(term)}",
            BlockerType.MISSING,
            Place.SCHEMA,
            f'The column {column} holds internal codes, and nothing says which of them are "{term}" {event[1]}.',
            f"A {event[0]} is {term} when its {column} is {stated}.",
            (
                f'Which {column} codes mean "{term}"?',
                f"Which values of the column {column} mark {term} {event[1]}?",
                f'What do the codes in {column} stand for, and which are "{term}"?',
            ),
            tuple(f"e.{column} IN ({', '.join(repr(code) for code in sorted(chosen))})" for chosen in (right, *wrong)),
        ),
        meaning=f"{event[1]} whose {column} is {stated}",
        event=term,
        columns={column: f"internal code of the {event[0]}"},
    )


def amount(schema: Schema, term: str, rng: random.Random) -> Gap:
    """Ambiguous, in the schema: three amount columns of one description; the sum wanted mixes two of them."""
    event, columns = schema.family.event, [schema.value(n) for n in (1, 2, 3)]
    first, second, third = rng.sample(columns, 3)
    percent = rng.randrange(11, 60)
    sum_of_two = f"{first} plus {percent} percent of {second}"
    return Gap(
        _blocker(
            f"amount_{_slug(term)}",
            BlockerType.AMBIGUOUS,
            Place.SCHEMA,
            f'The columns {", ".join(columns)} have one description; which of them make the "{term} value" is open.',
            f"The {term} value of a {event[0]} is {sum_of_two}.",
            (
                f'Which column holds the "{term} value"?',
                f'How is the "{term} value" of a {event[0]} computed?',
                f"Which of the columns {columns[0]}, {columns[1]} and {columns[2]} make up the {term} value?",
            ),
            (f"e.{first} + {percent / 100} * e.{second}", f"e.{first}", f"e.{second}", f"e.{first} + e.{third}"),
        ),
        meaning=sum_of_two,
        value=f"{term} value",
        columns=dict.fromkeys(columns, f"amount of the {event[0]}"),
    )


def loose_note(schema: Schema, term: str, rng: random.Random) -> Gap:
    """Ambiguous, in the notes: a term of entities that a note explains without a bar."""
    entity, column = schema.family.entity, schema.score
    right, low, high = _spread(rng, 34, 68, 10)
    return Gap(
        _blocker(
            f"note_{_slug(term)}",
            BlockerType.AMBIGUOUS,
            Place.BUSINESS_INFO,
            f'The notes call {entity[1]} with a good {column} "{term}" and give no bar.',
            f"A {entity[0]} is {term} when the {column} is at least {right}.",
            (
                f'From which {column} on is a {entity[0]} "{term}"?',
                f'Which {column} counts as good enough for "{term}" {entity[1]}?',
                f'How do you define "{term}" {entity[1]}?',
                f"What bar does the {column} of a {term} {entity[0]} have to reach?",
            ),
            tuple(f"c.{column} >= {bar}" for bar in (right, low, high)),
        ),
        meaning=f"{entity[1]} whose {column} is at least {right}",
        entity=term,
        notes=(
            f"We speak of {term} {entity[1]} when their {column} is good.",
            f"The {term} label is reviewed by the {entity[0]} team every year.",
        ),
    )


def note_conflict(schema: Schema, term: str, rng: random.Random) -> Gap:
    """Contradictory, in the notes: two notes set two bars, and neither holds."""
    entity, column = schema.family.entity, schema.idle
    right, low, high = _spread(rng, 30, 70, 15)
    return Gap(
        _blocker(
            f"conflict_{_slug(term)}",
            BlockerType.CONTRADICTORY,
            Place.BUSINESS_INFO,
            f'Two notes define "{term}" {entity[1]} by different numbers of {column}.',
            f"Both notes are outdated: a {entity[0]} is {term} with at most {right} {column}.",
            (
                f'The notes disagree on "{term}" {entity[1]}: which number of {column} holds?',
                f'Which of the two definitions of "{term}" is right?',
                f"Up to how many {column} is a {entity[0]} {term}?",
            ),
            tuple(f"c.{column} <= {bar}" for bar in (right, low, high)),
        ),
        meaning=f"{entity[1]} with at most {right} {column}",
        entity=term,
        notes=(
            f"A {entity[0]} is {term} with at most {low} {column}.",
            f"Reports call a {entity[0]} {term} up to {high} {column}.",
        ),
    )


def question_conflict(schema: Schema, term: str, rng: random.Random) -> Gap:
    """Contradictory, in the question: a group of entities is both asked for and ruled out."""
    entity, column = schema.family.entity, schema.category
    asked, *others = rng.sample(schema.categories, 4)
    right = _either(others)
    listed = ", ".join(repr(value) for value in sorted(others))
    return Gap(
        _blocker(
            f"clash_{_slug(term)}",
            BlockerType.CONTRADICTORY,
            Place.QUESTION,
            f"The question asks for {entity[1]} of {column} {asked} and at the same time leaves {column} {asked} out.",
            f"Take the {entity[1]} whose {column} is {right}.",
            (
                f"Should {entity[1]} of {column} {asked} be the only ones or be left out?",
                f"The question contradicts itself on {asked}: which {column} values count?",
                f"Which {column} do you want, since {column} {asked} is both asked for and left out?",
            ),
            (f"c.{column} IN ({listed})", f"c.{column} = '{asked}'", f"c.{column} <> '{asked}'"),
        ),
        meaning=f"{entity[1]} whose {column} is {right}",
        tail=f"with {column} {asked}",
        closing=f"Leave {column} {asked} out.",
    )


Kind = Callable[[Schema, str, random.Random], Gap]

KINDS: dict[BlockerType, tuple[Kind, ...]] = {
    BlockerType.MISSING: (threshold, status_codes),
    BlockerType.AMBIGUOUS: (period, amount, loose_note),
    BlockerType.CONTRADICTORY: (note_conflict, question_conflict),
}


def _blocker(
    blocker_id: str,
    kind: BlockerType,
    place: Place,
    description: str,
    resolution: str,
    questions: tuple[str, ...],
    readings: tuple[str, ...],
) -> Blocker:
    return Blocker(
        blocker_id=blocker_id,
        type=kind,
        place=place,
        subtype=blocker_id.split("_", 1)[0],
        description=description,
        resolution=resolution,
        trigger_questions=questions,
        readings=readings,
    )


def _spread(rng: random.Random, low: int, high: int, gap: int) -> tuple[int, int, int]:
    """A number in [low, high] and one on each side of it, `gap` or more away (not below 1)."""
    right = rng.randint(low, high)
    return right, max(1, right - gap - rng.randrange(gap)), right + gap + rng.randrange(gap)


def _either(values: Sequence[str]) -> str:
    *most, last = sorted(values)
    return f"{', '.join(most)} or {last}"


def _slug(term: str) -> str:
    return term.replace(" ", "_")
