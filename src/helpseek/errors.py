"""The two kinds of error this package raises on purpose, and how they reach a user.

`UserError` is a mistake in an input (config, task file, argument): it is shown as one paragraph, without a traceback.
`InfraError` is a failure around an episode (endpoint down, judge unreadable): it becomes the episode's outcome
`infra_error` and leaves every denominator, so that it is never scored as an answer of the model.
"""

from __future__ import annotations

import contextlib
import difflib
import errno
import os
import sys
import traceback
from collections.abc import Iterable, Iterator
from pathlib import Path

FAULTS_OF_THE_PLACE = frozenset(
    {
        errno.ENOENT,
        errno.EACCES,
        errno.EPERM,
        errno.EROFS,
        errno.ENOSPC,
        errno.EDQUOT,
        errno.EISDIR,
        errno.ENOTDIR,
        errno.ENAMETOOLONG,
    }
)


class UserError(Exception):
    """A mistake in what the user gave. The message names the file, the key path or row, and what was expected."""


class InfraError(Exception):
    """A failure of what surrounds the model: endpoint, judge, guard. Never an answer, never scored."""


def nearest(word: str, choices: Iterable[str]) -> str:
    """Return ' (did you mean `x`?)' for the closest of `choices`, or '' when none is close."""
    close = difflib.get_close_matches(word, list(choices), n=1, cutoff=0.5)
    return f" (did you mean `{close[0]}`?)" if close else ""


@contextlib.contextmanager
def reported(log: str | os.PathLike[str] | None = None) -> Iterator[None]:
    """Run a command or a rule's script: a `UserError` ends it with one paragraph and exit code 1.

    So do an `InfraError` outside an episode and a folder or disk that cannot be written or read.

    With `log`, standard error goes to that file while the body runs, and whatever stops the body is written there too;
    the paragraph is repeated on the terminal, where a person looks first.
    """
    terminal = sys.stderr
    with contextlib.ExitStack() as stack:
        if log is not None:
            file = stack.enter_context(Path(log).open("w", encoding="utf-8", buffering=1))
            stack.enter_context(contextlib.redirect_stderr(file))
        try:
            yield
        except Exception as error:
            paragraph = _paragraph(error)
            if log is not None and not isinstance(error, UserError):
                traceback.print_exc(file=sys.stderr)
            if paragraph is None:
                raise
            for stream in {id(s): s for s in (sys.stderr, terminal)}.values():
                stream.write(f"error: {paragraph}\n")
            raise SystemExit(1) from None


def _paragraph(error: Exception) -> str | None:
    """What to tell a user; None for what only a traceback explains."""
    if isinstance(error, UserError | InfraError):
        return str(error)
    if isinstance(error, OSError) and error.errno in FAULTS_OF_THE_PLACE and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return None
