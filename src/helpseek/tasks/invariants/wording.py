"""Whether a trigger question can be understood alone: a judge sees it without the conversation around it."""

from __future__ import annotations

import re

MIN_WORDS = 4
POINTS_NOWHERE = re.compile(
    r"\b(?:the|this|that) blocker\b|\b(?:as|see|mentioned|described|stated|given|the) above\b|\babove-mentioned\b"
    r"|\bprevious (?:question|answer)\b",
    re.IGNORECASE,
)
PRONOUNS = frozenset("it they them this that these those".split())
# Words that name nothing: a pronoun with only these before it stands for something unsaid.
EMPTY_WORDS = frozenset(
    "a about and are be been but by can could did do does else exactly for from how if in is may mean me must of on or "
    "out please shall should so tell the then to was we were what when where which who why will with would you".split()
)
ANNOUNCED = frozenset("that to if when whether who which what how".split())
WORD = re.compile(r"[A-Za-z']+")


def leans_on_something_unsaid(question: str) -> bool:
    """Whether the question is too short to name anything, or points at other text."""
    return len(question.split()) < MIN_WORDS or POINTS_NOWHERE.search(question) is not None


def form_problem(question: str) -> str:
    """What is wrong with the form: no question mark, or a pronoun before anything is named; '' when nothing is."""
    if not question.rstrip().endswith("?"):
        return "no question mark"
    words = [word.lower() for word in WORD.findall(question)]
    position = next((n for n, word in enumerate(words) if word not in EMPTY_WORDS), len(words))
    if position < len(words) and words[position] in PRONOUNS and not _announces(words[position:]):
        return f"'{words[position]}' stands for something unsaid"
    return ""


def _announces(words: list[str]) -> bool:
    """Whether a leading `it` only announces a clause, as in: is it right that ..., how is it decided who ..."""
    return words[0] == "it" and not ANNOUNCED.isdisjoint(words[1:])
