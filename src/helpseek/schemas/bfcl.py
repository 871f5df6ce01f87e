"""BFCL: what functions do, the pairs, the audit, and every model's decisions."""

from __future__ import annotations

import pyarrow as pa

from helpseek.schemas.columns import BOOL, INT, REAL, STRING, STRINGS, column

PAIR_ID = column("pair_id", STRING, "pair: the id of its should-ask item")
BASE_ID = column("base_id", STRING, "its base twin")
KIND = column("kind", STRING, "miss_func (a function is withheld) or miss_param (a value is left out)")
ANCHOR = column("anchor", INT, "the scored turn, from 0")
FAILED = column("failed_filters", STRINGS, "filters the pair fails; a definition of pairs is a list of filters")


def _side(name: str, turn: str) -> list[pa.Field]:
    """Columns of one side of a decision."""
    return [
        column(f"{name}_status", STRING, f"{turn} turn: reached, not_reached, inference_error, missing or conflict"),
        column(f"{name}_acted", BOOL, f"whether the model acted on the {turn} turn; null: open", nullable=True),
        column(f"{name}_step", INT, "step of the call that decides, from 0", nullable=True),
        column(f"{name}_call", STRING, "that call", nullable=True),
        column(f"{name}_reason", STRING, "why it was decided so"),
        column(f"{name}_passed", BOOL, f"BFCL's own score of the {turn} item; null: not known", nullable=True),
    ]


SCHEMAS = {
    "bfcl_world_calls": pa.schema(
        [
            column("class_name", STRING, "API class"),
            column("function", STRING, "public function"),
            column("kind", STRING, "world, session or read, from static analysis"),
            column("only_with", STRING, "parameter without which it only reads", nullable=True),
            column("acts", BOOL, "whether it counts as acting, judgement calls of the config included"),
            column("reason", STRING, "what it writes and where"),
            column("gold_calls", INT, "calls of it in the base gold trajectories, executed", unit="calls"),
            column("gold_changes", INT, "of them, those that changed compared state", unit="calls"),
            column("gold_errors", INT, "of them, those that failed", unit="calls"),
        ]
    ),
    "bfcl_pairs": pa.schema(
        [
            PAIR_ID,
            BASE_ID,
            KIND,
            ANCHOR,
            column("base_text", STRING, "the complete request"),
            column("miss_text", STRING, "the incomplete request"),
            column("withheld", STRINGS, "functions not on offer on the incomplete turn"),
            column("gold", STRINGS, "gold calls of the complete turn"),
            column("world_calls", STRINGS, "those that change the world"),
            column("session_calls", STRINGS, "those that log in or out"),
            column("independent", STRINGS, "functions a compound turn asks for beside what was removed"),
            FAILED,
            column("certified", BOOL, "whether it passes every filter of the published set"),
            column("judgement_free", BOOL, "whether it passes every filter that needs no person's judgement"),
        ]
    ),
    "bfcl_audit": pa.schema(
        [
            column("item_id", STRING, "a should-ask, base or long-context item"),
            column("heuristic", STRING, "what found it"),
            column("detail", STRING, "what was found"),
        ]
    ),
    "bfcl_audit_quality": pa.schema(
        [
            column("heuristic", STRING, "what looks for faulty items"),
            column("looked_at", INT, "items it looks at", unit="items"),
            column("flagged", INT, "items it flags", unit="items"),
            column("bad_keys_found", INT, "flagged items that people listed as bad keys", unit="items"),
            column("bad_keys_listed", INT, "bad keys among the items looked at", unit="items"),
            column("construction_errors_found", INT, "flagged items listed as construction errors", unit="items"),
            column("construction_errors_listed", INT, "construction errors among the items looked at", unit="items"),
            column("precision", REAL, "share of flagged items on either list", nullable=True),
            column("recall", REAL, "share of listed items that are flagged", nullable=True),
        ]
    ),
    "bfcl_decisions": pa.schema(
        [
            column("model", STRING, "model, or reference behaviour"),
            PAIR_ID,
            BASE_ID,
            KIND,
            ANCHOR,
            FAILED,
            *_side("base", "complete"),
            *_side("miss", "incomplete"),
        ]
    ),
    "bfcl_readings": pa.schema(
        [
            column("model", STRING, "model, or reference behaviour"),
            column("reading", STRING, "a variant, or an option with its other value"),
            column("meaning", STRING, "what it changes"),
            column("n_scored", INT, "pairs with a decision on both sides", unit="pairs"),
            column("act_rate", REAL, "share of complete turns acted on", nullable=True),
            column("hold_rate", REAL, "share of incomplete turns held back on", nullable=True),
            column("decision_accuracy", REAL, "mean of both", nullable=True),
            column("both_rate", REAL, "share of pairs right on both sides", nullable=True),
            column("changed_sides", INT, "decisions that differ; null for a variant with other pairs", nullable=True),
        ]
    ),
}
