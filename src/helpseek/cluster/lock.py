"""A lock that holds across hosts: two copies of one job never both write.

Its file names host, process and batch job of the owner. A lock whose owner is gone is taken over; one whose owner
lives is waited for in a batch job, and refused elsewhere. Made by hard link, which is atomic on networked file systems
too, where `flock` may see one host only.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
import threading
import time
import uuid
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType

from helpseek.cluster.scheduler import job_is_alive, own_job
from helpseek.errors import UserError

# An owner that nobody can be asked about is taken for dead after this long without a sign of life.
STALE_AFTER_S = 600.0
HEARTBEAT_S = 30.0
POLL_S = 5.0
TELL_EVERY_S = 60.0


@dataclass(frozen=True, slots=True)
class Owner:
    """Who holds a lock. `born`: start of the process in clock ticks since boot, so that a reused pid is told apart."""

    token: str
    host: str
    pid: int
    born: str
    job: str

    @classmethod
    def here(cls) -> Owner:
        """This process."""
        pid = os.getpid()
        return cls(uuid.uuid4().hex, socket.gethostname(), pid, _born(pid), own_job())

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}" + (f", job {self.job}" if self.job else "")


class LostLock(Exception):
    """Another process has taken the lock over, so this one must not write any more."""


class FileLock:
    """Context manager over the lock file at `path`.

    `wait`: wait for a living owner (default: in a batch job), else refuse it with a `UserError`.
    """

    def __init__(self, path: Path, *, wait: bool | None = None, poll_s: float = POLL_S) -> None:
        self.path = path
        self.wait = bool(own_job()) if wait is None else wait
        self.poll_s = poll_s
        self.owner = Owner.here()
        self._stop = threading.Event()

    def __enter__(self) -> FileLock:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        told = -TELL_EVERY_S
        while not self._take():
            holder = self._holder()
            if holder is None or is_gone(holder, self._age()):
                self._break(holder)
                continue
            if not self.wait:
                raise UserError(f"{self.path}: held by {holder}; wait for it or stop it, then rerun")
            if time.monotonic() - told >= TELL_EVERY_S:
                told = time.monotonic()
                sys.stderr.write(f"{self.path}: waiting for {holder}\n")
            time.sleep(self.poll_s)
        threading.Thread(target=self._beat, name="lock heartbeat", daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        if self._holder() == self.owner:
            self.path.unlink(missing_ok=True)

    def check(self) -> None:
        """Raise `LostLock` unless the lock is still this process's."""
        holder = self._holder()
        if holder != self.owner:
            raise LostLock(f"{self.path}: taken over by {holder}" if holder else f"{self.path}: gone")

    def _take(self) -> bool:
        own = self.path.with_name(f".{self.path.name}.{self.owner.token}")
        own.write_text(json.dumps(asdict(self.owner)), encoding="utf-8")
        try:
            os.link(own, self.path)
        except FileExistsError:
            return False
        finally:
            own.unlink()
        return True

    def _holder(self) -> Owner | None:
        """The owner in the file; None when there is none or it cannot be read."""
        try:
            return Owner(**json.loads(self.path.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            return None

    def _age(self) -> float:
        """Seconds since the owner's last sign of life."""
        try:
            return time.time() - self.path.stat().st_mtime
        except OSError:
            return 0.0

    def _break(self, holder: Owner | None) -> None:
        """Move a dead owner's lock away. Only one of several can; one that was renewed meanwhile is put back."""
        aside = self.path.with_name(f".{self.path.name}.broken.{self.owner.token}")
        try:
            self.path.rename(aside)
        except FileNotFoundError:
            return
        try:
            found = Owner(**json.loads(aside.read_text(encoding="utf-8")))
        except (ValueError, TypeError):
            found = None
        if found != holder:
            # Where it was taken since, its owner will find out at the next check.
            with contextlib.suppress(FileExistsError):
                os.link(aside, self.path)
        elif holder is not None:
            sys.stderr.write(f"{self.path}: {holder} is gone; going on in its place\n")
        aside.unlink(missing_ok=True)

    def _beat(self) -> None:
        while not self._stop.wait(HEARTBEAT_S):
            if self._holder() == self.owner:
                os.utime(self.path)


def is_gone(owner: Owner, age_s: float) -> bool:
    """Whether a lock's owner is dead: by its process on this host, by its batch job, or by its silence."""
    if owner.host == socket.gethostname():
        return _born(owner.pid) != owner.born
    alive = job_is_alive(owner.job)
    return age_s > STALE_AFTER_S if alive is None else not alive


def _born(pid: int) -> str:
    """Start time of a process; empty when there is no such process, or it is only waiting to be reaped."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return _signalled(pid)
    return "" if fields[0] == "Z" else fields[19]


def _signalled(pid: int) -> str:
    """Where there is no /proc: whether the process exists at all."""
    if Path("/proc/self").exists():
        return ""
    try:
        os.kill(pid, 0)
    except OSError:
        return ""
    return "alive"
