"""The values that only a blocker's resolution may give, and whether a text gives one away."""

from __future__ import annotations

import re
from collections.abc import Iterable

from helpseek.tasks.task import Blocker

QUOTED = re.compile(r"'((?:[^']|'')+)'")
DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
# A number that is no part of a name (rate_1, X4) or of a longer number; thousands may be separated by commas.
NUMBER = re.compile(r"(?<![\w.])\d+(?:,\d{3})*(?:\.\d+)?(?!\w)")


def first_revealed(blocker: Blocker, text: str) -> str | None:
    """A value of the right reading that `text` gives away, or None; always None where no readings are known.

    Values are numbers and quoted strings of the right reading that its resolution states and no wrong reading holds.
    A resolution may state 0.35 as 35 percent: then both numbers give it away.
    """
    if not blocker.readings:
        return None
    right, *wrong = blocker.readings
    revealed = _numbers(text) & _secret_numbers(right, wrong, blocker.resolution)
    if revealed:
        return f"{min(revealed):g}"
    strings = _strings([right]) - _strings(wrong)
    return next((value for value in sorted(strings) if _says(blocker.resolution, value) and _says(text, value)), None)


def _secret_numbers(right: str, wrong: Iterable[str], resolution: str) -> set[float]:
    stated = _numbers(resolution)
    secret: set[float] = set()
    for number in _numbers(QUOTED.sub(" ", right)):
        forms = {number, round(number * 100, 9)}
        if forms & stated:
            secret |= {number, *(forms & stated)}
    return secret.difference(*(_numbers(QUOTED.sub(" ", reading)) for reading in wrong))


def _numbers(text: str) -> set[float]:
    return {float(number.replace(",", "")) for number in NUMBER.findall(DATE.sub(" ", text))}


def _strings(readings: Iterable[str]) -> set[str]:
    return {value.replace("''", "'") for reading in readings for value in QUOTED.findall(reading)}


def _says(text: str, value: str) -> bool:
    """Whether `text` holds `value` as words of its own; case does not count."""
    return re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text, re.IGNORECASE) is not None
