"""Save and leave: a job that is told to end, or nears its time limit, stops at a clean place and is retried.

Everything finished is on disk already; what matters is to start nothing new and to leave before the kill.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from helpseek.cluster.scheduler import time_left_s

# What a shell calls a temporary failure: Snakemake retries it as any other.
EXIT_CODE = 75
# Slurm waits 30 seconds between SIGTERM and SIGKILL by default.
GRACE_S = 20.0
# Leave this long before the time limit, or at a fifth of a short one.
MARGIN_S = 120.0
MARGIN_SHARE = 0.2


class Left(Exception):
    """The work stopped at a clean place before its end; a retry goes on from there."""


@contextmanager
def leave_in_time(margin_s: float = MARGIN_S) -> Iterator[threading.Event]:
    """Yield an event that is set on SIGTERM or when the batch job nears its time limit. A second SIGTERM kills.

    Must be entered in the main thread.
    """
    leave = threading.Event()

    def terminated(number: int, _: object) -> None:
        sys.stderr.write("SIGTERM: finishing what runs, then leaving\n")
        signal.signal(number, signal.SIG_DFL)
        leave.set()

    before = signal.signal(signal.SIGTERM, terminated)
    timer = _timer(leave, margin_s)
    try:
        yield leave
    finally:
        if timer is not None:
            timer.cancel()
        signal.signal(signal.SIGTERM, before)


def _timer(leave: threading.Event, margin_s: float) -> threading.Timer | None:
    left = time_left_s()
    if left is None:
        return None
    wait = max(0.0, left - min(margin_s, MARGIN_SHARE * left))

    def near() -> None:
        sys.stderr.write("the job's time limit is near: finishing what runs, then leaving\n")
        leave.set()

    timer = threading.Timer(wait, near)
    timer.daemon = True
    timer.start()
    return timer


def exit_for_retry(message: str) -> None:
    """End the process at once, whatever its threads still wait for, with the code that stands for `Left`."""
    sys.stderr.write(f"{message}\n")
    sys.stderr.flush()
    os._exit(EXIT_CODE)
