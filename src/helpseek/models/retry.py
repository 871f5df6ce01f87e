"""Asking a server again: pauses that grow, honour what the server wishes, and end at once when the client is closed."""

from __future__ import annotations

import logging
import math
import random
import threading
import time
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from typing import TypeVar

from helpseek.errors import InfraError

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 60.0

log = logging.getLogger(__name__)
Answer = TypeVar("Answer")


class PassingError(Exception):
    """A failure that another try may cure; `wait_s` is the least pause in seconds that the server asks for."""

    def __init__(self, problem: str, wait_s: float = 0.0) -> None:
        super().__init__(problem)
        self.wait_s = wait_s


class Patience:
    """Retries calls to one server; safe to share between threads. `who` names the server in messages."""

    def __init__(self, who: str, max_retries: int) -> None:
        self.who, self.max_retries = who, max_retries
        self._closed = threading.Event()

    def close(self) -> None:
        """End every pause now, in all threads: their calls raise `InfraError`."""
        self._closed.set()

    def call(self, ask: Callable[[], Answer]) -> Answer:
        """The first answer of `ask` that is not a `PassingError`. Raises `InfraError` after `max_retries` retries."""
        for attempt in range(self.max_retries + 1):
            try:
                return ask()
            except PassingError as error:
                problem, wait_s = str(error), error.wait_s
            if attempt < self.max_retries:
                pause = pause_s(attempt, wait_s)
                log.warning("%s: %s; retry %d of %d in %.1f s", self.who, problem, attempt + 1, self.max_retries, pause)
                if self._closed.wait(pause):
                    raise InfraError(f"{self.who}: stopped while waiting for a retry; last: {problem}")
        raise InfraError(f"{self.who}: gave up after {self.max_retries + 1} tries; last: {problem}")


def pause_s(attempt: int, wait_s: float) -> float:
    """Seconds before retry number `attempt` (from 0): exponential with jitter, at least what the server asked for."""
    # The jitter on `wait_s` keeps threads that were refused together from coming back together.
    wished = wait_s * random.uniform(1.0, 1.2)
    grown = FIRST_PAUSE_S * 2.0 ** min(attempt, 30) * random.uniform(0.5, 1.0)
    return min(max(wished, grown), LONGEST_PAUSE_S)


def retry_after_s(header: str | None) -> float:
    """Seconds a `Retry-After` header asks for, given as a number or a date (RFC 9110, 10.2.3); 0 when unreadable."""
    if header is None:
        return 0.0
    try:
        seconds = float(header)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(header).timestamp() - time.time()
        except (ValueError, OverflowError):
            return 0.0
    return max(seconds, 0.0) if math.isfinite(seconds) else 0.0
