"""The journal of a shard: every finished episode, on disk before the next is counted.

One JSON line per episode, appended by one writer under a lock and synced. Whatever kills the process, all lines but
possibly the last are whole; a torn or damaged line is dropped at the next opening and its episode runs again.
"""

from __future__ import annotations

import fcntl
import json
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

from helpseek.episodes.outcome import EpisodeRows, Outcome
from helpseek.errors import UserError


class Journal:
    """Context manager over the journal file at `path`.

    Raises `UserError` when another process holds it: two writers would run each episode twice.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> Journal:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.file: BinaryIO = self.path.open("a+b")
        try:
            fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.file.close()
            raise UserError(
                f"{self.path}: another process is writing this shard; wait for it or stop it, then rerun"
            ) from None
        self.offsets = self._index()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.file.close()

    def finished(self) -> set[str]:
        """Keys of episodes that need not run again; an infrastructure error is worth another try."""
        return {key for key, (_, outcome) in self.offsets.items() if outcome != Outcome.INFRA_ERROR}

    def append(self, episodes: Iterable[EpisodeRows]) -> None:
        """Add `episodes` and return once they are on disk."""
        for rows in episodes:
            offset = self.file.seek(0, os.SEEK_END)
            line = {"episode": rows.episode, "steps": rows.steps, "questions": rows.questions}
            # A model can emit lone surrogates, which no Parquet text can hold.
            self.file.write(json.dumps(line, ensure_ascii=False).encode("utf-8", "replace") + b"\n")
            self.offsets[rows.episode["episode_id"]] = (offset, rows.episode["outcome"])
        self.file.flush()
        os.fsync(self.file.fileno())

    def read(self, keys: Iterable[str]) -> Iterator[EpisodeRows]:
        """The last entry of each of `keys`, in that order, one at a time."""
        for key in keys:
            self.file.seek(self.offsets[key][0])
            yield _parse(self.file.readline())

    def _index(self) -> dict[str, tuple[int, str]]:
        """Offset and outcome of each key's last whole entry; ends a torn last line, so that the next starts anew."""
        offsets: dict[str, tuple[int, str]] = {}
        position = dropped = 0
        self.file.seek(0)
        for line in self.file:
            try:
                episode = _parse(line).episode
                offsets[episode["episode_id"]] = (position, episode["outcome"])
            except (ValueError, KeyError, TypeError):
                dropped += 1
            position += len(line)
        if dropped:
            sys.stderr.write(f"{self.path}: {dropped} damaged line(s) dropped; those episodes run again\n")
        if position and not self._ends_whole():
            self.file.write(b"\n")
            self.file.flush()
        return offsets

    def _ends_whole(self) -> bool:
        self.file.seek(-1, os.SEEK_END)
        return self.file.read(1) == b"\n"


def _parse(line: bytes) -> EpisodeRows:
    content: dict[str, Any] = json.loads(line)
    return EpisodeRows(content["episode"], content["steps"], content["questions"])
