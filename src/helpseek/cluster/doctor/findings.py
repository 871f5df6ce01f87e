"""One finding of the doctor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Status = Literal["ok", "skipped", "warning", "error"]


@dataclass(frozen=True, slots=True)
class Finding:
    """What was looked at, what was found, and what to do. An `error` would make a run fail."""

    status: Status
    subject: str
    found: str
    fix: str = ""


def ok(subject: str, found: str) -> Finding:
    return Finding("ok", subject, found)


def skipped(subject: str, found: str) -> Finding:
    return Finding("skipped", subject, found)


def warning(subject: str, found: str, fix: str) -> Finding:
    return Finding("warning", subject, found, fix)


def error(subject: str, found: str, fix: str) -> Finding:
    return Finding("error", subject, found, fix)
