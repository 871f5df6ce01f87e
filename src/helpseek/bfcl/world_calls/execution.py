"""Execute gold trajectories on BFCL's own API classes, in a child process, and see which calls change state."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from helpseek.bfcl.calls import READ
from helpseek.bfcl.data import Dataset, Item
from helpseek.bfcl.world_calls import FunctionEffect
from helpseek.errors import UserError

RUNNER = Path(__file__).with_name("gold_runner.py")
TIMEOUT_S = 300


@dataclass(frozen=True, slots=True)
class ExecutedCall:
    """One executed gold call. `failure`: the exception or refusal; empty when it worked."""

    item_id: str
    turn: int
    function: str
    changed: bool
    """Whether compared state differs afterwards."""
    failure: str
    returned: str
    """What it returned, as text."""


@dataclass(frozen=True, slots=True)
class Execution:
    """Gold calls of one function: how many, of them changing state, of them failing."""

    gold_calls: int = 0
    gold_changes: int = 0
    gold_errors: int = 0


def execute(package: Path, items: Iterable[Item]) -> list[ExecutedCall]:
    """Execute the gold trajectories of `items`, each in a world of its own.

    The API classes are not ours, so they run in a child process that imports nothing of this one. Raises `UserError`
    when it dies.
    """
    request = {"package": str(package.resolve()), "items": [_request(item) for item in items]}
    done = subprocess.run(
        [sys.executable, "-I", str(RUNNER)],
        input=json.dumps(request),
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    if done.returncode:
        reason = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
        raise UserError(f"{package}: executing the gold trajectories failed: {reason[0]}; delete it to install it anew")
    return [call for line in done.stdout.splitlines() for call in _calls(line)]


def _request(item: Item) -> dict[str, object]:
    return {
        "item_id": item.item_id,
        "classes": item.classes,
        "initial_config": item.initial_config,
        "long_context": item.category == "long_context",
        "calls": [[[call.name, dict(call.arguments)] for call in turn] for turn in item.gold],
    }


def _calls(line: str) -> Iterator[ExecutedCall]:
    row = json.loads(line)
    for turn, calls in enumerate(row["turns"]):
        yield from (ExecutedCall(row["item_id"], turn, **call) for call in calls)


def cross_check(package: Path, dataset: Dataset, effects: Iterable[FunctionEffect]) -> dict[str, Execution]:
    """Count, by function, what the base gold trajectories did when executed.

    Raises `UserError` when a function that is said to read changed state: the analysis would be wrong.
    """
    counts = {one.function: [0, 0, 0] for one in effects}
    reads = {one.function for one in effects if one.kind == READ}
    for call in execute(package, (item for item in dataset.items.values() if item.category == "base")):
        if call.changed and call.function in reads:
            raise UserError(f"{package}: {call.function} changes state in {call.item_id}, but was derived as a read")
        counts[call.function] = [
            a + b for a, b in zip(counts[call.function], (1, call.changed, bool(call.failure)), strict=True)
        ]
    return {name: Execution(*found) for name, found in counts.items()}
