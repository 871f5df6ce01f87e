"""The tables over ask-or-act decisions. Pure functions: `bfcl_decisions` rows in, one plain frame out."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from helpseek.bfcl.pairs import CERTIFIED, DEFINITIONS, MISS_KINDS
from helpseek.bfcl.resampling import differences, intervals, paired_shares
from helpseek.bfcl.scorecard import MIN_REACHED
from helpseek.bfcl.scores import RATES, Scored
from helpseek.scoring.intervals import Interval, Resampling

MAIN_RATES = ("act_rate", "hold_rate", "decision_accuracy", "both_rate")
SIDES = ("base", "miss")


def decided(decisions: pd.DataFrame, definition: str) -> pd.DataFrame:
    """Rows of the pairs of a definition, with `partial`: the model reaches too few of them."""
    filters = set(DEFINITIONS[definition])
    rows = decisions[[not filters & set(failed) for failed in decisions["failed_filters"]]].copy()
    reached = (rows["base_status"] == "reached") & (rows["miss_status"] == "reached")
    rows["partial"] = reached.groupby(rows["model"]).transform("mean") < MIN_REACHED
    return rows


def scored(rows: pd.DataFrame) -> list[Scored]:
    """Pairs of one model with a decision on both sides."""
    whole = rows[rows["base_acted"].notna() & rows["miss_acted"].notna()]
    return [
        Scored(row.pair_id, row.base_id, row.kind, bool(row.base_acted), not row.miss_acted)
        for row in whole.itertuples()
    ]


def bfcl_scores(rows: pd.DataFrame, resampling: Resampling) -> pd.DataFrame:
    """One row a model, best decision first, partial ones last: rates with intervals, what is missing, BFCL's score."""
    table = pd.DataFrame([_score_row(model, part, resampling) for model, part in _models(rows)])
    order = {"by": ["partial", "decision_accuracy"], "ascending": [True, False], "ignore_index": True}
    return table.sort_values(**order) if len(table) else table


def _score_row(model: str, rows: pd.DataFrame, resampling: Resampling) -> dict[str, Any]:
    pairs = scored(rows)
    found = intervals(pairs, resampling)
    return {
        "model": model,
        "n_pairs": len(rows),
        "n_scored": len(pairs),
        **{name: value for rate in RATES for name, value in _flat(rate, found[rate]).items()},
        **{f"unreached_{side}": int((rows[f"{side}_status"] != "reached").sum()) for side in SIDES},
        **{f"inference_errors_{side}": int((rows[f"{side}_status"] == "inference_error").sum()) for side in SIDES},
        "partial": bool(rows["partial"].any()),
        **{f"official_{side}": official(rows, side) for side in SIDES},
    }


def _models(rows: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """Label and rows of each model; a partial one says so in every table."""
    parts = rows.groupby("model", sort=False)
    return [(f"{name} (partial)" if part["partial"].any() else str(name), part) for name, part in parts]


def _flat(name: str, interval: Interval) -> dict[str, float]:
    return {name: interval.estimate, f"{name}_low": interval.low, f"{name}_high": interval.high}


def official(rows: pd.DataFrame, side: str) -> float:
    """BFCL's own score of the scored pairs' distinct items on one side; NaN when one was not scored by it."""
    whole = rows[rows["base_acted"].notna() & rows["miss_acted"].notna()]
    items = whole.drop_duplicates("base_id" if side == "base" else "pair_id")[f"{side}_passed"]
    return math.nan if items.empty or items.isna().any() else float(items.astype(bool).mean())


def bfcl_readings(readings: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """Other readings of the same outputs, models labelled as in the other tables."""
    labels = {part["model"].iloc[0]: label for label, part in _models(rows)}
    return readings.assign(model=readings["model"].map(labels))


def bfcl_differences(rows: pd.DataFrame, resampling: Resampling) -> pd.DataFrame:
    """Every two models, paired: rates of `model` less rates of `other` over the pairs that both decide."""
    parts = [(name, scored(part)) for name, part in _models(rows)]
    found = []
    for (model, a), (other, b) in itertools.combinations(parts, 2):
        row = {"model": model, "other": other, "n_pairs": len({p.pair_id for p in a} & {p.pair_id for p in b})}
        found.append(row | _changes(differences(a, b, resampling)))
    columns = ["model", "other", "n_pairs", *_columns(MAIN_RATES)]
    return pd.DataFrame(found, columns=columns)


def _changes(found: Mapping[str, Interval]) -> dict[str, float]:
    return {name: value for rate in MAIN_RATES for name, value in _flat(rate, found[rate]).items()}


def _columns(names: Sequence[str]) -> list[str]:
    return [f"{name}{end}" for name in names for end in ("", "_low", "_high")]


def bfcl_ranks(scores: pd.DataFrame) -> pd.DataFrame:
    """Models that BFCL scored too: rank by its score of the should-ask items, rank by decision, and the shift."""
    columns = ["model", "official_miss", "decision_accuracy", "official_rank", "decision_rank", "shift"]
    known = scores[scores["official_miss"].notna()].copy() if len(scores) else pd.DataFrame(columns=columns)
    known["official_rank"] = known["official_miss"].rank(ascending=False, method="min").astype("Int64")
    known["decision_rank"] = known["decision_accuracy"].rank(ascending=False, method="min").astype("Int64")
    known["shift"] = known["official_rank"] - known["decision_rank"]
    return known.sort_values("official_rank", ignore_index=True)[columns]


def bfcl_push(rows: pd.DataFrame, groups: Mapping[str, tuple[str, str]], resampling: Resampling) -> pd.DataFrame:
    """One model under different prompts: each prompt less `plain`, paired. `groups`: model -> (group, prompt)."""
    parts = {str(name): part for name, part in rows.groupby("model", sort=False)}
    plain = {group: model for model, (group, prompt) in groups.items() if prompt == "plain"}
    found = []
    for model, (group, prompt) in groups.items():
        if prompt == "plain" or group not in plain:
            continue
        new, old = parts[model], parts[plain[group]]
        a, b = scored(new), scored(old)
        official_changes = {
            name: value for side in SIDES for name, value in _official_change(new, old, side, resampling).items()
        }
        partial = " (partial)" if new["partial"].any() or old["partial"].any() else ""
        row = {
            "group": group + partial,
            "prompt": prompt,
            "n_pairs": len({p.pair_id for p in a} & {p.pair_id for p in b}),
        }
        found.append(row | _changes(differences(a, b, resampling)) | official_changes)
    names = (*MAIN_RATES, *(f"official_{side}" for side in SIDES))
    return pd.DataFrame(found, columns=["group", "prompt", "n_pairs", *_columns(names)])


def _official_change(new: pd.DataFrame, old: pd.DataFrame, side: str, resampling: Resampling) -> dict[str, float]:
    item = "base_id" if side == "base" else "pair_id"
    twin_of = dict(zip(new[item], new["base_id"], strict=True))
    passed = [
        {row[item]: bool(row[f"{side}_passed"]) for _, row in part.iterrows() if pd.notna(row[f"{side}_passed"])}
        for part in (new, old)
    ]
    return _flat(f"official_{side}", paired_shares(passed[0], passed[1], twin_of.__getitem__, resampling))


def bfcl_pairs(pairs: pd.DataFrame) -> pd.DataFrame:
    """What each filter drops on the way to the certified pairs, in order."""
    left = pairs
    rows = []
    for name in CERTIFIED:
        drops = left["failed_filters"].map(lambda failed, name=name: name in failed).astype(bool)
        kinds = {kind: int((left[drops]["kind"] == kind).sum()) for kind in MISS_KINDS}
        left = left[~drops]
        rows.append({"filter": name, **kinds, "dropped": int(drops.sum()), "left": len(left)})
    return pd.DataFrame(rows)
