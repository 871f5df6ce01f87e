"""Entry of the rule `make_bfcl_tables`: every table and figure of the decisions to ask or act."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from helpseek.bfcl.scorecard import MIN_REACHED
from helpseek.records import read_table
from helpseek.report.bfcl_figures import decisions_figure, ranks_figure
from helpseek.report.bfcl_tables import (
    bfcl_differences,
    bfcl_pairs,
    bfcl_push,
    bfcl_ranks,
    bfcl_readings,
    bfcl_scores,
    decided,
)
from helpseek.report.formats import write_formats
from helpseek.scoring.intervals import Resampling


def make_bfcl_tables(inputs: Mapping[str, Any], params: Mapping[str, Any], results: Path) -> None:
    """Write the tables to `results/tables` and the figures to `results/figures`."""
    resampling = Resampling(params["confidence"], params["bootstrap"], params["seed"])
    rows = decided(_frames(inputs["decisions"], "bfcl_decisions"), params["pairs"])
    groups = {name: (group, prompt) for name, (group, prompt) in params["groups"].items()}
    scores = bfcl_scores(rows, resampling)
    percent = f"{100 * params['confidence']:g} % intervals by cluster bootstrap over base twins"
    partial = f" Partial: under {MIN_REACHED:.0%} of the pairs reached." if scores["partial"].any() else ""
    which = f"{params['pairs'].capitalize()} pairs"
    ranks = bfcl_ranks(scores)
    tables = {
        "bfcl_scores": (
            scores,
            f"{which}: acting on complete turns, holding back on incomplete ones; {percent}.{partial}",
        ),
        "bfcl_readings": (
            bfcl_readings(_frames(inputs["readings"], "bfcl_readings"), rows),
            "The same outputs under other readings: other pairs, and each ambiguous rule turned.",
        ),
        "bfcl_differences": (bfcl_differences(rows, resampling), f"{which}: model less other, paired; {percent}."),
        "bfcl_ranks": (ranks, "BFCL's own score of the should-ask items against the decision; shift: ranks gained."),
        "bfcl_push": (
            bfcl_push(rows, groups, resampling),
            f"One model under different prompts: prompt less plain, paired; {percent}.",
        ),
        "bfcl_pairs": (
            bfcl_pairs(read_table(Path(inputs["pairs"]), "bfcl_pairs").to_pandas()),
            "From 400 should-ask items to the certified pairs: what each filter drops, in order.",
        ),
        "bfcl_world_calls": (
            read_table(Path(inputs["world_calls"]), "bfcl_world_calls").to_pandas(),
            "What each BFCL function does, derived from its code; the base gold trajectories executed beside it.",
        ),
        "bfcl_audit": (
            read_table(Path(inputs["audit_quality"]), "bfcl_audit_quality").to_pandas(),
            "Heuristics that look for faulty items, against the lists that people made.",
        ),
    }
    for name, (frame, caption) in tables.items():
        write_formats(frame, results / "tables" / name, caption)
    decisions_figure(scores, results / "figures" / "bfcl_decisions.svg")
    ranks_figure(ranks, results / "figures" / "bfcl_ranks.svg")


def _frames(files: Iterable[str], schema: str) -> pd.DataFrame:
    return pd.concat([read_table(Path(file), schema).to_pandas() for file in files], ignore_index=True)
