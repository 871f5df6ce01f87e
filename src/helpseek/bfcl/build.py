"""The rules' jobs, and what a command makes of the wheel by itself the first time."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from helpseek.bfcl.audit import Flag, Quality, audit, looked_at, quality
from helpseek.bfcl.calls import SESSION, WORLD, Call, Effects
from helpseek.bfcl.data import Dataset, load, obtain
from helpseek.bfcl.exclusions import read_exclusions
from helpseek.bfcl.index import Index, read_index, write_index
from helpseek.bfcl.pairs import CERTIFIED, JUDGEMENT_FREE, Pair, make_pairs
from helpseek.bfcl.reference import BEHAVIOURS, write_reference
from helpseek.bfcl.world_calls import FunctionEffect, derive
from helpseek.bfcl.world_calls.execution import cross_check, execute
from helpseek.errors import UserError, nearest

Files = Mapping[str, str]


def build_default_index(path: Path, home: Path, wheel: Path | None) -> None:
    """Write the index under the default judgement calls, the wheel installed first where it is not."""
    package = obtain(home, wheel)
    write_index(make_index(load(package), effects_of(derive(package))), path)


def effects_of(derived: list[FunctionEffect], world: Mapping[str, Any] | None = None) -> Effects:
    """The derived effects under the judgement calls of `world` (the config's `bfcl.world`; None: its defaults)."""
    world = world or {}
    return Effects(
        kinds={one.function: one.kind for one in derived},
        only_with={one.function: one.only_with for one in derived if one.only_with},
        counted=frozenset({WORLD, SESSION} if world.get("session") else {WORLD}),
        also=frozenset(world.get("also", ())),
        never=frozenset(world.get("never", ())),
    )


def make_index(dataset: Dataset, effects: Effects) -> Index:
    """The index of all 400 pairs, by the curated lists beside the code."""
    return Index(tuple(make_pairs(dataset, effects, read_exclusions())), dataset.functions, effects)


def write_references(folder: Path, home: Path, wheel: Path | None = None) -> list[Path]:
    """Write every reference behaviour under `folder`; return their directories."""
    package = obtain(home, wheel)
    dataset, effects = load(package), effects_of(derive(package))
    for behaviour in BEHAVIOURS:
        write_reference(behaviour, dataset, effects, folder / behaviour)
    return [folder / behaviour for behaviour in BEHAVIOURS]


def build_world_calls(package: Path, path: Path, world: Mapping[str, Any]) -> None:
    """Derive the effects of every function, check them against the executed gold, and write `bfcl_world_calls`.

    Raises `UserError` when `world` names a function that does not exist.
    """
    from helpseek.records import write_rows

    derived = derive(package)
    known = [one.function for one in derived]
    for key in ("also", "never"):
        for name in world[key]:
            if name not in known:
                raise UserError(f"config: `bfcl.world.{key}` names `{name}`, no BFCL function{nearest(name, known)}")
    effects = effects_of(derived, world)
    executed = cross_check(package, load(package), derived)
    rows = [
        {
            "class_name": one.class_name,
            "function": one.function,
            "kind": one.kind,
            "only_with": one.only_with,
            "acts": effects.acts(Call(one.function, {one.only_with: ""} if one.only_with else {})),
            "reason": one.reason,
            "gold_calls": executed[one.function].gold_calls,
            "gold_changes": executed[one.function].gold_changes,
            "gold_errors": executed[one.function].gold_errors,
        }
        for one in derived
    ]
    write_rows(path, "bfcl_world_calls", rows)


def read_effects(path: Path, world: Mapping[str, Any]) -> Effects:
    """The effects that `build_world_calls` wrote, under the judgement calls of `world`."""
    from helpseek.records import read_rows

    rows = read_rows(path, "bfcl_world_calls")
    derived = [
        FunctionEffect(row["class_name"], row["function"], row["kind"], row["only_with"], row["reason"], ())
        for row in rows
    ]
    return effects_of(derived, world)


def build_pairs(inputs: Files, outputs: Files, world: Mapping[str, Any]) -> None:
    """Make the pairs (as a table and as the index for scoring) and audit the items."""
    from helpseek.records import write_rows

    package = Path(inputs["package"])
    dataset = load(package)
    index = make_index(dataset, read_effects(Path(inputs["world_calls"]), world))
    write_index(index, Path(outputs["index"]))
    write_rows(Path(outputs["pairs"]), "bfcl_pairs", [_pair_row(pair) for pair in index.pairs])
    flags, found = run_audit(package, dataset, index)
    write_rows(Path(outputs["audit"]), "bfcl_audit", [dataclasses.asdict(flag) for flag in flags])
    rates = ({"precision": one.precision, "recall": one.recall} for one in found)
    qualities = [dataclasses.asdict(one) | rate for one, rate in zip(found, rates, strict=True)]
    write_rows(Path(outputs["audit_quality"]), "bfcl_audit_quality", qualities)


def run_audit(package: Path, dataset: Dataset, index: Index) -> tuple[list[Flag], list[Quality]]:
    """All flags of the audit, and the quality of its heuristics; executes every gold trajectory (seconds)."""
    flags = audit(dataset, index.pairs, execute(package, dataset.items.values()))
    return flags, quality(flags, looked_at(dataset, index.pairs), read_exclusions())


def _pair_row(pair: Pair) -> dict[str, Any]:
    names = ("pair_id", "base_id", "kind", "anchor", "base_text", "miss_text")
    lists = ("withheld", "gold", "world_calls", "session_calls", "independent")
    return {
        **{name: getattr(pair, name) for name in names},
        **{name: list(getattr(pair, name)) for name in lists},
        "failed_filters": list(pair.failed),
        "certified": pair.within(CERTIFIED),
        "judgement_free": pair.within(JUDGEMENT_FREE),
    }


def build_reference(behaviour: str, inputs: Files, folder: Path) -> None:
    """Write the outputs of one reference behaviour."""
    dataset = load(Path(inputs["package"]))
    write_reference(behaviour, dataset, read_effects(Path(inputs["world_calls"]), {}), folder)


def build_decisions(model: str, params: Mapping[str, Any], index_file: str, outputs: Files) -> None:
    """Score the outputs of one model and write its decisions and the other readings of them.

    Raises `UserError` when too few pairs are reached and `bfcl.allow_partial` is not set.
    """
    from helpseek.bfcl.decision_rows import decision_rows, reading_rows
    from helpseek.bfcl.decisions import Rules
    from helpseek.bfcl.output_files import find_models
    from helpseek.bfcl.scorecard import Options, score_model
    from helpseek.records import write_rows

    index = read_index(Path(index_file))
    files = dataclasses.replace(find_models(Path(params["directory"]))[0], model=model)
    options = Options(
        definition=params["pairs"],
        rules=Rules(**params["rules"]),
        allow_partial=params["allow_partial"],
        scores=Path(params["scores"]) if params["scores"] else None,
    )
    card = score_model(files, index, options)
    for note in card.notes:
        sys.stderr.write(f"{model}: {note}\n")
    write_rows(Path(outputs["decisions"]), "bfcl_decisions", decision_rows(card, index))
    write_rows(Path(outputs["readings"]), "bfcl_readings", reading_rows(card, index))
