"""The figures of ask-or-act decisions: act rate against hold rate, and how the ranking moves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from helpseek.report.figures import COLOURS, MARKERS, saved
from helpseek.report.labels import place_labels

ISO_ACCURACY = (0.5, 0.6, 0.7, 0.8, 0.9)


def decisions_figure(scores: pd.DataFrame, path: Path) -> None:
    """Draw act rate against hold rate with intervals, over lines of equal decision accuracy; partial models open."""
    with saved(path, (5.4, 5.2)) as figure:
        axis = figure.subplots()
        axis.set(xlim=(0, 1.02), ylim=(0, 1.02), aspect="equal")
        axis.set_xlabel("act rate on complete turns")
        axis.set_ylabel("hold rate on incomplete turns")
        for level in ISO_ACCURACY:
            axis.plot([2 * level - 1, 1], [1, 2 * level - 1], color="#cccccc", linewidth=0.8, zorder=0)
            axis.annotate(
                f"{100 * level:.0f}",
                (1, 2 * level - 1),
                xytext=(4, 0),
                textcoords="offset points",
                va="center",
                fontsize=7,
                color="#888888",
                annotation_clip=False,
            )
        drawn = scores[scores["act_rate"].notna()]
        for which, (_, row) in enumerate(drawn.iterrows()):
            colour = COLOURS[which % len(COLOURS)]
            axis.errorbar(
                row["act_rate"],
                row["hold_rate"],
                xerr=_arms(row, "act_rate"),
                yerr=_arms(row, "hold_rate"),
                fmt=MARKERS[which % len(MARKERS)],
                color=colour,
                markerfacecolor="white" if row["partial"] else colour,
                elinewidth=0.8,
                clip_on=False,
            )
        place_labels(
            axis,
            drawn["act_rate"].to_numpy(float),
            drawn["hold_rate"].to_numpy(float),
            list(drawn["model"]),
            np.empty((0, 4)),
        )


def _arms(row: pd.Series, name: str) -> Any:
    """Lengths of an error bar below and above; none where there is no interval."""
    ends = np.array([[row[name] - row[f"{name}_low"]], [row[f"{name}_high"] - row[name]]], dtype=float)
    return np.clip(np.nan_to_num(ends), 0, None)


def ranks_figure(ranks: pd.DataFrame, path: Path) -> None:
    """Draw each model's score by BFCL on the left and its decision accuracy on the right, joined by a line."""
    height = max(2.6, 0.8 + 0.42 * len(ranks))
    with saved(path, (6.4, height)) as figure:
        axis = figure.subplots()
        axis.set_xticks([0, 1], ["BFCL score of\nshould-ask items", "decision accuracy"])
        axis.set(xlim=(-0.75, 1.75), yticks=[])
        for side in ("left", "right", "top"):
            axis.spines[side].set_visible(False)
        if ranks.empty:
            axis.text(0.5, 0.5, "no model has BFCL's own scores", ha="center", transform=axis.transAxes)
            return
        left, right = (_places(ranks[name]) for name in ("official_miss", "decision_accuracy"))
        for which, row in enumerate(ranks.itertuples()):
            colour = "#D55E00" if row.shift < 0 else "#0072B2" if row.shift > 0 else "#555555"
            axis.plot([0, 1], [left[which], right[which]], "-o", color=colour, linewidth=1.5, markersize=5)
            axis.text(-0.04, left[which], f"{row.model}  {100 * row.official_miss:.1f}", ha="right", va="center")
            axis.text(1.04, right[which], f"{100 * row.decision_accuracy:.1f}  {row.model}", ha="left", va="center")


def _places(values: pd.Series) -> list[float]:
    """Heights by rank, the best on top, so that no two labels meet."""
    return list(-values.rank(ascending=False, method="first"))
