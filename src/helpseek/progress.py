"""Progress of long work: a bar on a terminal, a line now and then in a log file."""

from __future__ import annotations

import sys
import time
from types import TracebackType

from tqdm import tqdm

LINE_EVERY_S = 30.0


class Progress:
    """Counts finished items of `total`; shows done, rate, errors and time left on standard error.

    `done` items were finished by an earlier run and do not count towards the rate.
    """

    def __init__(self, label: str, total: int, done: int = 0, unit: str = "episode") -> None:
        self.label, self.total, self.unit = label, total, unit
        self.done = self.before = done
        self.errors = 0
        self.start = self.last_line = time.monotonic()
        interactive = sys.stderr.isatty()
        self.bar = tqdm(total=total, initial=done, desc=label, unit=f" {unit}") if interactive else None

    def __enter__(self) -> Progress:
        if self.bar is None:
            sys.stderr.write(f"{self.label}: {self.done}/{self.total} {self.unit}s already done\n")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.bar is not None:
            self.bar.close()
        sys.stderr.write(self.line() + "\n")

    def add(self, finished: int, errors: int = 0) -> None:
        """Count `finished` more items, of which `errors` failed."""
        self.done += finished
        self.errors += errors
        if self.bar is not None:
            self.bar.set_postfix(errors=self.errors, refresh=False)
            self.bar.update(finished)
        elif time.monotonic() - self.last_line >= LINE_EVERY_S:
            self.last_line = time.monotonic()
            sys.stderr.write(self.line() + "\n")

    def line(self) -> str:
        """`label: done/total units, rate/s, n errors, time left`."""
        elapsed = max(time.monotonic() - self.start, 1e-9)
        rate = (self.done - self.before) / elapsed
        left = f", {(self.total - self.done) / rate:.0f} s left" if rate > 0 and self.done < self.total else ""
        return f"{self.label}: {self.done}/{self.total} {self.unit}s, {rate:.1f}/s, {self.errors} errors{left}"
