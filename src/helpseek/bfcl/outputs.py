"""Read a model's stored outputs from its files: one rollout an item, and everything that could not be read.

A line that cannot be read costs its own item and no other. Only the turns that are asked for are decoded.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from helpseek.bfcl.output_files import ModelFiles
from helpseek.bfcl.steps import Parameters, Step, read_step
from helpseek.errors import UserError

ITEM_ID = re.compile(r"multi_turn_(base|miss_func|miss_param|long_context)_\d+")
Wanted = Mapping[str, frozenset[int]]


@dataclass(frozen=True, slots=True)
class Rollout:
    """One stored trajectory. `error`: the text that stands in place of a result when inference failed."""

    item_id: str
    n_turns: int
    turns: Mapping[int, tuple[Step, ...]]
    """The wanted turns that exist, decoded."""
    error: str = ""


@dataclass(frozen=True, slots=True)
class Problem:
    """A line that gives no rollout: `kind` is unreadable_line, invalid_row or foreign_item."""

    kind: str
    file: Path
    line: int
    detail: str


@dataclass(frozen=True, slots=True)
class Outputs:
    """All rollouts of one model by item; more than one where an item occurs twice."""

    files: ModelFiles
    rollouts: Mapping[str, list[Rollout]]
    problems: list[Problem] = field(default_factory=list)


class InvalidRow(ValueError):
    """A line of JSON that is no BFCL result."""


def read_outputs(files: ModelFiles, wanted: Wanted, parameters: Parameters) -> Outputs:
    """Read the files of one model. `wanted`: the turns to decode, by item id.

    Raises `UserError` for a file that cannot be opened; a bad line becomes a `Problem`.
    """
    rollouts: dict[str, list[Rollout]] = {}
    problems: list[Problem] = []
    for path in files.categories.values():
        for number, text in _lines(path):
            try:
                row = parse_line(text)
                item_id = row["id"]
                if not ITEM_ID.fullmatch(item_id):
                    problems.append(Problem("foreign_item", path, number, f"id {item_id[:60]!r}"))
                elif item_id in wanted:
                    rollouts.setdefault(item_id, []).append(_rollout(row, text, wanted[item_id], parameters))
            except InvalidRow as error:
                problems.append(Problem("invalid_row", path, number, str(error)))
            except (ValueError, RecursionError) as error:
                problems.append(Problem("unreadable_line", path, number, f"not JSON ({str(error)[:120]})"))
    return Outputs(files, rollouts, problems)


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Non-blank lines with their numbers, or the elements of a file that is one JSON array."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from None
    content = content.removeprefix(b"\xef\xbb\xbf")
    if content.lstrip()[:1] == b"[":
        try:
            rows = json.loads(content)
        except (ValueError, RecursionError):
            rows = None
        if isinstance(rows, list):
            yield from ((number, json.dumps(row)) for number, row in enumerate(rows, start=1))
            return
    for number, line in enumerate(content.split(b"\n"), start=1):
        if line.strip():
            # A byte that is not UTF-8 harms its own text only.
            yield number, line.decode("utf-8", errors="replace")


def parse_line(text: str) -> dict[str, Any]:
    """One result row; the inference log, most of a line, is left out where that is safe.

    Raises `InvalidRow` when it is no result row, `ValueError` or `RecursionError` when it is not JSON.
    """
    head, found, _ = text.partition('"inference_log"')
    row = None
    if found and text.count('"result"') == text.count('"inference_log"') == 1 and text.rstrip().endswith("}"):
        try:
            row = json.loads(head.rstrip().removesuffix(",") + "}", object_pairs_hook=_unique)
        except ValueError:
            row = None
    if row is None or "result" not in row:
        row = json.loads(text, object_pairs_hook=_unique)
    if not isinstance(row, dict) or not isinstance(row.get("id"), str) or "result" not in row:
        raise InvalidRow("expected an object with `id` and `result`")
    return row


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Python keeps the last of equal keys without a word; which one was meant cannot be known."""
    made = dict(pairs)
    if len(made) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidRow(f"the key {twice[:60]!r} occurs twice in one object")
    return made


def _rollout(row: Mapping[str, Any], text: str, turns: frozenset[int], parameters: Parameters) -> Rollout:
    result = row["result"]
    if isinstance(result, str):
        return Rollout(row["id"], 0, {}, error=result or "empty result")
    if not isinstance(result, list):
        raise InvalidRow(f"`result` of {row['id']} is {type(result).__name__}; expected a list of turns")
    raw = {turn: _steps(result[turn]) for turn in turns if turn < len(result)}
    needs_log = any(isinstance(step, str) for steps in raw.values() for step in steps)
    log = _log_turns(text) if needs_log else []
    decoded = {
        turn: tuple(
            read_step(step, parameters, _logged(log, turn, number) if isinstance(step, str) else None)
            for number, step in enumerate(steps)
        )
        for turn, steps in raw.items()
    }
    return Rollout(row["id"], len(result), decoded)


def _steps(turn: Any) -> list[Any]:
    """Steps of a turn; a harness of one step a turn may write it without the list."""
    return turn if isinstance(turn, list) else [] if turn is None else [turn]


def _log_turns(text: str) -> list[Mapping[str, Any]]:
    """The turns of a row's inference log; none when there is no log or it cannot be read."""
    try:
        log = json.loads(text).get("inference_log")
    except (ValueError, RecursionError):
        return []
    return [entry for entry in log if isinstance(entry, dict)] if isinstance(log, list) else []


def _logged(log: list[Mapping[str, Any]], turn: int, number: int) -> Mapping[str, Any] | None:
    """What the handler wrote about one step; None when the log does not say."""
    step = log[turn].get(f"step_{number}") if turn < len(log) else None
    if not isinstance(step, list):
        return None
    for entry in step:
        if isinstance(entry, dict) and entry.get("role") == "handler_log":
            return entry
    return None
